"""batchvar trace inspect: every shipped sample, and clear errors."""
import os

from batchvar_cli import CliTest, main, request

SAMPLES = {"azure_sample.csv": "azure", "bailian_sample.jsonl": "bailian",
           "burstgpt_sample.csv": "burstgpt", "burstgpt3_sample.csv": "burstgpt",
           "llmservingsim_sample.jsonl": "llmservingsim", "mooncake_sample.jsonl": "mooncake",
           "vidur_sample.csv": "vidur", "sample.jsonl": "jsonl"}


class Trace(CliTest):
    def test_samples(self):
        for name, trace_format in SAMPLES.items():
            path = os.path.join(self.source, "traces", name)
            text = self.ok("trace", "inspect", path, "--format", trace_format)
            self.assertIn("rows", text, name)
            facts = self.ok_json("trace", "inspect", path, "--format", trace_format)
            self.assertEqual(facts["kind"], "trace_statistics")

    def test_errors(self):
        good = self.trace([request("a", 0, 10, 1)])
        self.fails(4, "trace", "inspect", "missing.csv", "--format", "azure")
        self.fails(4, "trace", "inspect", self.folder, "--format", "azure")
        self.fails(4, "trace", "inspect", good, "--format", "azure")
        self.assertIn("azure", self.fails(2, "trace", "inspect", good, "--format", "azur"))
        self.fails(2, "trace", "inspect", good)


if __name__ == "__main__":
    main()
