"""batchvar sweep: cells, gates, resuming, equal bytes at any number of jobs."""
import csv
import json
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

from batchvar_cli import CliTest, main, read_bytes

BASE = ("base: {model: llama31_8b, device: h100_sxm, workload: {arrivals: {process: poisson, "
        "rate_per_s: 20}, prompt_len: {uniform: {min: 10, max: 900}}, output_len: {fixed: 40}, "
        "num_requests: %d}}\n")
RESULTS = ["cells.csv", "cells.jsonl", "heatmap.svg", "sweep.json"]


class Sweep(CliTest):
    def sweep(self, command, lines, requests=60, name="sweep.yaml"):
        return self.write(name, "schema_version: 1\ncommand: %s\n" % command + BASE % requests
                          + lines)

    def out(self, name):
        return os.path.join(self.folder, name)

    def cells(self, *arguments):
        return [json.loads(line) for line in self.ok("sweep", *arguments, "--json").splitlines()]

    def budget(self, requests=60):
        return self.sweep("simulate", "sweep: {parameters: {scheduler.max_num_batched_tokens: "
                          "[256, 512, 2048], workload.arrivals.rate_per_s: [5, 50]}}\n", requests)

    def same(self, first, second, names):
        for name in names:
            self.assertEqual(read_bytes(os.path.join(self.out(first), name)),
                             read_bytes(os.path.join(self.out(second), name)), name)

    def test_plan_cells(self):
        cells = self.cells(self.sweep(
            "plan", "sweep: {parameters: {device.sm_count: [108, 132], m: [1, 64]}}\n"))
        self.assertEqual([cell["cell"] for cell in cells], [0, 1, 2, 3])
        self.assertEqual(cells[2]["set"], {"device.sm_count": 132, "m": 1})
        self.assertEqual({cell["kind"] for cell in cells}, {"cell"})
        one = self.ok_json("plan", "gemm", "--m", "1", "--n", "4096", "--k", "4096", "--device",
                           "h100_sxm")
        self.assertEqual(cells[2]["result"]["o_proj"], one)

    def test_classes_cells(self):
        cell, = self.cells(self.sweep("classes", "sweep: {parameters: {m: 1..64}}\n"))
        op = next(op for op in cell["result"]["ops"] if op["op"] == "o_proj")
        self.assertEqual([entry["m"] for entry in op["classes"]],
                         [[[1, 16]], [[17, 32]], [[33, 64]]])

    def test_attention_cells_are_what_plan_and_classes_print(self):
        cell, = self.cells(self.sweep(
            "plan", "sweep: {parameters: {m: 3, kv_len: 4096}}\n"))
        one = self.ok_json("plan", "attention", "--kv-len", "4096,4096,4096", "--q-heads", "32",
                           "--kv-heads", "8", "--head-dim", "128", "--device", "h100_sxm")
        got = cell["result"]["attention"]
        self.assertEqual(got["batch"], 3)
        for key in ("num_splits", "pieces", "combine", "class"):
            self.assertEqual(got[key], one["requests"][0][key], key)
        cell, = self.cells(self.sweep(
            "classes", "sweep: {parameters: {m: 1..32, kv_len: [[512, 4096]], q_len: 2}}\n",
            name="classes.yaml"))
        table = self.ok_json("classes", "--model", "llama31_8b", "--device", "h100_sxm", "--m",
                             "1..32", "--kv-len", "512,4096", "--q-len", "2")
        self.assertEqual(cell["result"]["ops"], table["ops"])
        self.assertEqual(cell["result"]["kv_lens"], [512, 4096])

    def test_simulate_cells_are_what_simulate_prints(self):
        cells = self.cells(self.budget())
        experiment = self.write("base.yaml", (BASE % 60).replace("base: ", ""))
        summary = self.ok_json("simulate", experiment, "--set",
                               "scheduler.max_num_batched_tokens=512", "--set",
                               "workload.arrivals.rate_per_s=50")
        self.assertEqual(cells[3]["result"], summary)

    def test_equal_bytes_at_any_number_of_jobs(self):
        sweep = self.budget()
        for jobs in "125":
            self.ok("sweep", sweep, "--out", self.out(jobs), "--jobs", jobs)
        self.same("1", "2", RESULTS)
        self.same("1", "5", RESULTS)
        self.assertEqual(sorted(os.listdir(self.out("1"))), RESULTS)
        for name in RESULTS:
            self.assertNotIn(self.folder.encode(), read_bytes(os.path.join(self.out("1"), name)))

    def test_resume_gives_the_same_bytes(self):
        sweep = self.budget()
        self.ok("sweep", sweep, "--out", self.out("whole"))
        for kept, torn in [(0, b""), (2, b""), (4, b'{"schema_version":1,"ki'), (6, b"")]:
            self.ok("sweep", sweep, "--out", self.out("again"))
            lines = read_bytes(self.out("again") + "/cells.jsonl").splitlines(keepends=True)
            os.remove(self.out("again") + "/cells.jsonl")
            with open(self.out("again") + "/cells.jsonl.partial", "wb") as file:
                file.write(b"".join(lines[:kept]) + torn)
            result = self.run_cli("sweep", sweep, "--out", self.out("again"), "--resume")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual("%d cells" % kept in result.stderr, kept > 0, result.stderr)
            self.same("whole", "again", RESULTS)
            self.assertEqual(sorted(os.listdir(self.out("again"))), RESULTS)

    def test_resume_refuses_another_sweep(self):
        self.ok("sweep", self.budget(), "--out", self.out("a"))
        before = read_bytes(self.out("a") + "/cells.jsonl")
        message = self.fails(2, "sweep", self.budget(requests=61), "--out", self.out("a"),
                             "--resume")
        self.assertIn("another sweep", message)
        self.assertEqual(before, read_bytes(self.out("a") + "/cells.jsonl"))
        self.assertIn("--out", self.fails(2, "sweep", self.budget(), "--resume"))

    def test_resume_refuses_another_table(self):
        head = "gpu,precision,N,K,M,cta_m,cta_n,cta_k,warp_k,instr_k,split_k\n"
        rows = "".join("h100_sxm,TST,%d,%d,1,64,64,64,64,16,%%d\n" % shape for shape in
                       [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (128256, 4096)])
        table = self.write("table.csv", head + rows % (1, 1, 1, 1, 1))
        sweep = self.sweep("plan", "sweep: {parameters: {m: [1], policies.gemm: "
                           "[{name: table, path: %s}]}}\n" % table)
        self.ok("sweep", sweep, "--out", self.out("a"))
        self.ok("sweep", sweep, "--out", self.out("a"), "--resume")
        self.write("table.csv", head + rows % (2, 1, 1, 1, 1))
        self.assertIn("another sweep", self.fails(2, "sweep", sweep, "--out", self.out("a"),
                                                  "--resume"))

    def test_an_interrupted_sweep_ends_with_130_and_goes_on(self):
        sweep = self.sweep("simulate", "sweep: {parameters: {seed: [%s]}}\n"
                           % ", ".join(str(i) for i in range(200)), requests=400)
        process = subprocess.Popen([self.binary, "sweep", sweep, "--out", self.out("a"), "--jobs",
                                    "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        partial = self.out("a") + "/cells.jsonl.partial"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (os.path.exists(partial)
                                                   and os.path.getsize(partial) > 0):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn(b"--resume", stderr)
        lines = read_bytes(partial).splitlines()
        self.assertEqual([json.loads(line)["cell"] for line in lines], list(range(len(lines))))
        self.assertLess(len(lines), 200)
        self.ok("sweep", sweep, "--out", self.out("a"), "--resume")
        self.ok("sweep", sweep, "--out", self.out("b"), "--jobs", "3")
        self.same("a", "b", ["cells.csv", "cells.jsonl", "sweep.json"])

    def test_one_bad_cell_does_not_lose_the_others(self):
        sweep = self.sweep("plan", "sweep: {parameters: {tp: [1, 3, 2], m: [1]}}\n")
        result = self.run_cli("sweep", sweep, "--json")
        self.assertEqual(result.returncode, 2)
        cells = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([("result" in cell, "error" in cell) for cell in cells],
                         [(True, False), (False, True), (True, False)])
        self.assertEqual(cells[1]["error"]["exit_code"], 2)
        self.assertIn("ranks", cells[1]["error"]["message"])
        self.assertEqual(cells[1]["error"]["line"], 4)
        self.assertIn("1 of 3 cells", json.loads(result.stderr)["message"])

    def test_a_missing_trace_is_an_input_error_of_its_cell(self):
        sweep = self.write("t.yaml", "command: simulate\nbase: {model: llama31_8b, device: "
                           "h100_sxm, workload: {trace: {path: none.jsonl, format: jsonl}}}\n"
                           "sweep: {parameters: {seed: [1]}}\n")
        result = self.run_cli("sweep", sweep)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("none.jsonl", result.stdout)

    def test_gate_exit_codes(self):
        sweep = "sweep: {parameters: {device.sm_count: [80, 132], m: [1, 64]}}\n"
        self.ok("sweep", self.sweep("plan", sweep + "gate: o_proj.split_k <= 4\n"))
        result = self.run_cli("sweep", self.sweep(
            "plan", sweep + "gate: \"o_proj.split_k == 1 or device.sm_count < 100\"\n"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("does not hold in 1 of 4 cells: cell 2 (device.sm_count=132, m=1)",
                      result.stderr)
        self.assertIn("fails", result.stdout)
        message = self.fails(2, "sweep", self.sweep("plan", sweep + "gate: o_proj.splits <= 4\n"))
        self.assertIn("did you mean 'o_proj.split_k'?", message)
        self.assertRegex(message, r"sweep.yaml:5:7: gate: ")
        self.fails(2, "sweep", self.sweep("plan", sweep + "gate: o_proj.split_k =< 4\n"))

    def test_unknown_keys_are_refused_before_anything_runs(self):
        message = self.fails(2, "sweep", self.sweep(
            "plan", "sweep: {parameters: {device.sm_cuont: [1], m: [1]}}\n"), "--out",
            self.out("a"))
        self.assertIn("did you mean 'sm_count'?", message)
        self.assertRegex(message, r"sweep.yaml:4:22: ")
        self.assertFalse(os.path.exists(self.out("a")))

    def test_comma_lists_are_keys_of_the_grid(self):
        sweep = self.sweep("plan", "sweep: {parameters: {m: [1]}}\n")
        cells = self.cells(sweep, "--set", "device.sm_count=108,132", "--set", "seed=3")
        self.assertEqual([cell["set"] for cell in cells],
                         [{"m": 1, "device.sm_count": 108}, {"m": 1, "device.sm_count": 132}])

    def test_tables_and_picture(self):
        self.ok("sweep", self.sweep("plan", "sweep: {parameters: {device.sm_count: [108, 132], "
                                    "m: 1..20}}\n"), "--out", self.out("a"))
        with open(self.out("a") + "/cells.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 40)
        self.assertEqual(rows[20]["o_proj.split_k"], "4")
        root = ElementTree.parse(self.out("a") + "/heatmap.svg").getroot()
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        for words in ["sweep: plan over SM count and M", "SM count", "M", "132", "o_proj"]:
            self.assertIn(words, texts)

    def test_eleven_devices_and_policies_are_quick(self):
        devices = sorted(name[:-5] for name in os.listdir(self.source + "/configs/devices"))
        self.assertEqual(len(devices), 11)
        began = time.monotonic()
        cells = self.cells(self.sweep(
            "classes", "sweep: {parameters: {device: [%s], policies: [textbook, batch_invariant], "
            "m: 1..256}}\n" % ", ".join(devices)), "--set", "scheduler.max_model_len=4096")
        self.assertEqual(len(cells), 22)
        self.assertLess(time.monotonic() - began, 20)

    def test_config_shows_the_cells(self):
        sweep = self.sweep("plan", "sweep: {parameters: {device.sm_count: [108], m: [1, 2]}}\n")
        text = self.ok("config", "expand", sweep)
        self.assertIn('  - {cell: 1, set: {"device.sm_count":108,"m":2}}\nbase:\n', text)
        self.assertIn("  device:\n    name: h100_sxm\n", text)
        self.assertIn("ok", self.ok("config", "validate", sweep))
        bad = self.sweep("plan", "sweep: {parameters: {tp: [1, 3], m: [1]}}\n")
        self.assertIn("ranks", self.fails(2, "config", "validate", bad))

    def test_shipped_sweeps_run(self):
        for name in ["sm_count_by_m", "throughput_by_budget"]:
            self.ok("sweep", os.path.join(self.source, "configs", "sweeps", name + ".yaml"),
                    "--out", self.out(name))
            ElementTree.parse(os.path.join(self.out(name), "heatmap.svg"))


if __name__ == "__main__":
    main()
