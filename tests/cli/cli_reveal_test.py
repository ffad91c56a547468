"""batchvar reveal: trees that are known, plans that are followed, libraries that depend on M."""
import json

from batchvar_cli import CliTest, main


def leaves(tree):
    return [tree] if isinstance(tree, int) else [leaf for node in tree for leaf in leaves(node)]


def chain(first, *steps):
    tree = list(first)
    for step in steps:
        tree = [tree, *step]
    return tree


class Reveal(CliTest):
    def gemm(self, m, n, k, *more):
        return ["reveal", "gemm", "--m", str(m), "--n", str(n), "--k", str(k), *more]

    def planned(self, m, n, k, *more):
        return self.gemm(m, n, k, "--device", "h100_sxm", *more)

    def test_a_small_gemm_is_a_chain_of_fused_sums(self):
        tree = self.ok_json(*self.planned(1, 128, 48))
        expected = {"kind": "tree", "op": "gemm", "implementation": "scalar", "n": 48, "extent": 48,
                    "m": 1, "outcome": "tree", "matches_plan": True, "policy": "textbook",
                    "tree": chain(range(16), range(16, 32), range(32, 48))}
        self.assertEqual({key: tree[key] for key in expected}, expected)
        text = self.ok(*self.planned(1, 128, 48))
        self.assertIn("M = 1: the tree of its plan\n  (0..15) to (32..47)\n", text)

    def test_ampere_fuses_eight(self):
        tree = self.ok_json(*self.gemm(1, 128, 16, "--device", "a100_sxm"))
        self.assertEqual(tree["tree"], chain(range(8), range(8, 16)))

    def test_split_k_depends_on_m(self):
        tree = self.ok_json(*self.planned("1,16,64", 4096, 4096))
        self.assertEqual(tree["n"], 64)
        self.assertEqual(sorted(leaves(tree["tree"])), list(range(64)))
        self.assertEqual([case["m"] for case in tree["by_m"]], [1, 16, 64])
        self.assertTrue(all(case["matches_plan"] for case in tree["by_m"]))
        self.assertFalse(tree["equal"])
        self.assertEqual(tree["by_m"][0]["tree"], tree["by_m"][1]["tree"])
        text = self.ok(*self.planned("1,16,64", 4096, 4096))
        for words in ["4 sums, one after another", "M = 16: the tree of its plan; as at M = 1",
                      "M = 64: the tree of its plan; another tree", "The tree depends on M."]:
            self.assertIn(words, text)

    def test_every_policy_is_followed(self):
        for policy in ["textbook", "batch_invariant", "cutlass_splitk", "gemv", "deepgemm",
                       "{name: cutlass_splitk, mode: parallel}", "{name: stream_k, generation: 2}",
                       "{name: stream_k, generation: 3}"]:
            tree = self.ok_json(*self.planned("1,40", 1024, 2048, "--policy", policy))
            self.assertTrue(all(case["matches_plan"] for case in tree["by_m"]), policy)

    def test_columns_of_stream_k_differ(self):
        more = ["--policy", "{name: stream_k, generation: 3, mode: stream_k}", "--leaves", "128"]
        first = self.ok_json(*self.planned(128, 12800, 2048, *more))
        others = [self.ok_json(*self.planned(128, 12800, 2048, *more, "--column", str(column)))
                  for column in range(127, 12800, 1280)]
        self.assertTrue(all(tree["matches_plan"] for tree in [first, *others]))
        self.assertTrue(any(tree["tree"] != first["tree"] for tree in others))

    def test_eigen_depends_on_m(self):
        tree = self.ok_json(*self.gemm("1,64", 64, 64, "--implementation", "eigen"))
        self.assertRegex(tree["library"], r"^Eigen \d+\.\d+\.\d+, ")
        self.assertFalse(tree["equal"])
        self.assertIsNone(tree["matches_plan"])
        for case in tree["by_m"]:
            self.assertEqual(sorted(leaves(case["tree"])), list(range(64)))

    def test_a_library_beside_a_plan_is_compared_and_no_bug(self):
        tree = self.ok_json(*self.planned(64, 64, 64, "--implementation", "eigen"))
        self.assertIs(tree["matches_plan"], False)
        self.assertEqual(sorted(leaves(tree["plan_tree"])), list(range(64)))

    def test_openblas_or_what_to_install(self):
        command = self.gemm("1,64", 64, 1024, "--implementation", "openblas")
        if self.run_cli(*command).returncode != 0:
            self.assertIn("libopenblas0", self.fails(2, *command))
            return
        tree = self.ok_json(*command)
        self.assertRegex(tree["library"], r"^OpenBLAS \d+\.\d+")
        for case in tree["by_m"]:
            self.assertEqual(sorted(leaves(case["tree"])), list(range(64)))

    def test_all_reduce(self):
        command = ["reveal", "allreduce", "--width", "4096", "--ranks", "4", "--device", "h100_sxm"]
        self.assertEqual(self.ok_json(*command)["tree"], [[[0, 1], 2], 3])
        ring = self.ok_json(*command, "--policy", "ring", "--element", "4095")
        self.assertTrue(ring["matches_plan"])
        exact = self.ok_json(*command, "--policy", "exact")
        self.assertEqual((exact["outcome"], exact["tree"]), ("order_free", [0, 1, 2, 3]))
        self.assertTrue(exact["matches_plan"])

    def test_norm_depends_on_rows_in_vllm(self):
        command = ["reveal", "norm", "--width", "4096", "--policy", "norm_vllm"]
        few = self.ok_json(*command, "--rows", "255", "--leaves", "200")
        many = self.ok_json(*command, "--rows", "256", "--leaves", "200")
        self.assertTrue(few["matches_plan"] and many["matches_plan"])
        self.assertNotEqual(few["tree"], many["tree"])

    def attention(self, kv_len, *more):
        return ["reveal", "attention", "--kv-len", str(kv_len), "--q-heads", "32", "--kv-heads",
                "8", "--head-dim", "128", "--device", "h100_sxm", *more]

    def test_attention(self):
        for policy in ["textbook", "batch_invariant", "fa2", "fa3", "flashinfer", "vllm_triton"]:
            tree = self.ok_json(*self.attention(4096, "--policy", policy))
            self.assertTrue(tree["matches_plan"], policy)
        error = self.fails(2, *self.attention(3000))
        self.assertIn("a power of two", error)
        self.assertTrue(self.ok_json(*self.attention(300, "--policy", "batch_invariant"))
                        ["matches_plan"])

    def test_errors_say_what_to_do(self):
        for words, command in [
                ("--device: is required", self.gemm(1, 64, 64)),
                ("did you mean 'eigen'", self.gemm(1, 64, 64, "--implementation", "eigne")),
                ("from 1 to 256", self.planned(1, 64, 64, "--leaves", "257")),
                ("--row: is a row of every M", self.planned("2,4", 64, 64, "--row", "2")),
                ("--column: must be from 0 to 63", self.planned(1, 64, 64, "--column", "64")),
                ("--dtype: is of use only with --device",
                 self.gemm(1, 64, 64, "--implementation", "eigen", "--dtype", "fp16")),
                ("numbers a matrix",
                 self.gemm(1, 128256, 4096, "--implementation", "eigen")),
                ("--k: must be from 1 to 1048576", self.planned(1, 64, 2000000)),
                ("--request: counts", self.attention(4096, "--request", "1"))]:
            self.assertIn(words, self.fails(2, *command))
        error = json.loads(self.fails(2, *self.gemm(1, 64, 64, "--json")))
        self.assertEqual((error["kind"], error["field"]), ("error", "--device"))

    def test_equal_runs_give_equal_bytes(self):
        command = self.planned("1,64", 4096, 4096, "--json")
        self.assertEqual(self.ok(*command), self.ok(*command))


if __name__ == "__main__":
    main()
