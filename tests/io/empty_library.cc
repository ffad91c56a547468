// A shared library that has none of the functions that anybody looks for.
extern "C" int BatchvarTestAnswer() { return 42; }
