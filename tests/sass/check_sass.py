#!/usr/bin/env python3
"""Asserts on the machine code of the CUDA kernels what makes their bits: docs/kernels.md.

Usage: check_sass.py FILE...    objects or libraries that nvcc made

Every kernel of the files has to have a rule below. Checked for each: which floating-point
instructions it has at all, one chain of accumulation per sum, no atomic
operation, no approximation (MUFU), no flush to zero, no spill, registers and shared memory within
limits. Needs NVIDIA's cuobjdump and nvdisasm:
    pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm
Exit 0: all hold; 1: one does not; 77: the tools are missing (1 under CI).
"""

import os
import re
import sys

from sass_chains import accumulator_chains, repeated_products, serialised_groups
from sass_listing import PACKAGES, find_tool, read_kernels

# Instructions that round; HMMA and HGMMA are the tensor cores.
ROUNDING = {"FADD", "FMUL", "FFMA", "HADD2", "HMUL2", "HFMA2", "DADD", "DMUL", "DFMA", "HMMA",
            "HGMMA", "FSWZADD", "I2F", "F2F", "F2FP", "I2FP", "UI2F"}
ATOMIC = {"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "SUATOM", "SURED", "UTMAREDG"}


class Rule:
    """What a kernel may have: `adds` are the instructions that round, `chain` accumulates."""

    def __init__(self, adds, chain=None, links=0, registers=255, shared=0, stack=0, archs=None):
        self.adds = set(adds)
        self.chain = chain
        self.links = links  # at least so many links in the longest chain of a block
        self.registers = registers
        self.shared = shared  # bytes of static shared memory
        self.stack = stack
        self.archs = archs


# By the kernel's name in its source. Registers: so that the blocks of docs/kernels.md fit on an SM.
RULES = {
    "GemmMmaKernel": Rule({"HMMA"}, chain="HMMA", links=2, registers=128),
    "GemmFmaKernel": Rule({"FFMA"}, chain="FFMA", links=8, registers=128),
    "GemvKernel": Rule({"FFMA", "FADD"}, chain="FFMA", links=1, registers=64, shared=4096),
    "GemmWgmmaKernel": Rule({"HGMMA"}, chain="HGMMA", links=4, registers=168, shared=1024,
                            archs={"sm_90a"}),
    "CombineKernel": Rule({"FADD"}, registers=64),
}
# CombineKernel<kExactSum> indexes its wide accumulator: 80 bytes of it live in local memory.
EXACT_SUM = re.compile(r"CombineKernelILNS_7CombineE6E")
EXACT_SUM_STACK = 80
CUDA_RESERVED_SHARED = 1024  # what the system takes of a block's shared memory on sm_90


def rule_of(kernel):
    for name, rule in RULES.items():
        if f"{len(name)}{name}" in kernel.name:  # as names are mangled
            return rule
    return None


def check_instructions(kernel, rule):
    for instruction in kernel.instructions:
        parts = instruction.name.split(".")
        # How an fp16 number becomes an fp32 one: exact.
        widens = instruction.name == "HADD2.F32" and instruction.operands[1] == "RZ"
        if instruction.opcode in ROUNDING and instruction.opcode not in rule.adds and not widens:
            yield f"{instruction}: not one of {sorted(rule.adds)}"
        if instruction.opcode in ATOMIC:
            yield f"{instruction}: an atomic operation"
        if instruction.opcode == "MUFU":
            yield f"{instruction}: an approximation"
        if "FTZ" in parts:
            yield f"{instruction}: flushes to zero"
        local = instruction.opcode in ("LDL", "STL")
        if local and not EXACT_SUM.search(kernel.name):
            yield f"{instruction}: local memory"


def check_chains(kernel, rule):
    if rule.chain is None:
        return
    longest = 0
    for block in kernel.blocks():
        chains, wrong = accumulator_chains(block, rule.chain)
        yield from wrong
        if rule.chain == "HMMA":
            yield from repeated_products(block, chains)
        if rule.chain == "HGMMA":
            yield from serialised_groups(block)
        if rule.chain in ("HMMA", "HGMMA"):
            if len({len(chain.links) for chain in chains}) > 1:
                yield f"{block[0]}: chains of different lengths in one block"
        longest = max([longest] + [len(chain.links) for chain in chains])
    if longest < rule.links:
        yield f"the longest chain of {rule.chain} has {longest} links, {rule.links} are expected"


def check_resources(kernel, rule):
    if kernel.registers is None:
        yield "cuobjdump does not tell its resources"
        return
    stack = EXACT_SUM_STACK if EXACT_SUM.search(kernel.name) else rule.stack
    reserved = CUDA_RESERVED_SHARED if kernel.arch.startswith("sm_9") else 0
    if kernel.registers > rule.registers:
        yield f"{kernel.registers} registers, {rule.registers} at most"
    if kernel.shared > rule.shared + reserved:
        yield f"{kernel.shared} bytes of shared memory, {rule.shared} at most"
    if kernel.stack > stack or kernel.local > 0:
        yield f"{kernel.stack} bytes of stack, {kernel.local} local: it spills"


def check(kernel):
    rule = rule_of(kernel)
    if rule is None:
        return ["no rule of tests/sass/check_sass.py is for it"]
    findings = list(check_instructions(kernel, rule)) + list(check_chains(kernel, rule))
    if rule.archs and kernel.arch not in rule.archs:
        findings.append(f"it is for {sorted(rule.archs)}")
    return findings + list(check_resources(kernel, rule))


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    missing = [name for name in ("cuobjdump", "nvdisasm") if find_tool(name) is None]
    if missing:
        print(f"SKIPPED: needs {' and '.join(missing)}: pip install {PACKAGES}")
        return 1 if os.environ.get("CI") else 77
    kernels = [kernel for path in sys.argv[1:] for kernel in read_kernels(path)]
    failed = False
    seen = set()
    for kernel in kernels:
        findings = check(kernel)
        failed = failed or bool(findings)
        for finding in findings:
            print(f"{kernel.arch} {kernel.name}: {finding}")
        seen.update(name for name in RULES if name in kernel.name)
    for name in sorted(set(RULES) - seen):
        failed = True
        print(f"{name}: there is no such kernel in {' '.join(sys.argv[1:])}")
    print(f"sass: {len(kernels)} kernels, " + ("findings above" if failed else "all rules hold"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
