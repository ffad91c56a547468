"""batchvar config validate, expand, init."""
import os

from batchvar_cli import CliTest, main, read_bytes


class Config(CliTest):
    def test_validate(self):
        path = self.experiment()
        self.assertIn("ok", self.ok("config", "validate", path))
        bad = {"seed: 010\n": "010", "seed: 1\nseed: 2\n": "seed",
               "scheduler: {async_scheduling: no}\n": "false",
               "scheduler: {max_num_seq: 3}\n": "did you mean 'max_num_seqs'",
               "tp: 3000000000\n": "tp", "dtype: bf61\n": "bf16"}
        for text, words in bad.items():
            message = self.fails(2, "config", "validate", self.experiment(extra=text))
            self.assertIn(words, message)
            self.assertRegex(message, r"experiment.yaml:\d+:\d+: ")

    def test_expand_reads_back_to_the_same_bytes(self):
        first = self.ok("config", "expand", self.experiment(), "--set", "scheduler.max_num_seqs=64")
        self.assertIn("max_num_seqs: 64", first)
        again = self.write("expanded.yaml", first)
        self.assertEqual(first, self.ok("config", "expand", again))

    def test_init_writes_a_file_that_validates_and_never_overwrites(self):
        path = os.path.join(self.folder, "new.yaml")
        self.ok("config", "init", path)
        self.ok("config", "validate", path)
        before = read_bytes(path)
        self.assertNotEqual(self.run_cli("config", "init", path).returncode, 0)
        self.assertEqual(before, read_bytes(path))


if __name__ == "__main__":
    main()
