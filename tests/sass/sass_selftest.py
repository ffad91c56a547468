#!/usr/bin/env python3
"""Proves on made-up listings that every rule of check_sass.py fires. Needs no tool of NVIDIA's."""

import unittest

from check_sass import check
from sass_listing import parse_resources, parse_sass

MMA = "_ZN8batchvar13GemmMmaKernelILNS_5DTypeE1EEEvNS_19GemmKernelArgumentsE"
COMBINE = "_ZN8batchvar13CombineKernelILNS_7CombineE1EEEvNS_19GemmKernelArgumentsE"

WGMMA = "_ZN8batchvar15GemmWgmmaKernelILNS_5DTypeE1EEEvNS_19GemmKernelArgumentsE"

GOOD_WGMMA = """
    WARPGROUP.ARRIVE
    HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24
    HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24
    HGMMA.64x128x16.F32.BF16 R24, gdesc[UR12], R24
    HGMMA.64x128x16.F32.BF16 R24, gdesc[UR16], R24, gsb0
    WARPGROUP.DEPBAR.LE gsb0, 0x1
    EXIT
"""

GOOD_MMA = """
    LDSM.16.M88.4 R12, [R31]
    LDSM.16.M88.4 R16, [R30]
    HMMA.16816.F32.BF16 R24, R16, R12, R24
    LDSM.16.M88.4 R20, [R59]
    LDSM.16.M88.4 R12, [R58]
    HMMA.16816.F32.BF16 R28, R20.reuse, R12, R24
@P0 BRA 0x0
    EXIT
"""


def listing(name, body, arch="sm_80"):
    lines = [f"arch = {arch}", f"\t\tFunction : {name}"]
    for number, line in enumerate(body.strip().splitlines()):
        guard, _, rest = line.strip().rpartition("@P0 ")
        lines.append(f"        /*{16 * number:04x}*/   {'@P0 ' if guard or '@P0' in line else ''}"
                     f"{rest} ;   /* 0x000 */")
    return "\n".join(lines)


def findings(name, body, registers=64, stack=0, shared=0, arch="sm_80"):
    kernel, = parse_sass(listing(name, body, arch))
    kernel.registers, kernel.stack, kernel.shared, kernel.local = registers, stack, shared, 0
    return "\n".join(check(kernel))


class SassRules(unittest.TestCase):
    def test_a_good_kernel_passes(self):
        self.assertEqual(findings(MMA, GOOD_MMA), "")
        self.assertEqual(findings(COMBINE, "FADD R1, R2, R3\nSTG.E [R4], R1\nEXIT"), "")

    def expect(self, words, name, body, **resources):
        self.assertIn(words, findings(name, body, **resources))

    def test_instructions(self):
        self.expect("not one of ['FADD']", COMBINE, "FFMA R1, R2, R3, R1\nEXIT")
        self.expect("not one of ['FADD']", COMBINE, "FMUL R1, R2, R3\nEXIT")
        self.expect("not one of ['HMMA']", MMA, GOOD_MMA + "FADD R28, R28, R24\n")
        self.expect("an atomic operation", COMBINE, "RED.E.ADD.F32.RN.STRONG.GPU [R2], R1\nEXIT")
        self.expect("an atomic operation", MMA, GOOD_MMA + "ATOMG.E.ADD PT, R1, [R2], R3\n")
        self.expect("an approximation", COMBINE, "MUFU.RCP R1, R2\nEXIT")
        self.expect("flushes to zero", COMBINE, "FADD.FTZ R1, R2, R3\nEXIT")
        self.expect("local memory", MMA, GOOD_MMA + "STL [R1], R2\n")

    def test_chains(self):
        self.expect("is no running sum", MMA, GOOD_MMA.replace("R12, R24\n@P0", "R12, R16\n@P0"))
        # Two sums from one accumulator.
        fork = GOOD_MMA.replace("@P0 BRA", "HMMA.16816.F32.BF16 R32, R20, R14, R24\n@P0 BRA")
        self.expect("different lengths", MMA, fork)
        twice = GOOD_MMA.replace("HMMA.16816.F32.BF16 R28, R20.reuse, R12",
                                 "HMMA.16816.F32.BF16 R28, R16, R14")
        twice = twice.replace("LDSM.16.M88.4 R12, [R58]\n", "")
        twice = twice.replace("R16, R14, R24", "R16, R12, R24")
        self.expect("products of one load twice", MMA, twice)
        short = "\n".join(line for line in GOOD_MMA.splitlines() if "R20" not in line)
        self.expect("has 1 links, 2 are expected", MMA, short)
        self.expect("different lengths", MMA, GOOD_MMA.replace(
            "@P0 BRA", "HMMA.16816.F32.BF16 R40, R20, R14, R40\n@P0 BRA"))

    def test_wgmma(self):
        self.assertEqual(findings(WGMMA, GOOD_WGMMA, arch="sm_90a"), "")
        self.expect("it is for ['sm_90a']", WGMMA, GOOD_WGMMA, arch="sm_90")
        lines = GOOD_WGMMA.strip().splitlines()
        waits = "\n".join(lines[:2] + ["WARPGROUP.DEPBAR.LE gsb0, 0x0"] + lines[2:])
        self.expect("which is serialised", WGMMA, waits, arch="sm_90a")
        self.expect("has 3 links, 4 are expected", WGMMA, "\n".join(lines[:1] + lines[2:]),
                    arch="sm_90a")
        moved = GOOD_WGMMA.replace("gdesc[UR8], R24", "gdesc[UR8], R40")
        self.expect("different lengths", WGMMA, moved, arch="sm_90a")

    def test_resources(self):
        self.expect("129 registers, 128 at most", MMA, GOOD_MMA, registers=129)
        self.expect("it spills", MMA, GOOD_MMA, stack=8)
        self.expect("bytes of shared memory", COMBINE, "EXIT", shared=4)
        self.expect("does not tell", MMA, GOOD_MMA, registers=None)

    def test_every_kernel_has_a_rule(self):
        self.expect("no rule", "_ZN8batchvar9NewKernelEv", "EXIT")

    def test_reads_resources(self):
        text = ("arch = sm_90a\n Function foo:\n  REG:122 STACK:0 SHARED:1024 LOCAL:0 "
                "CONSTANT[0]:624 TEXTURE:0\n")
        self.assertEqual(parse_resources(text), {("sm_90a", "foo"): (122, 0, 1024, 0)})


if __name__ == "__main__":
    unittest.main()
