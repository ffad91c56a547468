#!/usr/bin/env bash
# Compiles the CPU executor and executor_probe.cc with g++ and clang++ at -O0 and -O3, and checks
# that every binary prints one digest for every instruction set and number of threads.
#   executor_same_bits.sh SOURCE_DIR WORK_DIR
# Exit 0: all equal; 1: they differ or one does not compile; 77 (1 under CI): a compiler is missing.
set -euo pipefail
source_dir="$1"
work="$2"
mkdir -p "$work"

clang=""
for compiler in clang++-16 clang++-15 clang++-14 clang++; do
  if [ -z "$clang" ] && command -v "$compiler" >/dev/null; then clang="$compiler"; fi
done
if ! command -v g++ >/dev/null || [ -z "$clang" ]; then
  echo "SKIPPED: needs g++ and clang++"
  [ -n "${CI:-}" ] && exit 1
  exit 77
fi

# The flags that kernels/cpu/CMakeLists.txt gives the sources of one instruction set.
flags_of() {
  case "$(uname -m)-$1" in
    x86_64-*_avx2.cc) echo "-mavx2 -mfma -mf16c" ;;
    x86_64-*_avx512.cc) echo "-mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c" ;;
    *_avx2.cc | *_avx512.cc) echo skip ;;
  esac
}

expected=""
for compiler in g++ "$clang"; do
  for level in -O0 -O3; do
    objects=()
    for source in "$source_dir"/kernels/cpu/*.cc "$source_dir"/sim/base/*.cc \
      "$source_dir/tests/kernels/executor_probe.cc"; do
      flags="$(flags_of "$(basename "$source")")"
      [ "$flags" = skip ] && continue
      object="$work/$(basename "$source" .cc)${compiler//+/p}$level.o"
      # shellcheck disable=SC2086  # $flags is a list
      "$compiler" -std=c++20 -ffp-contract=off -w $level $flags -I "$source_dir" -c "$source" \
        -o "$object"
      objects+=("$object")
      # An inline function that such an object exports could replace everybody's copy.
      if [ -n "$flags" ] && [ "$level" = -O3 ] && nm "$object" | grep -q ' [WV] '; then
        echo "FAILED: $object exports inline functions built for its instruction set" >&2
        exit 1
      fi
    done
    probe="$work/probe_${compiler//+/p}$level"
    "$compiler" "${objects[@]}" -pthread -o "$probe"
    printed="$("$probe" | sort -u)"
    echo "== $compiler $level: $printed"
    [ -n "$expected" ] || expected="$printed"
    if [ "$printed" != "$expected" ] || [ "$(wc -l <<<"$printed")" -ne 1 ]; then
      echo "FAILED: more than one digest" >&2
      exit 1
    fi
  done
done
