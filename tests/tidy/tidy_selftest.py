#!/usr/bin/env python3
"""Every rule of tidy_test.py fires on a breach, at its line, and is silent on what is allowed."""

import os
import tempfile
import unittest

from source_text import function_spans, strip_cpp, unordered_names
from tidy_test import MAX_FUNCTION_LINES, MAX_LINES, Tidy

HEADER = """// A clock for the tests.
#ifndef BATCHVAR_SIM_BASE_TICK_H_
#define BATCHVAR_SIM_BASE_TICK_H_

#include <cstdint>

int64_t Tick();

#endif  // BATCHVAR_SIM_BASE_TICK_H_
"""
SOURCE = '#include "sim/base/tick.h"\n\nint64_t Tick() { return 1; }\n'

# A tree without a breach. The other files of a test come on top of it.
CLEAN = {
    "CMakeLists.txt": 'if(flags MATCHES "-ffast-math")\n  message(FATAL_ERROR "no")\nendif()\n',
    "docs/notes.md": "Results go to `out/`; see tests/work/ and sim/root/.\n",
    "sim/base/CMakeLists.txt": "add_library(base tick.cc)\n",
    "sim/base/tick.h": HEADER,
    "sim/base/tick.cc": SOURCE,
}


def header(path, body=""):
    guard = "BATCHVAR_" + path.upper().replace("/", "_").replace(".", "_") + "_"
    return f"// A header.\n#ifndef {guard}\n#define {guard}\n{body}#endif  // {guard}\n"


def findings_of(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**CLEAN, **files}.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode("utf-8"))
        return [(path, line, rule) for path, line, rule, _ in Tidy(root).run()]


