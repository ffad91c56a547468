"""The policy nv_heuristics in every command that plans, with a library that answers like NVIDIA's:
K in 3 pieces for bf16, in 2 for fp16."""
import json
import os

from batchvar_cli import CliTest, main

LIBRARY = os.environ["BATCHVAR_FAKE_LIBRARY"]
POLICY = "{name: nv_heuristics, library: %s}" % LIBRARY


class NvHeuristics(CliTest):
    def plan(self, policy, *more):
        return ["plan", "gemm", "--m", "1", "--n", "4096", "--k", "4096", "--device", "h100_sxm",
                "--policy", policy, *more]

    def test_plan(self):
        plan = self.ok_json(*self.plan(POLICY))
        self.assertEqual((plan["policy"], plan["split_k"]), ("nv_heuristics", 3))
        self.assertEqual(plan["source"]["project"], "nvMatmulHeuristics")
        self.assertRegex(plan["source"]["version"], "^0.1.7, sha256 [0-9a-f]{12}$")
        self.assertEqual(self.ok_json(*self.plan(POLICY, "--dtype", "fp16"))["split_k"], 2)

    def test_classes(self):
        table = self.ok_json("classes", "--model", "llama31_8b", "--device", "h100_sxm", "--m",
                             "1..32", "--set", "policies.gemm=" + POLICY)
        op = next(op for op in table["ops"] if op["op"] == "o_proj")
        self.assertEqual([one["split_k"] for one in op["classes"]], [3])

    def test_simulate_and_explain(self):
        experiment = self.experiment(extra="policies: {gemm: %s}\n" % POLICY)
        folder = os.path.join(self.folder, "run")
        text = self.ok("simulate", experiment, "--out", folder)
        self.assertIn("K in 3", text)
        with open(os.path.join(folder, "requests.csv"), encoding="utf-8") as file:
            request = file.read().splitlines()[1].split(",")[0]
        self.ok("explain", folder, folder, "--request", request)

    def test_sweep(self):
        sweep = self.write("sweep.yaml", "schema_version: 1\ncommand: classes\nbase: {model: "
                           "llama31_8b, workload: {arrivals: {process: poisson, rate_per_s: 20}, "
                           "prompt_len: {fixed: 20}, output_len: {fixed: 40}, num_requests: 9}}\n"
                           "sweep: {parameters: {device: [h100_sxm, b200], policies.gemm: [%s], "
                           "dtype: [bf16, fp16], m: ['1..40']}}\n" % POLICY)
        one = self.ok("sweep", sweep, "--json", "--jobs", "1")
        self.assertEqual(one, self.ok("sweep", sweep, "--json", "--jobs", "4"))
        splits = []
        for line in one.splitlines():
            ops = json.loads(line)["result"]["ops"]
            op = next(op for op in ops if op["op"] == "down_proj")
            splits.append([entry["split_k"] for entry in op["classes"]])
        self.assertEqual(splits, [[3], [2], [3], [2]])

    def test_errors(self):
        missing = "{name: nv_heuristics, library: not_there.so}"
        for words in ["not_there.so: there is no such file", "pip install"]:
            self.assertIn(words, self.fails(4, *self.plan(missing)))
        self.assertIn("policies.gemm.library", self.fails(2, *self.plan("nv_heuristics")))
        self.assertIn("did you mean 'H200_SXM'", self.fails(2, *self.plan(
            POLICY[:-1] + ", gpu: H200_SMX}")))
        self.assertIn("knows no GPU 'a10g'", self.fails(
            2, "plan", "gemm", "--m", "1", "--n", "64", "--k", "64", "--device", "a10g", "--policy",
            POLICY))
        experiment = self.experiment(extra="policies: {gemm: %s}\n" % missing)
        self.assertIn("there is no such file", self.fails(4, "simulate", experiment))


if __name__ == "__main__":
    main()
