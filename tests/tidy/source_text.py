"""Reads C++ well enough for the house rules: text without comments and literals, and functions.

No compiler and no parser: a rule that needs more than this is a matter for clang-tidy.
"""

import re

_TOKEN = re.compile(
    r"""(?P<line>//(?:\\\n|[^\n])*)
      | (?P<block>/\*.*?(?:\*/|\Z))
      | (?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\b[0-9](?:'?[0-9A-Za-z_.])*)
      | (?P<char>'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def strip_cpp(text):
    """The text with comments, strings and characters blanked; lines and columns stay in place."""

    def replace(match):
        return match.group() if match.group("number") else _blank(match.group())

    return _TOKEN.sub(replace, text)


def strip_hash_comments(text):
    """CMake, Python or shell text without what follows a '#'. A '#' in a string goes too."""
    return re.sub(r"#[^\n]*", "", text)


def without_preprocessor(stripped):
    """Stripped C++ with its directives blanked, so that macro bodies count as nothing."""
    return re.sub(r"(?m)^[ \t]*#(?:\\\n|[^\n])*", lambda m: _blank(m.group()), stripped)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


_TYPE_HEAD = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:inline\s+)?(?:namespace|class|struct|union|enum)\b",
    re.DOTALL,
)


def _opens_function(head):
    head = head.strip()
    if ")" not in head or _TYPE_HEAD.match(head):
        return False
    head = re.sub(r"\boperator\s*[^\s(]+", "operator", head)
    previous = None
    while previous != head:  # parameter lists may hold '=' (defaults) and further parentheses
        previous, head = head, re.sub(r"\([^()]*\)", "", head)
    return "=" not in head


def function_spans(stripped):
    """(first line, last line) of every function body's braces outside other functions.

    A brace opens a function if what stands before it, back to the last ';' or brace, has a
    parameter list and neither names a type nor assigns. Lambdas belong to the function around them.
    """
    code = without_preprocessor(stripped)
    spans = []
    depth = 0
    function_depth = None
    function_start = 0
    head_start = 0
    for match in re.finditer(r"[{};]|\b(?:public|private|protected)\s*:", code):
        at = match.start()
        if match.group() == "{":
            if function_depth is None and _opens_function(code[head_start:at]):
                function_depth = depth
                # The signature counts: a function is as long as what one has to read.
                head = code[head_start:at]
                function_start = head_start + len(head) - len(head.lstrip())
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if function_depth is not None and depth <= function_depth:
                spans.append((line_of(code, function_start), line_of(code, at)))
                function_depth = None
        if function_depth is None:
            head_start = match.end()
    return spans


def unordered_names(stripped):
    """Names of variables and members declared as std::unordered_*<...> in this text."""
    names = set()
    for match in re.finditer(r"\bunordered_(?:multi)?(?:map|set)\s*<", stripped):
        depth = 1
        at = match.end()
        while at < len(stripped) and depth > 0:
            depth += {"<": 1, ">": -1}.get(stripped[at], 0)
            at += 1
        declared = re.match(r"\s*[&*]?\s*(\w+)\s*[;={(,)]", stripped[at:])
        if declared:
            names.add(declared.group(1))
    return names