class RulesFire(unittest.TestCase):
    def expect(self, files, *wanted):
        self.assertEqual(findings_of(files), sorted(wanted))

    def in_code(self, folder, code, rule, line=1):
        """`code` as a listed source of `folder` breaks `rule` at `line`, or nothing if None."""
        path = f"{folder}/x.cc"
        listed = CLEAN.get(f"{folder}/CMakeLists.txt", "") + "add_library(x x.cc)\n"
        files = {path: code, f"{folder}/CMakeLists.txt": listed}
        self.expect(files, *([(path, line, rule)] if rule else []))

    def test_clean_tree_has_no_findings(self):
        self.expect({})

    def test_direction(self):
        self.in_code("sim/io", '#include "sim/base/tick.h"\n', None)
        upward = {"sim/io/y.h": header("sim/io/y.h")}
        for room in ("base", "shape", "config"):
            path = f"sim/{room}/y.h"
            text = header(path, '#include "sim/io/y.h"\n')
            self.expect({**upward, path: text}, (path, 4, "direction"))
        for top in ("kernels", "tools"):
            files = {f"{top}/y.h": header(f"{top}/y.h"),
                     "sim/report/z.h": header("sim/report/z.h", f'#include "{top}/y.h"\n')}
            self.expect(files, ("sim/report/z.h", 4, "direction"))
        apart = {"sim/plan/y.h": header("sim/plan/y.h"),
                 "sim/serving/z.h": header("sim/serving/z.h", '#include "sim/plan/y.h"\n')}
        self.expect(apart, ("sim/serving/z.h", 4, "direction"))

    def test_unknown_room(self):
        self.expect({"sim/attic/y.h": header("sim/attic/y.h")}, ("sim/attic/y.h", 1, "room"))

    def test_include_path(self):
        self.in_code("sim/io", '#include "tick.h"\n', "include_path")
        self.in_code("sim/io", '#include "../base/tick.h"\n', "include_path")
        self.in_code("sim/io", '\n#include "sim/base/gone.h"\n', "include_path", 2)

    def test_cycle(self):
        files = {"sim/io/a.h": header("sim/io/a.h", '#include "sim/io/b.h"\n'),
                 "sim/io/b.h": header("sim/io/b.h", '#include "sim/io/a.h"\n')}
        self.expect(files, ("sim/io/b.h", 4, "cycle"))

    def test_standard_only(self):
        for name in ("<thread>", "<mutex>", "<iostream>", '"absl/status/status.h"',
                     "<nlohmann/json.hpp>", "<yaml-cpp/yaml.h>"):
            self.in_code("sim/shape", f"#include {name}\n", "standard_only")
            self.in_code("sim/io", f"#include {name}\n", None)
        for code in ("void F() { throw 1; }\n", "int try = 0;\n"):
            self.in_code("sim/plan", code, "exceptions")
            self.in_code("sim/io", code, None)
        self.in_code("sim/plan", "// throw, try and catch\n", None)

    def test_protobuf(self):
        for name in ("<google/protobuf/message.h>", '"sim/proto/run.pb.h"'):
            self.in_code("sim/report", f"#include {name}\n", "protobuf")
            self.in_code("sim/io", f"#include {name}\n", None)

    def test_guard_and_header_comment(self):
        text = HEADER.replace("SIM_BASE_TICK", "BASE_TICK")
        self.expect({"sim/base/tick.h": text}, ("sim/base/tick.h", 1, "guard"))
        text = HEADER.replace("#endif  // ", "#endif  //")
        self.expect({"sim/base/tick.h": text}, ("sim/base/tick.h", 1, "guard"))
        text = HEADER.split("\n", 1)[1]
        self.expect({"sim/base/tick.h": text}, ("sim/base/tick.h", 1, "header_comment"))

    def test_name(self):
        for path in ("docs/Utils.md", "docs/common/x.md", "docs/plan_helpers.txt"):
            self.expect({path: ""}, (path, 1, "name"))

    def test_layout(self):
        self.expect({"a.sh": "x" * 100 + "\n"})
        self.expect({"a.sh": "x" * 101 + "\n"}, ("a.sh", 1, "columns"))
        self.expect({"a.py": "x = '" + "\u00e9" * 94 + "'\n"})
        self.expect({"a.cmake": "\n\tset()\n"}, ("a.cmake", 2, "tab"))
        self.expect({"a.py": "x = 1 \n"}, ("a.py", 1, "trailing"))
        self.expect({"a.py": "x = 1\r\n"}, ("a.py", 1, "trailing"))
        self.expect({"a.py": "x = 1"}, ("a.py", 1, "newline"))
        self.expect({"a.py": b"x = '\xff'\n"}, ("a.py", 1, "utf8"))
        self.expect({"a.csv": "x\t1 "})

    def test_lengths(self):
        self.in_code("sim/io", "//\n" * MAX_LINES, None)
        self.in_code("sim/io", "//\n" * (MAX_LINES + 1), "file_length", MAX_LINES + 1)
        body = "  F();\n" * (MAX_FUNCTION_LINES - 2)
        self.in_code("sim/io", f"\nvoid F() {{\n{body}}}\n", None)
        self.in_code("sim/io", f"\nvoid F() {{\n  F();\n{body}}}\n", "function_length", 2)

    def test_unlisted_and_glob(self):
        self.expect({"sim/base/more.cc": "\n"}, ("sim/base/more.cc", 1, "unlisted"))
        listed = {"sim/base/CMakeLists.txt": "# tick.cc\nadd_library(base atick.cc tick.cc.in)\n"}
        self.expect(listed, ("sim/base/tick.cc", 1, "unlisted"))
        listed = {"sim/base/CMakeLists.txt": 'add(b "${CMAKE_CURRENT_SOURCE_DIR}/tick.cc")\n'}
        self.expect(listed)
        listed = {"sim/base/CMakeLists.txt": "\nfile(GLOB all *.cc)\nadd_library(base tick.cc)\n"}
        self.expect(listed, ("sim/base/CMakeLists.txt", 2, "glob"))

    def test_forbidden_names(self):
        for code in ("int x = rand();", "std::mt19937 g;", "std::random_device d;",
                     "std::normal_distribution<> d;"):
            self.in_code("sim/io", code + "\n", "random")
        for code in ("auto t = std::chrono::system_clock::now();", "auto t = time(nullptr);",
                     "auto t = std::chrono::steady_clock::now();"):
            self.in_code("sim/io", code + "\n", "clock")
        for code in ("double x = std::exp(1.0);", "double x = std::pow(2, 0.5);"):
            self.in_code("sim/io", code + "\n", "libm")
            self.in_code("tests/io", code + "\n", None)
        for code in ('printf("x");', 'std::fprintf(stderr, "x");', "std::cout << 1;"):
            self.in_code("sim/io", code + "\n", "print")
            self.in_code("tests/io", code + "\n", None)
        self.in_code("sim/io", "#include <format>\n", "format")
        for code in ("int operand(); // rand()", 'const char* a = "time(0)";',
                     "double s = std::sqrt(2);", "int n = snprintf(a, 1, a);"):
            self.in_code("sim/io", code + "\n", None)

    def test_terminal_may_print_and_look_at_the_clock(self):
        code = 'void F() { printf("%ld", std::chrono::system_clock::now()); }\n'
        self.expect({"tools/batchvar/terminal.cc": code,
                     "tools/batchvar/CMakeLists.txt": "add_executable(b terminal.cc)\n"})

    def test_fast_math(self):
        flags = "\nset(CMAKE_CXX_FLAGS -ffast-math)\n"
        self.expect({"cmake/Flags.cmake": flags}, ("cmake/Flags.cmake", 2, "fast_math"))
        self.in_code("sim/io", '#pragma GCC optimize("fast-math")\n', "fast_math")
        self.in_code("sim/io", "#pragma STDC FP_CONTRACT ON\n", "fast_math")

    def test_unordered(self):
        members = "struct S {\n  std::unordered_map<int, std::vector<int>> by_id_;\n};\n"
        loop = "void F() {\n  for (const auto& [id, v] : by_id_) Use(id, v);\n}\n"
        self.in_code("sim/io", members + loop, "unordered", 5)
        self.in_code("sim/io", members + loop.replace("by_id_)", "s->by_id_)"), "unordered", 5)
        self.in_code("sim/io", members + "auto f = s.by_id_.begin();\n", "unordered", 4)
        self.in_code("sim/io", members + "auto f = s.by_id_.find(3);\n", None)
        listed = {"sim/io/CMakeLists.txt": "add_library(io y.cc)\n"}
        split = {"sim/io/y.h": header("sim/io/y.h", members), "sim/io/y.cc": loop}
        self.expect({**listed, **split}, ("sim/io/y.cc", 2, "unordered"))

    def test_absolute_path(self):
        for place in ("work", "root", "home"):
            text = f"\nsee /{place}/x\n"
            self.expect({"docs/x.md": text}, ("docs/x.md", 2, "absolute_path"))
        self.expect({"docs/x.md": "${HOME}/work/x and ../root/x and a/home/b\n"})

    def test_build_trees_are_skipped(self):
        self.expect({"build/x.cc": "rand();", "mine/CMakeCache.txt": "", "mine/x.cc": "rand();"})


