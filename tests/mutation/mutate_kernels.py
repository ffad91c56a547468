#!/usr/bin/env python3
"""Makes one-line mistakes in the CUDA kernels (kernel_mutations.py), one at a time, and checks that
a named test sees each: a test that cannot fail proves nothing.

Usage: mutate_kernels.py --root PROJECT --build FOLDER [--all | --sample N] [--only WORDS]

FOLDER is a build of the project in which kernels_simt_gemm_test is built. Sources are not touched:
a changed copy stands before the project on the include path, its objects before the library.
Exit 0: every mistake was seen; 1: one was not; 2: a mutation no longer fits its source.
"""

import argparse
import os
import subprocess
import sys
import tempfile

from kernel_mutations import MUTATIONS

TEST = "tests/kernels/simt/kernels_simt_gemm_test"
SOURCES = ["combine.cu", "gemm.cu", "gemm_fma.cu", "gemm_mma.cu", "gemm_wgmma.cu",
           "gemv.cu", "tensor_map.cu"]
# Archives in the order of their dependencies.
LIBRARIES = ["tests/libbatchvar_test_main.a", "tests/kernels/simt/libbatchvar_cuda_on_simt.a",
             "kernels/cuda/libbatchvar_cuda_work.a", "kernels/simt/libbatchvar_simt.a",
             "kernels/cpu/libbatchvar_kernels_cpu.a", "sim/plan/libbatchvar_plan.a",
             "sim/shape/libbatchvar_shape.a", "sim/base/libbatchvar_base.a"]
SYSTEM_LIBRARIES = ["-lgmock", "-lgtest", "-lboost_context", "-lz", "-pthread"]


def changed_text(root, mutation):
    with open(os.path.join(root, mutation.file), encoding="utf-8") as file:
        text = file.read()
    if text.count(mutation.old) != 1:
        count = text.count(mutation.old)
        print(f"{mutation.name}: its line occurs {count} times in {mutation.file}")
        sys.exit(2)
    return text.replace(mutation.old, mutation.new)


def build(root, folder, mutation, work):
    """The path of the test with the mistake in it."""
    changed = os.path.join(work, mutation.file)
    os.makedirs(os.path.dirname(changed), exist_ok=True)
    with open(changed, "w", encoding="utf-8") as file:
        file.write(changed_text(root, mutation))
    own = os.path.basename(mutation.file)
    objects = []
    for source in [own] if own in SOURCES else SOURCES:
        path = changed if source == own else os.path.join(root, "kernels/cuda", source)
        objects.append(os.path.join(work, source + ".o"))
        subprocess.run(["g++", "-x", "c++", "-std=c++20", "-O1", "-ffp-contract=off", "-w",
                        "-Wno-psabi", "-I", work, "-I", root, "-c", path, "-o", objects[-1]],
                       check=True)
    tests = os.path.join(folder, os.path.dirname(TEST), "CMakeFiles/kernels_simt_gemm_test.dir")
    tests = sorted(os.path.join(tests, name) for name in os.listdir(tests) if name.endswith(".o"))
    binary = os.path.join(work, "mutant")
    libraries = [os.path.join(folder, name) for name in LIBRARIES]
    libraries = [path for path in libraries if os.path.exists(path)]
    subprocess.run(["g++", *tests, *objects, *libraries, *SYSTEM_LIBRARIES, "-o", binary],
                   check=True)
    return binary


def is_seen(root, folder, mutation):
    with tempfile.TemporaryDirectory() as work:
        binary = build(root, folder, mutation, work)
        done = subprocess.run([binary, f"--gtest_filter={mutation.test}"], text=True, cwd=root,
                              capture_output=True, timeout=600)
        return done.returncode != 0 and f"[  FAILED  ] {mutation.test}" in done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--all", action="store_true", help="every mutation; else a sample")
    parser.add_argument("--sample", type=int, default=3, help="how many, spread over the list")
    parser.add_argument("--only", help="those whose names contain these words")
    arguments = parser.parse_args()
    root, folder = os.path.abspath(arguments.root), os.path.abspath(arguments.build)
    for mutation in MUTATIONS:  # also those that do not run: they must not rot
        changed_text(root, mutation)
    chosen = [m for m in MUTATIONS if arguments.only is None or arguments.only in m.name]
    if not arguments.all and arguments.only is None:
        chosen = chosen[::max(1, len(chosen) // arguments.sample)][:arguments.sample]
    missed = 0
    for mutation in chosen:
        seen = is_seen(root, folder, mutation)
        missed += not seen
        print(f"{'seen' if seen else 'NOT SEEN'}: {mutation.name} ({mutation.test})", flush=True)
    print(f"mutation: {len(chosen) - missed} of {len(chosen)} were seen, "
          f"of {len(MUTATIONS)} in all")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
