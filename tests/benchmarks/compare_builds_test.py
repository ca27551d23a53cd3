# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from fakes import FakesCase

import compare_builds

# A build whose every start is told in a file; `speed` in samples per second, halved in bf16.
QUERN = """
import json, os, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps([{name!r}, os.environ["OMP_NUM_THREADS"], *words]) + "\\n")
speed = {speed} / (2 if 'train.precision="bf16"' in words else 1)
document = {{"global_batch": 128, "samples_per_s": speed, "peak_gflops": 100.0}}
open(words[words.index("--json") + 1], "w").write(json.dumps(document))
"""


class CompareBuildsTest(FakesCase):
    main = staticmethod(compare_builds.main)

    def build(self, name, speed):
        program = self.program(name, QUERN.format(log=str(self.folder / "log"), name=name, speed=speed))
        return f"{name}={program}"

    def starts(self):
        return [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]

    def test_speed_over_the_first(self):
        out = self.folder / "out.json"
        status, text, errors = self.run_main(self.build("gcc", 128000.0), self.build("clang", 160000.0),
                                             "--workloads", "W1,resnet50", "--rounds", 2, "--json", out)
        self.assertEqual((status, errors), (0, ""))
        self.assertRegex(text, r"(?m)^W1 fp32 +gcc +1000$")
        self.assertRegex(text, r"(?m)^W1 fp32 +clang +800 +1\.250 \(1\.250 to 1\.250\)$")
        found = json.loads(out.read_text())
        self.assertEqual(found["rounds"], 2)
        self.assertEqual([row["recipe"] for row in found["results"]], ["mlp-mnist", "resnet50"])
        self.assertAlmostEqual(found["results"][1]["builds"]["clang"]["ratio"]["median"], 1.25)

    def test_all_in_each_round_with_another_first(self):
        self.assertEqual(self.run_main(self.build("a", 1.0), self.build("b", 1.0), "--workloads", "W7", "--rounds", 2,
                                       "--steps", 5, "--set", "seed=3")[0], 0)
        starts = self.starts()
        self.assertEqual([start[0] for start in starts], ["a", "b", "b", "a"])
        for _, threads, *words in starts:
            self.assertEqual(threads, "1")
            self.assertEqual(words[words.index("--steps") + 1], "5")
            self.assertIn("seed=3", words)

    def test_precisions_one_after_the_other(self):
        status, text, _ = self.run_main(self.build("a", 128000.0), self.build("b", 128000.0), "--workloads", "W1",
                                        "--rounds", 1, "--precision", "fp32,bf16")
        self.assertEqual(status, 0)
        self.assertRegex(text, r"(?m)^W1 bf16 +a +2000$")

    def test_wrong_words(self):
        one = self.build("a", 1.0)
        for words, message in (([one], "two builds or more"), ([one, one], "a name of its own"),
                               ([one, "/bin/quern"], "is not NAME=PROGRAM"),
                               ([one, "b=/x", "--workloads", "gemm"], "unknown 'gemm'")):
            status, _, errors = self.run_main(*words)
            self.assertEqual(status, 2)
            self.assertIn(message, errors)

    def test_a_program_that_cannot_be_started(self):
        status, _, errors = self.run_main(self.build("a", 1.0), f"b={self.folder}/none", "--workloads", "W1")
        self.assertEqual(status, 2)
        self.assertIn("cannot start", errors)


if __name__ == "__main__":
    unittest.main()
