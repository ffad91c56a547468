"""batchvar hazard: mechanism against observation rate, given or measured; execute in simulate."""
import json
import os

from batchvar_cli import CliTest, main, read_bytes

WORKLOAD = ("workload: {arrivals: {process: poisson, rate_per_s: 20}, "
            "prompt_len: {uniform: {min: 10, max: 200}}, "
            "output_len: {uniform: {min: 20, max: 90}}, num_requests: 120}\n")


class Hazard(CliTest):
    def file(self, extra=""):
        return self.experiment(workload=WORKLOAD, extra="policies: vllm_h100\n" + extra)

    def test_windows_and_totals(self):
        path = self.file()
        given = ("--margin-density", "0.4", "--noise-rms", "0.1", "--window-s", "2")
        result = self.ok_json("hazard", path, *given)
        self.assertEqual(result["kind"], "hazard")
        self.assertGreater(len(result["windows"]), 1)
        self.assertEqual([w["start_ns"] for w in result["windows"]],
                         [i * 2_000_000_000 for i in range(len(result["windows"]))])
        for key in ("requests", "requests_meeting_a_class_change"):
            self.assertEqual(sum(w[key] for w in result["windows"]), result[key])
        self.assertEqual(result["requests"], 120)
        self.assertGreater(result["expected_flips"], 0)
        self.assertAlmostEqual(result["margins"]["flips_per_exposed_token"],
                               0.4 * 0.1 / (2 * 3.141592653589793) ** 0.5)
        text = self.ok("hazard", path, *given)
        self.assertIn("requests meet a class change", text)
        self.assertIn("expected flips an hour", text)

    def test_margins_are_measured_and_threads_change_nothing(self):
        path = self.file()
        results = [self.ok("hazard", path, "--json", "--threads", threads, "--prompts", "4")
                   for threads in ("1", "2")]
        self.assertEqual(results[0], results[1])
        margins = json.loads(results[0])["margins"]
        self.assertEqual(margins["measured"]["model"], "batchvar_tiny")
        self.assertEqual(margins["measured"]["tokens"], 4 * 64)
        self.assertEqual(margins["measured"]["plan_model"], "llama31_8b")
        self.assertFalse(margins["measured"]["synthetic"])
        self.assertGreater(margins["rms_change"], 0)

    def test_nothing_to_meet(self):
        result = self.ok_json("hazard", self.file(), "--set", "policies=batch_invariant")
        self.assertEqual(result["requests_meeting_a_class_change"], 0)
        self.assertEqual(result["expected_flips"], 0)
        self.assertIsNone(result["margins"])

    def test_mistakes_are_named(self):
        path = self.file()
        self.assertIn("--noise-rms", self.fails(2, "hazard", path, "--margin-density", "1"))
        self.assertIn("--window-s", self.fails(2, "hazard", path, "--window-s", "0"))
        self.assertIn("no model 'nobody'", self.fails(4, "hazard", path, "--weights", "nobody"))

    def test_execute_requests_of_a_trace(self):
        path = self.file("execute: {requests: [r3, r60], weights: batchvar_tiny}\n")
        self.assertIn("ok", self.ok("config", "validate", path))
        self.ok("simulate", path, "--out", "one", "--threads", "1")
        self.ok("simulate", path, "--out", "two", "--threads", "2")
        for name in ("summary.json", "responses.jsonl"):
            self.assertEqual(read_bytes(os.path.join(self.folder, "one", name)),
                             read_bytes(os.path.join(self.folder, "two", name)))
        summary = json.loads(read_bytes(os.path.join(self.folder, "one", "summary.json")))
        self.assertEqual([r["request_id"] for r in summary["executed"]], ["r3", "r60"])
        self.assertEqual(summary["execution"]["plan_model"], "llama31_8b")
        for request in summary["executed"]:
            self.assertEqual(request["rows"],
                             request["prompt_tokens"] + request["output_tokens"] - 1)
        lines = read_bytes(os.path.join(self.folder, "one", "responses.jsonl")).splitlines()
        self.assertEqual([json.loads(line)["arm"] for line in lines],
                         ["alone", "trace", "alone", "trace"])
        text = self.ok("simulate", path)
        self.assertIn("plans borrowed from llama31_8b", text)
        self.assertIn("texts differ from the text alone", text)
        self.assertIn("no request 'x'", self.fails(
            2, "simulate", path, "--set", "execute.requests=[x]"))
        self.assertIn("batchvar simulate", self.fails(2, "config", "expand", path))

    def test_synthetic_weights_are_labelled(self):
        model = ("{name: small, layers: 2, hidden_size: 64, intermediate_size: 128, q_heads: 4, "
                 "kv_heads: 2, head_dim: 16, vocab_size: 256, max_positions: 512}")
        path = self.file("execute: {requests: [r3], weights: synthetic, model: " + model + "}\n")
        self.assertIn("weights are synthetic", self.ok("simulate", path))
        self.assertIn("weights are synthetic", self.ok("hazard", path, "--prompts", "2"))
        trials = ("model: " + model + "\nplan_model: qwen3_8b\ndevice: h100_sxm\nexperiment: "
                  "{weights: {synthetic: {seed: 3}}, prompt_ids: [1, 2, 3], max_tokens: 8, "
                  "trials: 2, arms: [{name: alone}, {name: load, fillers: 20}]}\n")
        path = self.write("exp.yaml", trials)
        self.assertTrue(self.ok_json("experiment", path)["synthetic"])
        self.assertIn("weights are synthetic", self.ok("experiment", path))
        self.assertIn("GB", self.fails(
            2, "experiment", path, "--set", "model.hidden_size=1048576",
            "--set", "model.vocab_size=1000000"))


if __name__ == "__main__":
    main()