class SourceText(unittest.TestCase):
    def test_strip_keeps_places(self):
        text = ("int a = 1'000; // b {\nchar c = '\"'; /* {\n */ auto d = R\"x({\"})x\"; "
                'f("\\"{");\n')
        code = strip_cpp(text)
        self.assertEqual([len(line) for line in code.split("\n")],
                         [len(line) for line in text.split("\n")])
        self.assertNotIn("{", code)
        self.assertIn("1'000;", code)
        self.assertIn("f(", code)

    def test_function_spans(self):
        code = """namespace a {
class B : public C<int(int)> {
 public:
  explicit B(int x = 3)
      : x_{x},
        y_(x) {
    if (x) { G(); }
  }
  bool operator==(const B& b) const {
    return true;
  }
};
constexpr int kTable[] = {
    F(1), F(2)
};
#define M(x) { x
auto Lambda() -> std::function<void()> {
  return [] {
  };
}
}
"""
        # A braced initializer passes for a function of its own; the body behind it is measured.
        self.assertEqual(function_spans(strip_cpp(code)), [(4, 5), (5, 8), (9, 11), (17, 20)])

    def test_unordered_names(self):
        code = "std::unordered_set<P<int, int>> seen; void F(const std::unordered_map<A, B>& by);"
        self.assertEqual(unordered_names(code), {"seen", "by"})


if __name__ == "__main__":
    unittest.main()
