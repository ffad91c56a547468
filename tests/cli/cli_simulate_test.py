"""batchvar simulate: results, exit codes, interruption, equal bytes."""
import csv
import json
import os
import signal
import subprocess
import time

from batchvar_cli import CliTest, main, read_bytes, request

RESULTS = ["requests.csv", "run.binpb", "run.json", "summary.json"]


class Simulate(CliTest):
    def out(self, name):
        return os.path.join(self.folder, name)

    def test_two_runs_with_one_seed_give_equal_bytes_at_any_thread_count(self):
        experiment = self.experiment(extra="seed: 7\n")
        for name, threads in [("a", "1"), ("b", "2"), ("c", "7")]:
            self.ok("simulate", experiment, "--out", self.out(name), "--threads", threads)
        for result in RESULTS:
            first = read_bytes(os.path.join(self.out("a"), result))
            self.assertGreater(len(first), 0, result)
            for other in "bc":
                self.assertEqual(first, read_bytes(os.path.join(self.out(other), result)), result)

    def test_another_seed_gives_another_run(self):
        experiment = self.experiment()
        self.ok("simulate", experiment, "--out", self.out("a"))
        self.ok("simulate", experiment, "--out", self.out("b"), "--set", "seed=43")
        self.assertNotEqual(read_bytes(self.out("a") + "/requests.csv"),
                            read_bytes(self.out("b") + "/requests.csv"))

    def test_results_hold_no_path_of_the_machine(self):
        self.experiment()
        self.ok("simulate", "experiment.yaml", "--out", "here")
        for result in RESULTS:
            text = read_bytes(os.path.join(self.folder, "here", result))
            self.assertNotIn(self.folder.encode(), text, result)
            self.assertNotIn(self.source.encode(), text, result)

    def test_a_server_that_dies_leaves_what_was_until_then(self):
        rows = [request("short%d" % i, 0, 16, 60) for i in range(20)]
        rows.append(request("long", 0, 800, 10))
        trace = self.trace(rows)
        scheduler = ("scheduler: {policy: sglang, chunked_prefill_size: 64, "
                     "max_total_tokens: 1440, max_running_requests: 64, enable_mixed_chunk: true, "
                     "schedule_conservativeness: 0.03, output_ends_by: length, "
                     "disable_overlap_schedule: true}\n")
        experiment = self.experiment(
            workload="workload: {trace: {path: %s, format: jsonl}}\n" % os.path.basename(trace),
            extra=scheduler)
        result = self.run_cli("simulate", experiment, "--out", self.out("r"))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("SERVER ERROR", result.stdout)
        self.assertIn("the simulated server failed at step ", result.stderr)
        self.assertIn("KV allocation failed after admission", result.stderr)
        with open(self.out("r") + "/summary.json", encoding="utf-8") as file:
            summary = json.load(file)
        self.assertEqual(summary["server_failure"]["step"], summary["steps"]["count"])
        self.assertEqual(summary["requests"]["interrupted"], 21)
        self.assertGreater(summary["steps"]["count"], 5)
        # The run can still be looked at.
        explained = self.ok_json("explain", self.out("r"), self.out("r"), "--request", "long")
        self.assertGreater(len(explained["a"]["chunks"]), 5)

    def test_summary_counts_and_definitions(self):
        trace = self.trace([request("a", 0, 100, 3), request("b", 5 * 10**9, 50, 1)])
        experiment = self.experiment(
            workload="workload: {trace: {path: %s, format: jsonl}}\n" % os.path.basename(trace))
        summary = self.ok_json("simulate", experiment, "--out", self.out("r"))
        self.assertEqual(summary["kind"], "summary")
        self.assertEqual(summary["requests"]["read"], 2)
        self.assertEqual(summary["requests"]["finished"], 2)
        self.assertEqual(summary["requests"]["interrupted"], 0)
        with open(self.out("r") + "/requests.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["request_id"] for row in rows], ["a", "b"])
        self.assertEqual([row["status"] for row in rows], ["finished", "finished"])
        self.assertEqual(rows[0]["output_tokens"], "3")
        ttft = [int(r["first_token_ns"]) - int(r["arrival_ns"]) for r in rows]
        self.assertAlmostEqual(summary["latency_ms"]["ttft"]["mean"], sum(ttft) / 2 / 1e6, places=6)
        # One request has one token only: a single TPOT, of the other.
        tpot = (int(rows[0]["finish_ns"]) - int(rows[0]["first_token_ns"])) / 2
        self.assertAlmostEqual(summary["latency_ms"]["tpot"]["mean"], tpot / 1e6, places=5)
        self.assertEqual(summary["latency_ms"]["itl"]["count"], 2)
        self.assertEqual(summary["duration_ns"], int(rows[1]["finish_ns"]))
        steps = summary["steps"]
        self.assertEqual(sum(count for _, count in steps["m_histogram"]), steps["count"])
        for classes in summary["classes"].values():
            self.assertEqual(sum(c["steps"] for c in classes), steps["count"])

    def test_run_json_repeats_the_run(self):
        self.experiment()
        self.ok("simulate", "experiment.yaml", "--set", "seed=5", "--out", "one")
        run = json.loads(read_bytes(os.path.join(self.folder, "one", "run.json")))
        self.assertEqual((run["kind"], run["schema_version"], run["seed"]), ("run", 1, 5))
        self.assertEqual(run["config"]["scheduler"]["max_num_batched_tokens"], 8192)
        command = run["environment"]["command"]
        self.assertTrue(command.startswith("batchvar simulate experiment.yaml"), command)
        again = command.replace("batchvar", self.binary, 1) + " --out two"
        subprocess.run(again, shell=True, check=True, cwd=self.folder, capture_output=True)
        for result in RESULTS:
            self.assertEqual(read_bytes(os.path.join(self.folder, "one", result)),
                             read_bytes(os.path.join(self.folder, "two", result)), result)

    def test_prompt_over_the_limit_is_rejected_and_the_run_ends(self):
        self.trace([request("a", 0, 1000, 10), request("big", 5, 300000, 10),
                    request("c", 10, 1000, 10), request("long", 20, 131000, 1000)])
        experiment = self.experiment(
            workload="workload: {trace: {path: trace.jsonl, format: jsonl}}\n")
        summary = self.ok_json("simulate", experiment, "--out", self.out("r"))
        self.assertEqual(summary["requests"]["finished"], 3)
        self.assertEqual(summary["requests"]["rejected"], 1)
        self.assertEqual(summary["requests"]["model_limit"], 1)
        with open(self.out("r") + "/requests.csv", encoding="utf-8") as file:
            rows = {row["request_id"]: row for row in csv.DictReader(file)}
        self.assertEqual(rows["big"]["status"], "rejected")
        self.assertEqual(rows["big"]["finish_ns"], "")
        self.assertEqual(rows["long"]["status"], "model_limit")
        self.assertEqual(int(rows["long"]["output_tokens"]), 131072 - 131000)

    def test_life_of_a_request(self):
        source = os.path.join(self.source, "configs/experiments/long_prompt.yaml")
        text = self.ok("simulate", source, "--request", "target")
        self.assertIn("prefill cut into 492 x6 + 48", text)
        life = self.ok_json("simulate", source, "--request", "target")["request_lives"][0]
        self.assertEqual(life["chunks"], [492] * 6 + [48])
        self.assertEqual(len(life["class_changes"]["o_proj"]), 2)
        message = self.fails(2, "simulate", source, "--request", "targt")
        self.assertIn("did you mean 'target'", message)

    def test_shipped_experiments_run(self):
        for name in ["quickstart", "throughput", "long_prompt"]:
            path = os.path.join(self.source, "configs/experiments", name + ".yaml")
            summary = self.ok_json("simulate", path)
            self.assertEqual(summary["requests"]["finished"], summary["requests"]["read"], name)

    def test_teaching_schedulers(self):
        for policy in ["static", "orca"]:
            experiment = self.experiment(
                extra="scheduler: {policy: %s, max_num_seqs: 8, max_model_len: 2048}\n" % policy)
            summary = self.ok_json("simulate", experiment)
            self.assertEqual(summary["requests"]["finished"], 200)

    def test_input_errors_exit_4_and_leave_nothing_complete(self):
        good = self.trace([request("a", 0, 10, 1)], "good.jsonl")
        self.write("empty.jsonl", "")
        os.mkdir(os.path.join(self.folder, "folder"))
        cases = {"missing.jsonl": "jsonl", "folder": "jsonl", "empty.jsonl": "jsonl",
                 os.path.basename(good): "azure"}
        for path, trace_format in cases.items():
            experiment = self.experiment(
                workload="workload: {trace: {path: %s, format: %s}}\n" % (path, trace_format))
            message = self.fails(4, "simulate", experiment, "--out", self.out("r"))
            self.assertIn(path, message)
            for result in RESULTS:
                self.assertFalse(os.path.exists(os.path.join(self.out("r"), result)), path)

    def test_an_error_object_with_json(self):
        experiment = self.experiment(
            workload="workload: {trace: {path: missing.jsonl, format: jsonl}}\n")
        error = json.loads(self.fails(4, "simulate", experiment, "--json"))
        self.assertEqual((error["kind"], error["exit_code"]), ("error", 4))
        self.assertTrue(error["file"].endswith("missing.jsonl"))
        experiment = self.experiment(extra="sceduler: vllm_v1\n")
        error = json.loads(self.fails(2, "simulate", experiment, "--json"))
        self.assertEqual((error["exit_code"], error["line"], error["column"]), (2, 3, 1))
        self.assertIn("did you mean 'scheduler'", error["message"])

    def test_usage_errors_exit_2(self):
        self.assertIn("did you mean 'simulate'", self.fails(2, "simulat", "x.yaml"))
        self.fails(2, "simulate")
        self.fails(2, "simulate", "missing.yaml")
        self.fails(2, "simulate", self.experiment(), "--threads", "0")
        self.fails(2, "simulate", self.experiment(), "--set", "scheduler.max_num_seq=3")

    def test_a_livelock_is_an_error_and_not_a_hang(self):
        experiment = self.experiment(
            extra="scheduler: {max_num_batched_tokens: 12, max_num_seqs: 8, max_model_len: 32, "
                  "block_size: 4, num_gpu_blocks: 9, long_prefill_token_threshold: 4, "
                  "scheduler_reserve_full_isl: false, priority: priority, "
                  "enable_prefix_caching: false, async_scheduling: false}\n",
            workload="workload: {arrivals: {process: all_at_once}, prompt_len: {fixed: 28}, "
                     "output_len: {fixed: 1}, num_requests: 3}\n")
        message = self.fails(2, "simulate", experiment, "--out", self.out("r"))
        self.assertIn("scheduler_reserve_full_isl", message)
        self.assertFalse(os.path.exists(os.path.join(self.out("r"), "run.binpb")))

    def test_a_full_disk_is_an_error(self):
        experiment = self.experiment()
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([self.binary, "simulate", experiment], stdout=full,
                                    stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 4)

    def test_sigint_leaves_a_partial_run_marked_interrupted(self):
        experiment = self.experiment(
            workload="workload: {arrivals: {process: poisson, rate_per_s: 3}, "
                     "prompt_len: {fixed: 1000}, output_len: {fixed: 250}, "
                     "num_requests: 100000000}\n")
        process = subprocess.Popen([self.binary, "simulate", experiment, "--out", self.out("r")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        partial = os.path.join(self.out("r"), "run.binpb.partial")
        deadline = time.monotonic() + 60
        while not (os.path.exists(partial) and os.path.getsize(partial) > 100000):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"INTERRUPTED", stdout)
        self.assertTrue(json.loads(read_bytes(self.out("r") + "/run.json"))["interrupted"])
        summary = json.loads(read_bytes(self.out("r") + "/summary.json"))
        self.assertTrue(summary["interrupted"])
        self.assertGreater(summary["requests"]["finished"], 0)


if __name__ == "__main__":
    main()
