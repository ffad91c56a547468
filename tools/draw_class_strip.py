#!/usr/bin/env python3
"""Draws docs/class-strip.svg: for which M the GEMMs of a model share a summation order.

Every bar comes from `batchvar plan gemm --json`: a run of M that have one `class`. Within a row the
classes differ by the number of pieces that K is cut into, so the colour says that number.
Usage: tools/draw_class_strip.py BATCHVAR_BINARY > docs/class-strip.svg
"""
import json
import subprocess
import sys

OPS = [("qkv_proj", 6144, 4096), ("o_proj", 4096, 4096), ("gate_up_proj", 28672, 4096),
       ("down_proj", 4096, 14336), ("lm_head", 128256, 4096)]  # Llama-3.1-8B
DEVICES = [("h100_sxm", "H100 SXM, 132 SMs"), ("a100_sxm", "A100 SXM, 108 SMs")]
MAX_M = 64
# By pieces of K. Okabe and Ito's palette: told apart without colour vision; the bar says it, too.
COLOURS = {1: "#b5e3d3", 2: "#e69f00", 3: "#cc79a7", 4: "#56b4e9"}
CELL, ROW, LEFT, TOP = 11, 24, 104, 46
INK, PAPER = "#1a1a1a", "#ffffff"


def plan(binary, device, m, n, k):
    output = subprocess.run(
        [binary, "plan", "gemm", "--m", str(m), "--n", str(n), "--k", str(k), "--device", device,
         "--policy", "textbook", "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def text(x, y, words, size=12, anchor="start", weight="normal"):
    return ('<text x="%g" y="%g" font-size="%d" text-anchor="%s" font-weight="%s" fill="%s">%s'
            '</text>' % (x, y, size, anchor, weight, INK, words))


def strip(binary, device, top):
    """One device's rows: runs of equal classes as coloured bars with their split in words."""
    out = []
    for row, (op, n, k) in enumerate(OPS):
        plans = [plan(binary, device, m, n, k) for m in range(1, MAX_M + 1)]
        y = top + row * ROW
        out.append(text(LEFT - 8, y + 15, op, anchor="end"))
        start = 0
        for m in range(1, MAX_M + 1):
            if m < MAX_M and plans[m]["class"] == plans[start]["class"]:
                continue
            split = plans[start]["split_k"]
            x, width = LEFT + start * CELL, (m - start) * CELL
            out.append('<rect x="%g" y="%g" width="%g" height="%g" fill="%s" stroke="%s"/>'
                       % (x, y, width, ROW - 4, COLOURS[split], PAPER))
            words = "K in %d" % split if split > 1 else "one pass"
            if width >= 50:
                out.append(text(x + width / 2, y + 14, words, 11, "middle"))
            start = m
    return out


def main():
    binary = sys.argv[1]
    width = LEFT + MAX_M * CELL + 24
    block = len(OPS) * ROW + 58
    height = TOP + len(DEVICES) * block + 6
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
           'font-family="Helvetica, Arial, sans-serif">' % (width, height, width, height),
           '<rect width="100%%" height="100%%" fill="%s"/>' % PAPER,
           text(16, 26, "Rows of the batch that share bits: one colour, one order of summation",
                15, weight="bold")]
    for index, (device, title) in enumerate(DEVICES):
        top = TOP + index * block + 22
        out.append(text(16, top - 8, title + " (Llama-3.1-8B, policy textbook)", 12))
        out += strip(binary, device, top)
        axis = top + len(OPS) * ROW + 12
        for m in [1, 8, 16, 24, 32, 40, 48, 56, 64]:
            out.append(text(LEFT + (m - 0.5) * CELL, axis, "M = 1" if m == 1 else str(m), 11,
                            "middle"))
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    main()
