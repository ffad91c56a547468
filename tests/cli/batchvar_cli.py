"""Runs the batchvar binary for the cli tests. Each test file is `python FILE BINARY SOURCE_DIR`."""
import json
import os
import subprocess
import sys
import tempfile
import unittest


class CliTest(unittest.TestCase):
    binary = ""
    source = ""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.addCleanup(self._folder.cleanup)

    def run_cli(self, *arguments, **options):
        return subprocess.run([self.binary, *arguments], capture_output=True, text=True,
                              timeout=300, cwd=options.get("cwd", self.folder))

    def ok(self, *arguments, **options):
        result = self.run_cli(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def ok_json(self, *arguments, **options):
        value = json.loads(self.ok(*arguments, "--json", **options))
        self.assertEqual(value["schema_version"], 1)
        return value

    def fails(self, code, *arguments, **options):
        """Runs a command that must fail with `code`, one line on stderr and nothing on stdout."""
        result = self.run_cli(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.strip().count("\n"), 0, result.stderr)
        return result.stderr

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path

    def experiment(self, name="experiment.yaml", workload="", extra=""):
        workload = workload or ("workload: {arrivals: {process: poisson, rate_per_s: 20}, "
                                "prompt_len: {uniform: {min: 10, max: 900}}, "
                                "output_len: {fixed: 40}, num_requests: 200}\n")
        return self.write(name, "model: llama31_8b\ndevice: h100_sxm\n" + extra + workload)

    def trace(self, rows, name="trace.jsonl"):
        return self.write(name, "".join(json.dumps(row) + "\n" for row in rows))


def request(name, arrival_ns, prompt, output, **more):
    return {"request_id": name, "arrival_ns": arrival_ns, "prompt_tokens": prompt,
            "output_tokens": output, **more}


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    CliTest.binary, CliTest.source = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0]])
