#!/usr/bin/env bash
# Compiles the rooms that the page will run (base, numerics, shape, plan, divergence) for
# wasm32-wasi: every source, every header on its own, and one reactor module out of all of them.
#
#   compile_rooms.sh PROJECT_ROOT OUTPUT_DIR
#
# Exit 77 (skipped) when the toolchain is missing; under CI that is a failure.
set -euo pipefail

if [[ $# -ne 2 ]]; then
  echo "usage: compile_rooms.sh PROJECT_ROOT OUTPUT_DIR" >&2
  exit 2
fi
root=$1
out=$2
compiler=${WASM_CXX:-clang++-16}
headers=${WASM_LIBCXX:-/usr/lib/llvm-16/include/wasm32-wasi/c++/v1}

without() {
  echo "wasm_rooms: $1 is missing (Debian: clang-16 lld-16 libc++-16-dev-wasm32 wasi-libc" \
    "libclang-rt-16-dev-wasm32)" >&2
  if [[ -n ${CI:-} ]]; then exit 1; fi
  exit 77
}

command -v "$compiler" > /dev/null || without "$compiler"
[[ -d $headers ]] || without "$headers"

flags=(--target=wasm32-wasi -std=c++20 -O2 -fno-exceptions -ffp-contract=off -Wall -Wextra -Werror
  -nostdinc++ -isystem "$headers" -I "$root")
# Nothing may be dropped unread, or a symbol that only a host has would go unnoticed.
link=("$compiler" --target=wasm32-wasi -mexec-model=reactor -Wl,--no-gc-sections)

mkdir -p "$out"
probe=$out/toolchain
printf '#include <string>\nstd::string Probe(int n) { return std::to_string(n); }\n' > "$probe.cc"
{ "$compiler" "${flags[@]}" -c "$probe.cc" -o "$probe.o" \
  && "${link[@]}" "$probe.o" -o "$probe.wasm"; } 2> "$probe.log" \
  || without "a part of the wasm32-wasi toolchain ($(head -n 1 "$probe.log"))"

printf '"%s"\n' "${flags[@]}" > "$out/flags.rsp"
# Called once per file, two at a time. A header is included rather than compiled as the main file,
# which would warn about its #pragma and its unused functions.
compile_one() {
  local file=$1 name=${1#"$root"/}
  case $file in
    *.cc) "$compiler" "@$out/flags.rsp" -c "$file" -o "$out/rooms/${name//\//_}.o" ;;
    *.h) echo "#include \"$name\"" | "$compiler" "@$out/flags.rsp" -fsyntax-only -x c++ - ;;
  esac
}
export root out compiler
export -f compile_one

rm -rf "$out/rooms"
mkdir -p "$out/rooms"
rooms=("$root"/sim/{base,numerics,shape,plan,divergence})
files=$(find "${rooms[@]}" -name '*.cc' -o -name '*.h' | LC_ALL=C sort)
xargs -d '\n' -P 2 -I {} bash -euo pipefail -c 'compile_one "$1"' _ {} <<< "$files"

objects=("$out"/rooms/*.o)
count=$(wc -l <<< "$files")
"${link[@]}" "${objects[@]}" -o "$out/batchvar_rooms.wasm"
echo "wasm_rooms: $count files compiled, $(stat -c %s "$out/batchvar_rooms.wasm") bytes linked"
