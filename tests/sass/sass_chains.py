"""Follows accumulators through a basic block: every sum is one chain, and adds nothing twice."""

import re

# Registers of a fragment of m16n8: four of the accumulator.
QUAD = 4


def number_of(register):
    match = re.fullmatch(r"R(\d+)", register)
    return int(match.group(1)) if match else None  # RZ, UR4 and constants have none


def written(instruction):
    """(first register, how many) that it writes, as far as chains have to know."""
    if not instruction.operands:
        return None
    first = number_of(instruction.operands[0])
    if first is None or instruction.opcode.startswith(("ST", "RED", "BAR", "BRA", "LDGSTS")):
        return None
    if instruction.opcode == "HMMA":
        return first, QUAD
    if instruction.opcode == "LDSM":
        return first, 4 if ".4" in instruction.name else 2 if ".2" in instruction.name else 1
    width = 4 if ".128" in instruction.name else 2 if (".64" in instruction.name or
                                                       ".WIDE" in instruction.name) else 1
    return first, width


class Chain:
    def __init__(self, begins_at):
        self.begins_at = begins_at  # the accumulator's register at the block's begin, or "RZ"
        self.links = []  # the instructions, in the order of the program


def accumulator_chains(block, opcode):
    """The chains of `opcode` (HMMA, FFMA) in a block, and what is wrong with them.

    An accumulator is read by the next link of its chain and by nothing else between two links, so
    no sum forks, meets another one, or starts from a value that something else made.
    """
    chains, wrong = [], []
    owner = {}  # register -> chain whose latest sum lies there
    touched = set()  # registers that something other than a link has written in this block
    for instruction in block:
        is_link = instruction.opcode == opcode
        if is_link:
            # d, a, b, c; for wgmma a and b are one pair of descriptors.
            into = instruction.operands[0]
            addend = instruction.operands[2 if opcode == "HGMMA" else 3]
            first = number_of(addend)
            if first is None:
                chain = Chain("RZ")
                chains.append(chain)
                if not addend.startswith("RZ"):
                    wrong.append(f"{instruction}: adds to {addend}")
            elif first in owner:
                chain = owner.pop(first)
            else:
                # It comes from before the block; then nothing in the block has written it.
                if first in touched:
                    zeroed = touched_by_zero(block, instruction, first)
                    if not zeroed:
                        wrong.append(f"{instruction}: its accumulator {addend} is no running sum")
                chain = Chain(addend)
                chains.append(chain)
            chain.links.append(instruction)
            owner[number_of(into)] = chain
            continue
        target = written(instruction)
        if target is None:
            continue
        for register in range(target[0], target[0] + target[1]):
            touched.add(register)
            owner.pop(register, None)
    return chains, wrong


def touched_by_zero(block, link, register):
    """Whether the last write of `register` before `link` sets it to zero or moves it."""
    last = None
    for instruction in block:
        if instruction is link:
            break
        target = written(instruction)
        if target and target[0] <= register < target[0] + target[1]:
            last = instruction
    if last is None:
        return True
    return last.opcode in ("CS2R", "MOV", "IMAD") and last.name in (
        "CS2R", "CS2R.32", "MOV", "IMAD.MOV", "IMAD.MOV.U32")


def repeated_products(block, chains):
    """Chains of HMMA that add the products of one load of x, or of w, twice.

    That the links come in ascending k is the source's doing, which tests/kernels/simt proves; the
    links of a chain depend on each other, so no compiler may exchange them. Loads may move.
    """
    wrong = []
    loader = {}  # register -> index of the LDSM that filled it
    fragments = {}  # address of an HMMA -> the loads of its two operands
    for index, instruction in enumerate(block):
        if instruction.opcode == "HMMA":
            fragments[instruction.address] = [
                (loader.get(number_of(register)), register)
                for register in instruction.operands[1:3]]
        elif (target := written(instruction)) is not None:
            for register in range(target[0], target[0] + target[1]):
                loader[register] = index if instruction.opcode == "LDSM" else None
    for chain in chains:
        seen = [fragments[link.address] for link in chain.links]
        seen = [pair for pair in seen if all(load is not None for load, _ in pair)]
        if len({str(fragment) for fragment in seen}) != len(seen):
            wrong.append(f"{chain.links[0]}: its chain adds the products of one load twice")
    return wrong


def serialised_groups(block):
    """Waits within a group of wgmma, where the compiler gave up on overlap."""
    wrong = []
    open_group = False
    for instruction in block:
        if instruction.opcode == "HGMMA":
            open_group = not any("gsb" in operand for operand in instruction.operands)
        elif instruction.opcode == "WARPGROUP" and open_group:
            wrong.append(f"{instruction}: within a group of wgmma, which is serialised")
    return wrong
