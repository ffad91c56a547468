#!/usr/bin/env python3
"""The house rules that a machine can check. Prints FILE:LINE: [rule] message for every breach.

Usage: tidy_test.py --root PROJECT. Standard library only. docs/architecture.md gives the reasons
for the rules between rooms; docs/determinism.md those for the forbidden names.
"""

import argparse
import os
import re
import sys

from source_text import (function_spans, line_of, strip_cpp, strip_hash_comments,
                         unordered_names)

# Lowest first. A room includes itself and what stands before it.
ROOMS = ["base", "numerics", "shape", "plan", "divergence", "status", "serving", "config", "proto",
         "io", "replay", "report", "kernels", "tools"]
# Against the order above, or beyond it: (room, must not see, why).
KEPT_APART = [("serving", "plan", "step time is injected into the simulator")]
STANDARD_ONLY = {"base", "numerics", "shape", "plan", "divergence"}
STANDARD_HEADERS = set("""
    algorithm array bit bitset cctype cerrno cfenv cfloat charconv cinttypes climits cmath compare
    complex concepts cstddef cstdint cstdio cstdlib cstring deque functional initializer_list
    iterator limits list map memory numbers numeric optional queue ranges ratio set span stack
    string string_view tuple type_traits typeinfo unordered_map unordered_set utility valarray
    variant vector version stddef.h stdint.h
    """.split())
PROTOBUF_ROOMS = {"io", "proto"}
VAGUE_NAMES = re.compile(r"utils|common|misc|manager|helpers", re.IGNORECASE)
MAX_COLUMNS = 100
MAX_LINES = 400
MAX_FUNCTION_LINES = 60
LONG_FILES = set()  # paths that may be longer; give a reason with each
SKIPPED_FOLDERS = {".git", ".cache", "__pycache__", "node_modules"}
SKIPPED_AT_ROOT = {"build", "out", "shared"}
TERMINAL = "tools/batchvar/terminal.cc"
PRINTERS = {TERMINAL, "sim/base/check.h"}

CPP = (".h", ".cc", ".cu", ".cuh")
HEADERS = (".h", ".cuh")
SOURCES = CPP + (".cmake", "CMakeLists.txt", ".py", ".sh", ".proto")

INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)')
ABSOLUTE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:work|root|home|Users)/")
FAST_MATH = re.compile(r"-(?:ffast-math|Ofast|funsafe-math-optimizations|fassociative-math)\b")
FAST_PRAGMA = re.compile(r"(?i)^[ \t]*#[ \t]*pragma\b.*(?:fast-math|fp_contract\s+on|contract\()")

# (rule, pattern, message, applies to path): names that do not occur in code.
FORBIDDEN = [
    ("random", re.compile(r"\b(?:s?rand|drand48)\s*\(|\brandom_device\b|\bmt19937|"
                          r"\bdefault_random_engine\b|\bstd::(?:shuffle|\w+_distribution)\b"),
     "use sim/base/rng.h: the library's generators and distributions differ between platforms",
     lambda path: True),
    ("clock", re.compile(r"\bsystem_clock\b|\bgettimeofday\b|"
                         r"\btime\s*\(\s*(?:nullptr|NULL|0)\s*\)"),
     "no wall clock outside " + TERMINAL, lambda path: path != TERMINAL),
    ("clock", re.compile(r"\b(?:steady|high_resolution)_clock\b|\bclock_gettime\b"),
     "no host clock in sim: time is simulated", lambda path: path.startswith("sim/")),
    ("libm", re.compile(r"\bstd::(?:exp2?|expm1|log(?:2|10|1p)?|pow|[lt]gamma|erfc?|cbrt|hypot|"
                        r"a?(?:sin|cos|tan)h?|atan2)\s*\("),
     "not the same on every libm: use sim/base/elementary.h",
     lambda path: path.startswith("sim/")),
    ("print", re.compile(r"\b(?:f?printf|puts|perror)\s*\(|\bstd::(?:cout|cerr|clog)\b"),
     "only " + TERMINAL + " writes to the terminal",
     lambda path: path not in PRINTERS and not path.startswith("tests/")),
]


def room_of(path):
    """The room of a repository path; None for tests and for what is not code of ours."""
    parts = path.split("/")
    if parts[0] == "sim" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in ("kernels", "tools") else None


