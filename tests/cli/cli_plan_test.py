"""batchvar plan: the worked numbers, in words and as JSON."""
from batchvar_cli import CliTest, main


class Plan(CliTest):
    def gemm(self, m, n, k, *more):
        return ["plan", "gemm", "--m", str(m), "--n", str(n), "--k", str(k), "--device", "h100_sxm",
                "--policy", "textbook", *more]

    def test_a_full_device_is_not_split(self):
        text = self.ok(*self.gemm(1, 152064, 4096))
        for words in ["152064 / 128 = 1188 blocks", "1188 / 132 = 9 waves", "the device is full",
                      "no split"]:
            self.assertIn(words, text)

    def test_idle_sms_split_k(self):
        text = self.ok(*self.gemm(1, 4096, 4096))
        for words in ["32 blocks leave 100 of 132 SMs idle", "split K = 4096 into 4 x 1024",
                      "128 blocks"]:
            self.assertIn(words, text)
        self.assertIn("one pass", self.ok(*self.gemm(64, 4096, 4096)))

    def test_json_keys(self):
        plan = self.ok_json(*self.gemm(1, 152064, 4096))
        expected = {"kind": "plan", "op": "gemm", "policy": "textbook", "device": "h100_sxm",
                    "sm_count": 132, "m": 1, "n": 152064, "k": 4096, "dtype": "bf16",
                    "tile": {"m": 16, "n": 128, "k": 64}, "ctas": 1188, "waves": 9,
                    "last_wave_ctas": 132, "split_k": 1, "pieces": [[0, 4096]], "combine": "none"}
        self.assertEqual({key: plan[key] for key in expected}, expected)
        self.assertRegex(plan["class"], "^[0-9a-f]{32}$")
        self.assertTrue(plan["explain"] and plan["rejected"])
        self.assertEqual(set(plan["source"]), {"project", "version", "date"})

    def test_classes_follow_orders_not_tiles(self):
        one = self.ok_json(*self.gemm(1, 4096, 4096))["class"]
        self.assertEqual(one, self.ok_json(*self.gemm(16, 4096, 4096))["class"])
        self.assertNotEqual(one, self.ok_json(*self.gemm(17, 4096, 4096))["class"])
        whole = self.ok_json(*self.gemm(64, 4096, 4096))["class"]
        invariant = ["plan", "gemm", "--m", "3", "--n", "4096", "--k", "4096", "--device",
                     "h100_sxm", "--policy", "batch_invariant"]
        self.assertEqual(whole, self.ok_json(*invariant)["class"])

    def test_attention(self):
        plan = self.ok_json("plan", "attention", "--kv-len", "4096,512", "--q-heads", "32",
                            "--kv-heads", "8", "--head-dim", "128", "--device", "h100_sxm")
        self.assertEqual(plan["op"], "attention")
        self.assertEqual([r["kv_len"] for r in plan["requests"]], [4096, 512])
        for r in plan["requests"]:
            self.assertEqual(r["pieces"][0][0], 0)
            self.assertEqual(r["pieces"][-1][1], r["kv_len"])
            self.assertEqual(len(r["pieces"]), r["num_splits"])

    def test_errors(self):
        self.assertIn("did you mean 'h100_sxm'",
                      self.fails(2, "plan", "gemm", "--m", "1", "--n", "1", "--k", "1", "--device",
                                 "h100_smx"))
        self.assertIn("textbook", self.fails(2, "plan", "gemm", "--m", "1", "--n", "1", "--k", "1",
                                             "--device", "h100_sxm", "--policy", "textbok"))
        self.fails(2, *self.gemm(0, 4096, 4096))
        self.fails(2, "plan", "gemm")


if __name__ == "__main__":
    main()
