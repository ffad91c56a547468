"""batchvar explain: the chapter's 3,000-token prompt among 0, 5, 20 and 60 decoding neighbours."""
import os

from batchvar_cli import CliTest, main, request


class Explain(CliTest):
    def run_with(self, neighbours, *more):
        rows = [request("n%d" % i, 0, 16, 400) for i in range(neighbours)]
        rows.append(request("target", 10**9, 3000, 16))
        self.trace(rows)
        experiment = self.experiment(
            extra="scheduler: {max_num_batched_tokens: 512}\n",
            workload="workload: {trace: {path: trace.jsonl, format: jsonl}}\n")
        name = "with%d%s" % (neighbours, "".join(more).replace("=", "_"))
        sets = [part for key in more for part in ("--set", key)]
        self.ok("simulate", experiment, "--out", os.path.join(self.folder, name), *sets)
        return name

    def test_neighbours_move_every_cut(self):
        cuts = {0: "512 x5 + 440", 5: "507 x5 + 465", 20: "492 x6 + 48", 60: "452 x6 + 288"}
        runs = {n: self.run_with(n) for n in cuts}
        for n in [5, 20, 60]:
            text = self.ok("explain", runs[0], runs[n], "--request", "target")
            self.assertIn("%s: prompt of 3,000 tokens cut into %s" % (runs[0], cuts[0]), text)
            self.assertIn("%s: prompt of 3,000 tokens cut into %s" % (runs[n], cuts[n]), text)

    def test_first_difference_names_step_op_and_both_plans(self):
        a, b = self.run_with(0), self.run_with(20)
        out = self.ok_json("explain", a, b, "--request", "target")
        self.assertEqual(out["kind"], "explanation")
        first = out["first_difference"]
        self.assertIn(first["op"], ["qkv_proj", "attention", "o_proj", "down_proj"])
        self.assertNotEqual(first["a"]["class"], first["b"]["class"])
        self.assertNotEqual(first["a"]["pieces"], first["b"]["pieces"])
        text = self.ok("explain", a, b, "--request", "target")
        self.assertIn("First difference: %s" % first["op"], text)

    def test_where_columns_differ_they_are_named(self):
        policies = ("policies={gemm: batch_invariant, attention: batch_invariant, "
                    "allreduce: two_shot}")
        a, b = self.run_with(0, policies, "tp=2"), self.run_with(20, policies, "tp=2")
        first = self.ok_json("explain", a, b, "--request", "target")["first_difference"]
        self.assertEqual(first["op"], "allreduce_attention")
        for entry in first["columns"]:
            self.assertNotEqual(entry["a"]["pieces"], entry["b"]["pieces"])
        self.assertEqual(first["a"]["pieces"], first["columns"][0]["a"]["pieces"])
        self.assertNotEqual(first["a"]["class"], first["b"]["class"])
        text = self.ok("explain", a, b, "--request", "target")
        self.assertIn("columns that differ", text)
        self.assertIn("[%d, %d) summed as" % tuple(first["columns"][0]["columns"]), text)

    def test_a_run_does_not_differ_from_itself(self):
        a = self.run_with(5)
        out = self.ok_json("explain", a, os.path.join(a, "run.binpb"), "--request", "target")
        self.assertIsNone(out["first_difference"])
        self.assertEqual(out["unpaired"], [])
        self.assertTrue(all(op["differ"] == 0 for op in out["ops"]))

    def test_batch_invariant_cures_it(self):
        a = self.run_with(0, "policies=batch_invariant")
        b = self.run_with(20, "policies=batch_invariant")
        out = self.ok_json("explain", a, b, "--request", "target")
        self.assertNotEqual(out["a"]["chunks"], out["b"]["chunks"])
        self.assertIsNone(out["first_difference"])

    def test_errors(self):
        a = self.run_with(5)
        self.assertIn("did you mean 'target'",
                      self.fails(2, "explain", a, a, "--request", "targte"))
        self.fails(4, "explain", a, "nowhere", "--request", "target")
        cut = self.write("cut.binpb", "not a run file")
        self.fails(4, "explain", a, cut, "--request", "target")
        self.fails(2, "explain", a)


if __name__ == "__main__":
    main()