class Tidy:
    def __init__(self, root):
        self.root = root
        self.findings = []
        self.texts = {}  # path -> text, for every text file
        self.stripped = {}  # path -> C++ without comments and literals
        self.read_tree()

    def read_tree(self):
        for folder, folders, files in os.walk(self.root):
            at_root = folder == self.root
            folders[:] = sorted(
                name for name in folders
                if name not in SKIPPED_FOLDERS and not (at_root and name in SKIPPED_AT_ROOT)
                and not os.path.exists(os.path.join(folder, name, "CMakeCache.txt")))
            for name in sorted(files):
                full = os.path.join(folder, name)
                if os.path.islink(full):
                    continue
                path = os.path.relpath(full, self.root).replace(os.sep, "/")
                with open(full, "rb") as file:
                    data = file.read()
                try:
                    self.texts[path] = data.decode("utf-8")
                except UnicodeDecodeError:
                    if path.endswith(SOURCES):
                        self.report(path, 1, "utf8", "a source is UTF-8")
        for path in self.texts:
            if path.endswith(CPP):
                self.stripped[path] = strip_cpp(self.texts[path])

    def report(self, path, line, rule, message):
        self.findings.append((path, line, rule, message))

    def run(self):
        for path, text in self.texts.items():
            self.check_name(path)
            self.check_absolute_paths(path, text)
            if path.endswith(SOURCES):
                self.check_layout(path, text)
                self.check_fast_math(path, text)
            if path.endswith(("CMakeLists.txt", ".cmake")):
                self.check_no_glob(path, text)
            if path.endswith(CPP):
                self.check_includes(path, text)
                self.check_code(path)
            if path.endswith(HEADERS):
                self.check_header(path, text)
            if path.endswith((".cc", ".cu")):
                self.check_listed(path)
        self.check_cycles()
        self.findings.sort()
        return self.findings

    def check_name(self, path):
        if any(VAGUE_NAMES.search(part) for part in path.split("/")):
            self.report(path, 1, "name", "say what it holds, not utils, common, misc, ...")

    def check_absolute_paths(self, path, text):
        for match in ABSOLUTE_PATH.finditer(text):
            self.report(path, line_of(text, match.start()), "absolute_path",
                        "a path of somebody's machine")

    def check_layout(self, path, text):
        lines = text.split("\n")
        if text and lines.pop() != "":
            self.report(path, len(lines) + 1, "newline", "no newline at the end of the file")
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                self.report(path, number, "columns", f"{len(line)} columns, {MAX_COLUMNS} at most")
            if "\t" in line:
                self.report(path, number, "tab", "a tab")
            if line != line.rstrip():
                self.report(path, number, "trailing", "blanks at the end of the line")
        if len(lines) > MAX_LINES and path not in LONG_FILES:
            self.report(path, MAX_LINES + 1, "file_length",
                        f"{len(lines)} lines, {MAX_LINES} at most")

    def check_fast_math(self, path, text):
        if path.endswith((".py", ".sh")):
            return
        code = text if path.endswith(CPP) else strip_hash_comments(text)
        for number, line in enumerate(code.split("\n"), 1):
            if (FAST_MATH.search(line) and "MATCHES" not in line) or FAST_PRAGMA.search(line):
                self.report(path, number, "fast_math", "it changes the bits that are measured")

    def check_no_glob(self, path, text):
        code = strip_hash_comments(text)
        for match in re.finditer(r"(?i)\bfile\s*\(\s*GLOB|\baux_source_directory\b", code):
            self.report(path, line_of(code, match.start()), "glob", "list the sources")

    def check_listed(self, path):
        folder, _, name = path.rpartition("/")
        cmake = (folder + "/" if folder else "") + "CMakeLists.txt"
        listed = strip_hash_comments(self.texts.get(cmake, ""))
        if not re.search(r'(?m)(?:^|[\s;"(]|\}/)' + re.escape(name) + r"(?![\w.])", listed):
            self.report(path, 1, "unlisted", f"{cmake} does not list it")

    def includes(self, path):
        for match in INCLUDE.finditer(self.texts[path]):
            yield line_of(self.texts[path], match.start()), match.group(1), match.group(2)

    def check_includes(self, path, text):
        room = room_of(path)
        if room is not None and room not in ROOMS:
            self.report(path, 1, "room", f"'{room}' is not in the list of rooms")
        for line, quoted, angled in self.includes(path):
            name = quoted or angled
            if quoted:
                self.check_quoted(path, line, quoted)
                self.check_direction(path, line, room, room_of(quoted))
            protobuf = name.startswith("google/protobuf") or name.endswith(".pb.h")
            if protobuf and room not in PROTOBUF_ROOMS:
                self.report(path, line, "protobuf", "protobuf lives in sim/io and sim/proto only")
            if name == "format":
                self.report(path, line, "format", "not every supported library has <format>")
            own = quoted is not None and quoted.startswith("sim/")
            if room in STANDARD_ONLY and not own and angled not in STANDARD_HEADERS:
                self.report(path, line, "standard_only",
                            f"sim/{room} has no threads, streams or third parties: {name}")

    def check_quoted(self, path, line, quoted):
        ours = quoted.split("/")[0] in ("sim", "kernels", "tools", "tests")
        if "/" not in quoted or quoted.startswith("."):
            self.report(path, line, "include_path", "includes start at the root of the repository")
        elif ours and quoted not in self.texts and not quoted.endswith(".pb.h"):
            self.report(path, line, "include_path", f"there is no {quoted}")

    def check_direction(self, path, line, room, target):
        if room not in ROOMS or target not in ROOMS:
            return
        if ROOMS.index(target) > ROOMS.index(room):
            self.report(path, line, "direction", f"{room} is below {target} and may not include it")
        for one, other, reason in KEPT_APART:
            if (room, target) == (one, other):
                self.report(path, line, "direction", f"{one} does not see {other}: {reason}")

    def check_cycles(self):
        """Reports one include of every cycle, found by depth-first search."""
        done, active = set(), []

        def visit(path):
            active.append(path)
            for line, quoted, _ in self.includes(path):
                if quoted in active:
                    chain = active[active.index(quoted):] + [quoted]
                    self.report(path, line, "cycle", " -> ".join(chain))
                elif quoted in self.stripped and quoted not in done:
                    visit(quoted)
            done.add(active.pop())

        for path in self.stripped:
            if path not in done:
                visit(path)

    def check_header(self, path, text):
        if not text.startswith("//"):
            self.report(path, 1, "header_comment", "a header begins by saying what it is")
        guard = "BATCHVAR_" + re.sub(r"[^A-Z0-9]", "_", path.upper()) + "_"
        directives = re.findall(r"(?m)^[ \t]*#.*$", text)
        wanted = [f"#ifndef {guard}", f"#define {guard}"]
        if directives[:2] != wanted or directives[-1:] != [f"#endif  // {guard}"]:
            self.report(path, 1, "guard", f"the include guard is {guard}, also behind #endif")

    def check_code(self, path):
        code = self.stripped[path]
        for rule, pattern, message, applies in FORBIDDEN:
            if applies(path):
                for match in pattern.finditer(code):
                    self.report(path, line_of(code, match.start()), rule, message)
        if room_of(path) in STANDARD_ONLY:
            for match in re.finditer(r"\b(?:throw|try|catch)\b", code):
                self.report(path, line_of(code, match.start()), "exceptions",
                            f"sim/{room_of(path)} has no exceptions")
        for first, last in function_spans(code):
            if last - first + 1 > MAX_FUNCTION_LINES:
                self.report(path, first, "function_length",
                            f"{last - first + 1} lines, {MAX_FUNCTION_LINES} at most")
        self.check_unordered(path, code)

    def check_unordered(self, path, code):
        header = re.sub(r"\.\w+$", ".h", path)
        names = unordered_names(code) | unordered_names(self.stripped.get(header, ""))
        for name in sorted(names):
            loops = r"\bfor\s*\([^;{}]*[^:]:\s*(?:[\w()*]+(?:\.|->))*\*?" + name + r"\s*\)"
            begins = r"\b" + name + r"\s*(?:\.|->)\s*c?r?begin\s*\("
            for match in re.finditer(f"{loops}|{begins}", code):
                self.report(path, line_of(code, match.start()), "unordered",
                            f"the order of {name} is the library's; use a map or sort")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", required=True, help="the project's folder")
    tidy = Tidy(os.path.abspath(parser.parse_args().root))
    if not tidy.stripped:
        print(f"tidy: no C++ under {tidy.root}", file=sys.stderr)
        return 2
    findings = tidy.run()
    for path, line, rule, message in findings:
        print(f"{path}:{line}: [{rule}] {message}")
    print(f"tidy: {len(tidy.texts)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
