# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from fakes import FakesCase

import check_plan

LAUNCHER = """
import os, subprocess, sys
sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, "FAKE_RANKS": sys.argv[1]}).returncode)
"""
# A step of 1000 us shared by the ranks; the plan is right for two, and 20 % off for four. It wants the
# sums that were measured on as many ranks.
QUERN = """
import json, os, sys
words = sys.argv[1:]
def value(name):
    return words[words.index(name) + 1]
if words[0] == "plan":
    ranks = int(value("--ranks-per-node"))
    assert json.load(open(value("--bench"))) == {"rows": ranks}
    document = {"steps": [{"step_us": 1000 / ranks * (1.2 if ranks == 4 else 1)}]}
elif words[1] == "allreduce":
    document = {"rows": int(os.environ["FAKE_RANKS"])}
else:
    document = {"step_us": 1000 / int(os.environ["FAKE_RANKS"])}
open(value("--json"), "w").write(json.dumps(document))
"""


class CheckPlanTest(FakesCase):
    main = staticmethod(check_plan.main)

    def setUp(self):
        super().setUp()
        self.quern = self.program("quern", QUERN)
        self.launcher = f"{self.program('launch', LAUNCHER)} {{ranks}}"
        self.out = self.folder / "out.json"

    def check(self, *words):
        return self.run_main("--quern", self.quern, "--launcher", self.launcher, "--json", self.out,
                             "--rounds", 2, "--workloads", "W2", *words)

    def test_says_how_far_it_is_off(self):
        status, text, errors = self.check()
        self.assertEqual((status, errors), (1, ""))
        self.assertRegex(text, r"(?m)^W2 +256 +2 +500 +500 +\+0\.0 %$")
        self.assertRegex(text, r"(?m)^W2 +256 +4 +300 +250 +\+20\.0 %$")
        results = json.loads(self.out.read_text())["results"]
        self.assertEqual([row["ranks"] for row in results], [2, 4])
        self.assertAlmostEqual(results[1]["error"], 0.2)

    def test_is_content_within_the_limit(self):
        self.assertEqual(self.check("--ranks", "2")[0], 0)
        self.assertEqual(self.check("--limit", "0.25")[0], 0)

    def test_a_program_that_fails_is_named(self):
        self.quern = self.program("broken", "import sys\nsys.exit('quern: error: no')")
        status, _, errors = self.check()
        self.assertEqual(status, 2)
        self.assertIn("no", errors)


if __name__ == "__main__":
    unittest.main()
