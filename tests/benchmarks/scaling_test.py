# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from fakes import FakesCase

import scaling

# mpirun -n R: passes the number on. Quern: 1000 us, shared among the ranks; fast is a tenth quicker,
# and every start is told in a file beside the program.
LAUNCHER = """
import os, subprocess, sys
with open(sys.argv[0] + ".log", "a") as log:
    log.write("launched\\n")
sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, "FAKE_RANKS": sys.argv[1]}).returncode)
"""
QUERN = """
import json, os, sys
words = sys.argv[1:]
settings = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
ranks = int(os.environ["FAKE_RANKS"])
with open(sys.argv[0] + ".log", "a") as log:
    log.write(json.dumps([ranks, *settings, os.environ["OMP_NUM_THREADS"]]) + "\\n")
time = 1000.0 / ranks * (0.9 if "train.determinism=fast" in settings else 1.0)
document = {"machine": {"ranks": ranks}, "step_us": time}
open(words[words.index("--json") + 1], "w").write(json.dumps(document))
"""


class ScalingTest(FakesCase):
    main = staticmethod(scaling.main)

    def setUp(self):
        super().setUp()
        self.quern = self.program("quern", QUERN)
        self.launcher = f"{self.program('launch', LAUNCHER)} {{ranks}}"
        self.out = self.folder / "out.json"

    def scale(self, *words, launcher=None):
        return self.run_main("--quern", self.quern, "--launcher", launcher or self.launcher,
                             "--json", self.out, "--rounds", 3, *words)

    def starts(self):
        return [json.loads(line) for line in (self.folder / "quern.log").read_text().splitlines()]

    def test_speedup_efficiency_and_cost(self):
        status, text, errors = self.scale("--workloads", "W2", "--ranks", 4)
        self.assertEqual((status, errors), (0, ""))
        found = json.loads(self.out.read_text())["results"][0]
        self.assertEqual(found["fast"]["one_rank_us"]["median"], 900.0)
        self.assertEqual(found["rank-invariant"]["ranks_us"]["median"], 250.0)
        self.assertAlmostEqual(found["fast"]["speedup"]["median"], 4.0)
        self.assertAlmostEqual(found["fast"]["efficiency"], 1.0)
        self.assertAlmostEqual(found["rank_invariant_over_fast"]["4"]["median"], 1 / 0.9)
        self.assertRegex(text, r"(?m)^W2 +256  rank-invariant +1000 +250 +4\.00 \(4\.00 to 4\.00\) "
                               r"+100 % +\+11\.1 % \(\+11\.1 to \+11\.1\)$")

    def test_the_same_batch_on_one_rank_and_on_several(self):
        self.assertEqual(self.scale("--workloads", "W1", "--ranks", 3)[0], 0)
        starts = self.starts()
        self.assertEqual(len(starts), 12)
        self.assertEqual({start[1] for start in starts}, {"data.global_batch=384"})
        self.assertEqual({start[3] for start in starts}, {"1"})
        # Each round begins with another.
        self.assertEqual(len({tuple(start) for start in starts[::4]}), 3)

    def test_threads_of_one_rank(self):
        self.quern.write_text(self.quern.read_text().replace(
            'ranks = int(os.environ["FAKE_RANKS"])',
            'ranks = int(os.environ.get("FAKE_RANKS", 1))').replace(
            'time = 1000.0 / ranks', 'time = 1000.0 / ranks / (1 + 0.25 * (int(os.environ["OMP_NUM_THREADS"]) - 1))'))
        status, text, errors = self.scale("--workloads", "W1", "--ranks", 3, "--threads")
        self.assertEqual((status, errors), (0, ""))
        found = json.loads(self.out.read_text())["results"][0]
        self.assertAlmostEqual(found["threads"]["speedup"]["median"], 1.5)
        self.assertRegex(text, r"(?m)^W1 +384  3 threads +1000 +667 +1\.50 \(1\.50 to 1\.50\) +50 %$")
        threads = [start for start in self.starts() if start[3] == "3"]
        self.assertEqual(threads, [[1, "data.global_batch=384", "train.determinism=rank-invariant", "3"]] * 3)
        # Not by the launcher, which binds a rank to one core.
        self.assertEqual((self.folder / "launch.log").read_text().count("launched"), 12)

    def test_another_batch(self):
        self.assertEqual(self.scale("--workloads", "W7", "--batch", 640)[0], 0)
        self.assertEqual(self.starts()[0][1], "data.global_batch=640")

    def test_a_launcher_that_starts_single_ranks(self):
        launcher = self.launcher.replace("{ranks}", "1")
        status, _, errors = self.scale("--workloads", "W1", launcher=launcher)
        self.assertEqual(status, 2)
        self.assertIn("ran on 1 rank(s), expected 2: see --launcher", errors)

    def test_one_rank_is_no_comparison(self):
        self.assertEqual(self.scale("--ranks", 1)[0], 2)

    def test_a_program_that_is_not_there(self):
        status, _, errors = self.scale("--workloads", "W1", launcher="/nowhere/mpirun {ranks}")
        self.assertEqual(status, 2)
        self.assertIn("cannot start /nowhere/mpirun", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
