#!/usr/bin/env bash
# Compiles bits_probe.cc with g++ and clang++, at -O0 and -O3, with and without FMA
# instructions, runs each binary and compares what they print.
#   same_bits.sh SOURCE_DIR WORK_DIR
# Exit 0: all equal; 1: they differ or one does not compile; 77 (1 under CI): a compiler is missing.
set -euo pipefail
source_dir="$1"
work="$2"
mkdir -p "$work"

clang=""
for compiler in clang++-16 clang++-15 clang++-14 clang++; do
  if [ -z "$clang" ] && command -v "$compiler" >/dev/null; then clang="$compiler"; fi
done
compilers=(g++ "$clang")
if ! command -v g++ >/dev/null || [ -z "$clang" ]; then
  echo "SKIPPED: needs g++ and clang++"
  [ -n "${CI:-}" ] && exit 1
  exit 77
fi

fma=()
if grep -qw fma /proc/cpuinfo 2>/dev/null; then fma=("-mfma -mavx2"); fi
expected=""
for compiler in "${compilers[@]}"; do
  for level in -O0 -O3; do
    for extra in "" "${fma[@]}"; do
      name="probe_${compiler//+/p}${level}${extra// /}"
      # shellcheck disable=SC2086  # $extra is a list of flags
      "$compiler" -std=c++20 -ffp-contract=off $level $extra -I "$source_dir" \
        "$source_dir/tests/numerics/bits_probe.cc" "$source_dir/sim/base/digest.cc" \
        "$source_dir/sim/base/rng.cc" "$source_dir/sim/base/elementary.cc" -o "$work/$name"
      printed="$("$work/$name")"
      echo "== $compiler $level $extra"
      echo "$printed"
      [ -n "$expected" ] || expected="$printed"
      if [ "$printed" != "$expected" ]; then
        echo "FAILED: other bits than the first one" >&2
        exit 1
      fi
    done
  done
done
