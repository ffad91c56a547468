"""batchvar execute: equal classes give equal bits, others are taken apart, bad flags are named."""
import json
import os
import struct
import tempfile

from batchvar_cli import CliTest, main


def fp32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Execute(CliTest):
    def gemm(self, *more):
        return ["execute", "gemm", "--device", "h100_sxm", "--n", "4096", "--k", "4096",
                "--columns", "64", "--rows", "4", *more]

    def names(self, code, words, *arguments):
        self.assertIn(words, self.fails(code, *arguments))

    def test_one_class_has_one_result(self):
        same = self.ok_json(*self.gemm("--m", "1", "--b-m", "16"))
        self.assertTrue(same["same_class"])
        self.assertEqual((same["outputs"], same["differ_fp32"], same["differ_16bit"]), (256, 0, 0))

    def test_two_classes_differ_and_the_example_adds_up(self):
        run = self.ok_json(*self.gemm("--m", "1", "--b-m", "64"))
        self.assertEqual(run["kind"], "execution")
        self.assertFalse(run["same_class"])
        self.assertGreater(run["differ_fp32"], 200)
        self.assertEqual([p["range"] for p in run["example"]["a"]["partials"]],
                         [[0, 1024], [1024, 2048], [2048, 3072], [3072, 4096]])
        self.assertEqual([p["range"] for p in run["example"]["b"]["partials"]], [[0, 4096]])
        total = None
        for partial in run["example"]["a"]["partials"]:
            bits = struct.unpack("<f", struct.pack("<I", int(partial["hex"], 16)))[0]
            self.assertEqual(bits, fp32(partial["value"]))
            total = bits if total is None else fp32(total + bits)
        self.assertEqual(total, run["example"]["a"]["sum"])
        self.assertAlmostEqual(run["example"]["exact"], total, delta=1e-4)
        self.assertEqual((run["a"]["m"], run["b"]["m"]), (1, 64))

    def test_instruction_sets_and_threads_agree(self):
        more = ["--m", "1", "--b-m", "64", "--data", "outliers"]
        scalar = self.ok_json(*self.gemm(*more, "--isa", "scalar"))
        best = self.ok_json(*self.gemm(*more))
        two = self.ok_json(*self.gemm(*more, "--threads", "2"))
        for run in (scalar, best, two):
            for key in ("isa", "fused_sums", "scalar_fallbacks"):  # how, not what
                run.pop(key)
        self.assertEqual(scalar, best)
        self.assertEqual(best, two)

    def test_text_shows_shares_partials_and_trees(self):
        text = self.ok(*self.gemm("--m", "1", "--b-m", "64"))
        for words in ["textbook, h100_sxm (132 SMs), M = 1, row 0", "two: the bits may differ",
                      "after rounding to bf16", "[1024, 2048)", "combine serial_fp32",
                      "4 sums, one after another", "(0..15) to (4080..4095)"]:
            self.assertIn(words, text)

    def test_other_devices_and_policies_per_side(self):
        run = self.ok_json(*self.gemm("--m", "64", "--b-device", "a100_sxm", "--policy",
                                      "batch_invariant"))
        self.assertFalse(run["same_class"])  # Ampere fuses 8 products, Hopper 16
        self.assertGreater(run["differ_fp32"], 150)

    def test_attention(self):
        run = self.ok_json("execute", "attention", "--device", "h100_sxm", "--policy", "fa3",
                           "--kv-len", "4096", "--b-kv-len", "4096,512,512,512,512,512,512,512",
                           "--q-heads", "32", "--kv-heads", "8", "--head-dim", "128", "--rows", "1")
        self.assertEqual(run["outputs"], 32 * 128)
        self.assertGreater(run["differ_16bit"], 0)
        self.assertEqual(len(run["example"]["a"]["partials"]), 11)
        self.assertEqual(len(run["example"]["b"]["partials"]), 8)
        fixed = self.ok_json("execute", "attention", "--device", "h100_sxm", "--policy",
                             "batch_invariant", "--kv-len", "2048", "--b-kv-len", "2048,512",
                             "--q-heads", "8", "--kv-heads", "2", "--head-dim", "64", "--rows", "1")
        self.assertEqual(fixed["differ_fp32"], 0)

    def test_norm_and_allreduce(self):
        norm = self.ok_json("execute", "norm", "--width", "4096", "--m", "255", "--b-m", "256")
        self.assertFalse(norm["same_class"])
        self.assertEqual(len(norm["example"]["a"]["partials"]), 16)  # warps of 512 threads
        one = self.ok_json("execute", "allreduce", "--device", "h100_sxm", "--policy", "one_shot",
                           "--ranks", "4", "--width", "512", "--m", "1", "--b-m", "7",
                           "--b-row", "6")
        self.assertTrue(one["same_class"])
        ring = self.ok_json("execute", "allreduce", "--device", "h100_sxm", "--policy", "ring",
                            "--b-policy", "one_shot", "--ranks", "4", "--width", "512", "--m", "1")
        self.assertGreater(ring["differ_16bit"], 0)

    def test_given_data(self):
        with tempfile.TemporaryDirectory() as folder:
            x, w = os.path.join(folder, "x.bin"), os.path.join(folder, "w.bin")
            with open(x, "wb") as file:  # one row of 64 ones in bf16
                file.write(struct.pack("<64H", *[0x3F80] * 64))
            with open(w, "wb") as file:
                file.write(struct.pack("<128H", *([0x3F80] * 64 + [0x4000] * 64)))
            run = self.ok_json("execute", "gemm", "--device", "h100_sxm", "--m", "1", "--n", "2",
                               "--k", "64", "--x", x, "--w", w, "--policy", "batch_invariant")
            self.assertEqual((run["rows"], run["columns"]), (1, 2))
            self.assertEqual(run["example"]["a"]["result"], 64.0)
            with open(x, "ab") as file:
                file.write(b"?")
            self.names(4, "has 129 bytes", "execute", "gemm", "--device", "h100_sxm", "--m", "1",
                       "--n", "2", "--k", "64", "--x", x, "--w", w)

    def test_bad_flags_are_named(self):
        self.names(2, "--b-row: must be from 0 to 15, not 16",
                   *self.gemm("--m", "16", "--b-row", "16"))
        self.names(2, "did you mean 'outliers'", *self.gemm("--m", "1", "--data", "outlier"))
        self.names(2, "--isa: 'sse' is not one of", *self.gemm("--m", "1", "--isa", "sse"))
        self.names(2, "must be the same request", "execute", "attention", "--device", "h100_sxm",
                   "--kv-len", "64", "--b-kv-len", "65", "--q-heads", "1", "--kv-heads", "1",
                   "--head-dim", "64")


if __name__ == "__main__":
    main()
