# SPDX-License-Identifier: Apache-2.0
import json
import sys
import unittest

from fakes import FakesCase

import gpu_peers

QUERN = """
import json, sys
words = sys.argv[1:]
out = words[words.index("--json") + 1]
assert any(word.startswith("train.precision=") for word in words), words
speed = 8.0e6 if "train.precision=tf32" in words else 4.0e6
open(out, "w").write(json.dumps({"global_batch": 128, "samples_per_s": speed}))
"""

# Called as python -B SCRIPT RECIPE VARIANT PRECISION STEPS.
PEER = """
import json, os, sys
variant, precision, steps = sys.argv[4:7]
assert os.path.basename(sys.argv[2]) == "torch_gpu_step.py"
print(json.dumps({"version": "fake " + precision}), flush=True)
microseconds = {"eager": 320.0, "compile": 128.0, "graph": 64.0}[variant]
for line in sys.stdin:
    print(json.dumps({"samples": 1, "seconds": 1e-6 * microseconds * int(steps)}), flush=True)
"""


class GpuPeersTest(FakesCase):
    main = staticmethod(gpu_peers.main)

    def setUp(self):
        super().setUp()
        self.quern = self.program("quern", QUERN)
        self.out = self.folder / "out.json"

    def compare(self, *words, python=None):
        return self.run_main("--quern", self.quern, "--python", python or self.program("python", PEER),
                             "--json", self.out, "--rounds", 2, "--steps", 10, *words)

    def test_times_ratios_and_targets(self):
        status, text, errors = self.compare("--workloads", "W1")
        self.assertEqual((status, errors), (0, ""))
        found = json.loads(self.out.read_text())["results"][0]["contenders"]
        times = {name: round(figures["step_us"]["median"], 6) for name, figures in found.items()}
        self.assertEqual(times, {"quern": 32.0, "eager": 320.0, "compile": 128.0, "graph": 64.0})
        self.assertEqual({name: round(figures["ratio"]["median"], 6)
                          for name, figures in found.items() if name != "quern"},
                         {"eager": 10.0, "compile": 4.0, "graph": 2.0})
        self.assertIn("| W1 fp32 | Quern | 32.0 (32.0 to 32.0) | 60 / 30 |  |  |", text)
        self.assertIn("| W1 fp32 | PyTorch eager | 320.0 (320.0 to 320.0) |  | 10.00 (10.00 to 10.00) "
                      "| 5 / 12 |", text)

    def test_precisions_are_passed_on(self):
        status, _, _ = self.compare("--workloads", "W2", "--precision", "fp32,tf32", "--peers", "graph")
        self.assertEqual(status, 0)
        results = json.loads(self.out.read_text())["results"]
        self.assertEqual([result["contenders"]["graph"]["version"] for result in results],
                         ["fake fp32", "fake tf32"])
        self.assertEqual([round(result["contenders"]["quern"]["step_us"]["median"], 6)
                          for result in results], [32.0, 16.0])

    def test_a_python_without_a_gpu_says_so(self):
        python = self.program("python", "import sys; sys.exit('this PyTorch finds no GPU')")
        status, _, errors = self.compare("--workloads", "W1", python=python)
        self.assertEqual(status, 2)
        self.assertRegex(errors, "^gpu_peers: .*this PyTorch finds no GPU")

    def test_wrong_words(self):
        for words in (("--workloads", "W3"), ("--precision", "bf16"), ("--peers", "jax"),
                      ("--rounds", "0")):
            self.assertEqual(self.run_main(*words)[0], 2)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
