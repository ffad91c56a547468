"""Reads what cuobjdump prints: the SASS of every kernel as basic blocks, and its resources."""

import importlib.util
import os
import re
import shutil
import subprocess

PACKAGES = "nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"

INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
FUNCTION = re.compile(r"^\s*Function : (\S+)")
ARCH = re.compile(r"^arch = (\S+)")
RESOURCES = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
JUMPS = {"BRA", "BSSY", "BRX", "JMP", "CALL", "WARPSYNC"}
ENDS = {"BRA", "EXIT", "RET", "BRX", "JMP", "BSYNC"}


class Instruction:
    def __init__(self, address, guard, name, operands):
        self.address = address
        self.guard = guard  # "@P0", or None
        self.name = name  # with its suffixes: HMMA.16816.F32.BF16
        self.opcode = name.split(".")[0]
        # Registers without their hints: "R8.reuse" is R8, "-R8" too.
        self.operands = [re.sub(r"\.(reuse|64)\b", "", part.strip()).lstrip("-!|")
                         for part in operands.split(",")] if operands else []

    def __str__(self):
        return f"{self.address:#06x} {self.name} {', '.join(self.operands)}"


class Kernel:
    def __init__(self, name, arch):
        self.name = name
        self.arch = arch
        self.instructions = []
        self.registers = self.stack = self.shared = self.local = None

    def blocks(self):
        """Lists of instructions that are entered at the first one only."""
        leaders = set()
        for i, instruction in enumerate(self.instructions):
            if instruction.opcode in JUMPS:
                leaders.update(int(target, 16)
                               for part in instruction.operands
                               for target in re.findall(r"\b0x[0-9a-f]+\b", part))
            if instruction.opcode in ENDS and i + 1 < len(self.instructions):
                leaders.add(self.instructions[i + 1].address)
        block = []
        for instruction in self.instructions:
            if instruction.address in leaders and block:
                yield block
                block = []
            block.append(instruction)
        if block:
            yield block


def find_tool(name):
    """The path of one of NVIDIA's tools, on PATH or in this Python's packages; None without it."""
    found = shutil.which(name)
    if found:
        return found
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        spec = None
    for root in (spec.submodule_search_locations if spec else None) or []:
        for folder, _, files in os.walk(root):
            if name in files and os.path.basename(folder) == "bin":
                return os.path.join(folder, name)
    return None


def run_cuobjdump(arguments):
    tool = find_tool("cuobjdump")
    nvdisasm = find_tool("nvdisasm")
    environment = dict(os.environ)  # cuobjdump looks for nvdisasm on PATH
    environment["PATH"] = os.path.dirname(nvdisasm) + os.pathsep + environment.get("PATH", "")
    done = subprocess.run([tool, *arguments], env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"cuobjdump {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def parse_sass(text):
    kernels, kernel, arch = [], None, None
    for line in text.splitlines():
        if match := ARCH.match(line):
            arch = match.group(1)
        elif match := FUNCTION.match(line):
            kernel = Kernel(match.group(1), arch)
            kernels.append(kernel)
        elif kernel is not None and (match := INSTRUCTION.match(line)):
            address, guard, name, operands = match.groups()
            kernel.instructions.append(Instruction(int(address, 16), guard, name, operands))
    return kernels


def parse_resources(text):
    """{(arch, kernel): (registers, stack, shared, local)}."""
    resources, name, arch = {}, None, None
    for line in text.splitlines():
        if match := ARCH.match(line):
            arch = match.group(1)
        elif match := re.match(r"^\s*Function (\S+):", line):
            name = match.group(1)
        elif name is not None and (match := RESOURCES.search(line)):
            resources[arch, name] = tuple(int(number) for number in match.groups())
    return resources


def read_kernels(path):
    """Every kernel of an object file, a library or an executable, for every architecture."""
    kernels = parse_sass(run_cuobjdump(["-sass", path]))
    resources = parse_resources(run_cuobjdump(["--dump-resource-usage", path]))
    for kernel in kernels:
        found = resources.get((kernel.arch, kernel.name))
        if found:
            kernel.registers, kernel.stack, kernel.shared, kernel.local = found
    return kernels
