"""batchvar experiment: the chapter's arms on the embedded model, its files, its messages."""
import json
import os

from batchvar_cli import CliTest, main, read_bytes

HEAD = ("model: batchvar_tiny\nplan_model: qwen3_8b\ndevice: h100_sxm\npolicies: vllm_h100\n"
        "experiment:\n  prompt: \"<|endoftext|>Describe a garden.\\n\"\n  max_tokens: 24\n"
        "  trials: 3\n  arms:\n")


class Experiment(CliTest):
    def file(self, arms, more=""):
        return self.write("exp.yaml", more + HEAD + arms)

    def test_arms_are_reported(self):
        path = self.file("    - {name: alone}\n    - {name: load, fillers: 20}\n")
        result = self.ok_json("experiment", path)
        self.assertEqual(result["kind"], "experiment")
        self.assertEqual(result["plan_model"], "qwen3_8b")
        self.assertEqual([arm["name"] for arm in result["arms"]], ["alone", "load"])
        self.assertEqual(result["arms"][0]["distinct"], 1)
        self.assertEqual(result["arms"][0]["batch"], {"min": 1, "p50": 1, "max": 1})
        self.assertGreater(result["arms"][1]["batch"]["p50"], 5)
        self.assertTrue(all(arm["repeat_identical"] for arm in result["arms"]))
        self.assertEqual(len(result["margins"]), 24)
        text = self.ok("experiment", path)
        self.assertIn("plans borrowed from qwen3_8b", text)
        self.assertIn("verdict: ", text)

    def test_files_are_the_same_bytes_at_any_thread_count(self):
        path = self.file("    - {name: alone}\n    - {name: load, fillers: 20}\n")
        for threads in ("1", "2"):
            self.ok("experiment", path, "--once", "--threads", threads, "--out", "out" + threads)
        for name in ("experiment.json", "experiment.binpb", "responses.jsonl"):
            self.assertEqual(read_bytes(os.path.join(self.folder, "out1", name)),
                             read_bytes(os.path.join(self.folder, "out2", name)))
        with open(os.path.join(self.folder, "out1", "responses.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(len(lines), 6)
        self.assertEqual(len(lines[0]["token_ids"]), 24)

    def test_fillers_that_finish_early_are_inconclusive(self):
        path = self.file("    - {name: alone}\n    - {name: load, fillers: 63}\n")
        result = self.run_cli("experiment", path, "--once", "--set", "experiment.window_s=60")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("inconclusive: the fillers had finished", result.stdout)

    def test_sweeps_have_a_cell_each(self):
        base = self.file("    - {name: alone}\n    - {name: load, fillers: 20}\n")
        sweep = self.write("sweep.yaml", (
            "base: %s\ncommand: experiment\ngate: arms.alone.distinct == 1\n"
            "sweep: {parameters: {device.sm_count: [78, 132], experiment.max_tokens: [4, 8]}}\n")
            % base)
        self.ok("sweep", sweep, "--out", "one", "--jobs", "1")
        self.ok("sweep", sweep, "--out", "two", "--jobs", "2")
        for name in ("cells.jsonl", "cells.csv", "heatmap.svg"):
            self.assertEqual(read_bytes(os.path.join(self.folder, "one", name)),
                             read_bytes(os.path.join(self.folder, "two", name)))
        with open(os.path.join(self.folder, "one", "cells.jsonl"), encoding="utf-8") as file:
            cells = [json.loads(line) for line in file]
        self.assertEqual([cell["set"]["device.sm_count"] for cell in cells], [78, 78, 132, 132])
        # A cell is what `experiment` prints with the same keys.
        alone = self.ok_json("experiment", base, "--set", "device.sm_count=132",
                             "--set", "experiment.max_tokens=8")
        self.assertEqual(cells[3]["result"], alone)
        text = self.ok("sweep", sweep)
        self.assertIn("load texts", text)
        self.assertIn("did you mean 'arms.load.distinct'", self.fails(
            2, "sweep", self.write("gate.yaml", "base: %s\ncommand: experiment\n"
                                   "gate: arms.load.distnct == 1\n"
                                   "sweep: {parameters: {tp: [1]}}\n" % base)))

    def test_the_expanded_file_is_the_same_experiment(self):
        path = self.file("    - {name: alone}\n    - {name: load, fillers: 20}\n")
        expanded = self.write("expanded.yaml", self.ok("config", "expand", path))
        self.assertEqual(self.ok("experiment", path, "--json"),
                         self.ok("experiment", expanded, "--json"))

    def test_mistakes_are_named(self):
        alone = "    - {name: alone}\n"
        self.assertIn("did you mean 'o_proj'", self.fails(
            2, "experiment", self.file(alone), "--pin", "o_prj"))
        self.assertIn("no model 'nobody'", self.fails(
            4, "experiment", self.file(alone), "--set", "model=nobody"))
        self.assertIn("plan_model", self.fails(
            2, "experiment", self.write("own.yaml", (HEAD + alone).replace(
                "plan_model: qwen3_8b\n", "").replace("model: batchvar_tiny", "model: qwen3_8b")
                .replace("  prompt:", "  weights: batchvar_tiny\n  prompt:"))))
        self.assertIn("experiment", self.fails(
            2, "experiment", self.write("none.yaml", "model: qwen3_8b\ndevice: h100_sxm\n")))


if __name__ == "__main__":
    main()
