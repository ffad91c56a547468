"""batchvar classes: boundaries of M, the strip, words for two M, and the gates of a CI."""
import json
import os

from batchvar_cli import CliTest, main


class Classes(CliTest):
    def arguments(self, *more, model="llama31_8b", device="h100_sxm"):
        return ["classes", "--model", model, "--device", device, *more]

    def table(self, *more, **where):
        return self.ok_json(*self.arguments(*more, **where))

    def op(self, table, name):
        return next(op for op in table["ops"] if op["op"] == name)

    def ranges(self, table, name):
        return [one["m"] for one in self.op(table, name)["classes"]]

    def gate(self, *arguments):
        """Runs a gate that must fail: the data on stdout as ever, the reason on stderr."""
        result = self.run_cli(*arguments)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertNotEqual(result.stdout, "")
        return result

    def baseline(self, *more):
        return self.write("baseline.json", self.ok(*self.arguments(*more, "--json")))

    def test_textbook_boundaries_of_llama_on_an_h100(self):
        table = self.table("--policies", "textbook", "--m", "1..256")
        self.assertEqual(self.ranges(table, "qkv_proj"), [[[1, 16]], [[17, 256]]])
        self.assertEqual(self.ranges(table, "o_proj"), [[[1, 16]], [[17, 32]], [[33, 256]]])
        self.assertEqual(self.ranges(table, "gate_up_proj"), [[[1, 256]]])
        self.assertEqual([one["split_k"] for one in self.op(table, "o_proj")["classes"]], [4, 2, 1])

    def test_json_keys(self):
        table = self.table("--m", "1,2,4..8,33", "--kv-len", "4096,128", "--tp", "2")
        expected = {"kind": "classes", "model": "llama31_8b", "device": "h100_sxm",
                    "sm_count": 132, "policies": "textbook", "tp": 2, "dtype": "bf16",
                    "padding": "exact", "m": [[1, 2], [4, 8], [33, 33]], "kv_lens": [128, 4096],
                    "q_len": 1}
        self.assertEqual({key: table[key] for key in expected}, expected)
        names = [op["op"] for op in table["ops"]]
        self.assertEqual(names[:5], ["rms_norm_in", "qkv_proj", "attention", "attention", "o_proj"])
        self.assertIn("allreduce_mlp", names)
        self.assertEqual(names[-2:], ["lm_head", "softmax_or_argmax"])
        for op in table["ops"]:
            rows = "batch" if op["op"] == "attention" else "m"
            firsts = [one[rows][0][0] for one in op["classes"]]
            self.assertEqual(firsts, sorted(firsts))
            for one in op["classes"]:
                self.assertRegex(one["class"], "^[0-9a-f]{32}$")
        self.assertEqual(self.ranges(table, "rms_norm_in"), [[[1, 33]]])

    def test_class_digests_are_those_of_plan(self):
        table = self.table("--m", "8")
        plan = self.ok_json("plan", "gemm", "--m", "8", "--n", "4096", "--k", "4096", "--device",
                            "h100_sxm", "--policy", "textbook")
        self.assertEqual(self.op(table, "o_proj")["classes"][0]["class"], plan["class"])

    def test_attention_by_batch_and_kv_length(self):
        table = self.table("--m", "1..16", "--kv-len", "128,4096")
        short, long = [op for op in table["ops"] if op["op"] == "attention"]
        self.assertEqual((short["kv_len"], long["kv_len"]), (128, 4096))
        self.assertEqual(short["classes"][0]["batch"], [[1, 16]])
        splits = [(one["batch"], one["num_splits"]) for one in long["classes"]]
        self.assertEqual(splits[0], ([[1, 1]], 16))
        self.assertEqual(splits[-1], ([[9, 16]], 1))
        plan = self.ok_json("plan", "attention", "--kv-len", "4096,4096", "--q-heads", "32",
                            "--kv-heads", "8", "--head-dim", "128", "--device", "h100_sxm")
        self.assertEqual(long["classes"][1]["class"], plan["requests"][0]["class"])

    def test_table_and_strip(self):
        text = self.ok(*self.arguments("--m", "1..48"))
        self.assertIn("llama31_8b on h100_sxm (132 SMs), tp 1, bf16, policies textbook", text)
        strip = [line.split() for line in text.splitlines() if line.startswith("  o_proj ")][-1]
        self.assertEqual(strip, ["o_proj", "A" * 16 + "B" * 16 + "C" * 16])
        self.assertTrue(all(ord(letter) < 128 for letter in text))
        wide = self.ok(*self.arguments("--m", "1..8192"))
        self.assertIn("one column:", wide)
        for line in wide[wide.index("\n\n  M "):].splitlines():
            self.assertLessEqual(len(line), 80)

    def test_padding_shows_what_the_body_sees(self):
        table = self.table("--m", "1..24", "--padding", "capture", "--set",
                           "scheduler.capture_sizes=[1, 8, 24]")
        self.assertEqual(self.ranges(table, "qkv_proj"), [[[1, 8]], [[9, 24]]])

    def test_compare_in_words(self):
        text = self.ok(*self.arguments("--compare", "8,33"))
        self.assertIn("o_proj: M = 8: 16x128x64 tile, K split in 4 at 1024, 2048, 3072; "
                      "M = 33: 16x128x64 tile, one pass\n", text)
        self.assertNotIn("gate_up_proj", text)
        self.assertIn("every op has the same class", self.ok(*self.arguments("--compare", "8,9")))
        differ = self.table("--compare", "8,33", "--kv-len", "4096")["compare"]["differ"]
        self.assertEqual([one["op"] for one in differ],
                         ["qkv_proj", "attention", "o_proj", "down_proj"])

    def test_the_invariance_gate(self):
        invariant = ["--policies", "batch_invariant", "--kv-len", "128,4096", "--require",
                     "invariant"]
        for one in self.table(*invariant)["ops"]:
            self.assertEqual(len(one["classes"]), 1)
        self.ok(*self.arguments(*invariant))
        failed = self.gate(*self.arguments("--require", "invariant"))
        self.assertIn("qkv_proj has 2 classes", failed.stderr)
        self.assertIn("M = 17", failed.stderr)
        failed = self.gate(*self.arguments("--require", "invariant", "--json"))
        self.assertEqual(json.loads(failed.stdout)["kind"], "classes")
        error = json.loads(failed.stderr)
        self.assertEqual((error["kind"], error["exit_code"]), ("error", 1))
        self.ok(*self.arguments("--require", "invariant", "--m", "1..16"))
        failed = self.gate(*self.arguments("--require", "invariant", "--m", "1..16", "--kv-len",
                                           "4096"))
        self.assertIn("attention kv 4096", failed.stderr)

    def test_a_model_that_leaves_no_room_for_a_kv_cache(self):
        table = self.table("--kv-len", "1000", model="llama3_70b")
        self.assertEqual(self.op(table, "qkv_proj")["n"], 10240)

    def test_baseline_equal(self):
        path = self.baseline("--kv-len", "4096")
        table = self.table("--kv-len", "4096", "--baseline", path)
        self.assertEqual(table["moved"], [])
        self.ok(*self.arguments("--kv-len", "4096", "--baseline", path))

    def test_baseline_moved(self):
        path = self.baseline()
        other = ["--baseline", path, "--set", "device.sm_count=108"]
        failed = self.gate(*self.arguments(*other))
        for words in ["o_proj: M = 1..16 moved from class ", "(first M 1, K in 4) to class ",
                      "o_proj: M = 17..32 moved from class ", "(first M 17, one pass)",
                      "o_proj: class boundaries were M = 17, 33, now M = 17"]:
            self.assertIn(words, failed.stderr)
        failed = self.gate(*self.arguments(*other, "--json"))
        moved = json.loads(failed.stdout)["moved"]
        self.assertEqual([(one["op"], one["m"]) for one in moved],
                         [("o_proj", [1, 16]), ("o_proj", [17, 32]),
                          ("down_proj", [1, 16]), ("down_proj", [17, 32])])
        self.assertEqual(json.loads(failed.stderr)["exit_code"], 1)

    def test_baseline_of_something_else(self):
        path = self.baseline()
        self.assertIn("tp is 1, not 2", self.fails(2, *self.arguments("--baseline", path, "--tp",
                                                                      "2")))
        self.assertIn("1..256, not 1..8",
                      self.fails(2, *self.arguments("--baseline", path, "--m", "1..8")))
        self.assertIn("model is llama31_8b, not qwen3_8b",
                      self.fails(2, *self.arguments("--baseline", path, model="qwen3_8b")))

    def test_baseline_unreadable(self):
        missing = os.path.join(self.folder, "missing.json")
        self.assertIn("missing.json", self.fails(4, *self.arguments("--baseline", missing)))
        bad = self.write("bad.json", '{"schema_version": 1,\n "kind": ')
        self.assertIn("bad.json:2:", self.fails(4, *self.arguments("--baseline", bad)))
        table = json.loads(self.ok(*self.arguments("--json")))
        del table["ops"][1]["classes"][0]["m"]
        bad = self.write("bad.json", json.dumps(table))
        self.assertIn("ops[1].classes[0].m: is missing",
                      self.fails(4, *self.arguments("--baseline", bad)))

    def test_errors(self):
        self.assertIn("did you mean 'llama31_8b'",
                      self.fails(2, *self.arguments(model="lama31_8b")))
        self.assertIn("did you mean 'textbook'",
                      self.fails(2, *self.arguments("--policies", "textbok")))
        message = self.fails(2, *self.arguments("--tp", "3"))
        self.assertIn("batchvar: tp: llama31_8b cannot be cut into 3 ranks", message)
        for text, words in [("0", "'0'"), ("8..1", "backwards"), ("1,,2", "''"),
                            ("1..2..3", "'1..2..3'"), ("1..99999999", "65536")]:
            self.assertIn(words, self.fails(2, *self.arguments("--m", text)))
        self.assertIn("--q-len", self.fails(2, *self.arguments("--q-len", "2")))
        self.assertIn("--q-len", self.fails(2, *self.arguments("--q-len", "9", "--kv-len", "8")))
        self.assertIn("--compare", self.fails(2, *self.arguments("--compare", "8")))
        self.assertIn("invariant", self.fails(2, *self.arguments("--require", "sameness")))
        self.assertIn("sm_count", self.fails(2, *self.arguments("--set", "device.sm_cuont=3")))
        self.fails(2, "classes", "--device", "h100_sxm")


if __name__ == "__main__":
    main()
