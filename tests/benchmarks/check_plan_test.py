# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import unittest
from unittest import mock

from fakes import FakesCase

import check_plan

LAUNCHER = """
import os, subprocess, sys
sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, "FAKE_RANKS": sys.argv[1]}).returncode)
"""
# A step of 1000 us shared by the ranks; the plan is right for two, and 20 % off for four. It wants the
# sums that were measured on as many ranks, and is asked on those of a node. Of a split network the messages
# are measured, in place of its gradient; stages are twice as slow, and so are several nodes.
QUERN = """
import json, os, sys
words = sys.argv[1:]
def value(name):
    return words[words.index(name) + 1]
if words[0] == "plan":
    here, nodes = int(value("--ranks-per-node")), int(value("--nodes"))
    assert int(os.environ["FAKE_RANKS"]) == here
    ranks = here * nodes
    assert json.load(open(value("--bench"))) == {"rows": ranks}
    slow = 2 if "parallel.strategy=pipeline" in words else 1
    document = {"steps": [{"step_us": 1}, {"step_us": nodes * slow * 1000 / ranks * (1.2 if ranks == 4 else 1)}]}
elif words[1] == "allreduce":
    if any(word.endswith(".toml") for word in words):
        assert "--after-step" in words
    else:
        assert "4M" in words
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
        self.assertRegex(text, r"(?m)^W2 +samples +256 +2 +500 +500 +\+0\.0 %$")
        self.assertRegex(text, r"(?m)^W2 +samples +256 +4 +300 +250 +\+20\.0 %$")
        results = json.loads(self.out.read_text())["results"]
        self.assertEqual([row["ranks"] for row in results], [2, 4])
        self.assertAlmostEqual(results[1]["error"], 0.2)

    def test_is_content_within_the_limit(self):
        self.assertEqual(self.check("--ranks", "2")[0], 0)
        self.assertEqual(self.check("--limit", "0.25")[0], 0)

    def test_splits(self):
        status, text, _ = self.check("--ranks", "2", "--splits", "samples,pipeline,tensor")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"(?m)^W2 +samples +256 +2 +500 +500 +\+0\.0 %$")
        self.assertRegex(text, r"(?m)^W2 +pipeline +256 +2 +1000 +500 +\+100\.0 %$")
        self.assertRegex(text, r"(?m)^W2 +tensor +256 +2 +500 +500 +\+0\.0 %$")
        self.assertEqual(self.check("--ranks", "2", "--splits", "stages")[0], 2)

    def test_virtual_nodes_have_their_share_of_the_ranks(self):
        with mock.patch.object(check_plan, "virtual_nodes", lambda count: contextlib.nullcontext()):
            status, text, errors = self.check("--ranks", "2", "--virtual-nodes", "2")
            self.assertEqual((status, errors), (1, ""))
            self.assertIn("on 2 virtual nodes", text)
            self.assertRegex(text, r"(?m)^W2 +samples +256 +2 +1000 +500 +\+100\.0 %$")
        status, _, errors = self.check("--ranks", "3", "--virtual-nodes", "2")
        self.assertEqual(status, 2)
        self.assertIn("3 ranks are not as many on each of 2 nodes", errors)

    def test_a_program_that_fails_is_named(self):
        self.quern = self.program("broken", "import sys\nsys.exit('srun: error: task 0\\nquern: error: not so\\nsrun: bye')")
        status, _, errors = self.check()
        self.assertEqual(status, 2)
        self.assertIn("quern: error: not so", errors)

    def test_a_launcher_that_fails_is_quoted(self):
        frame = "-" * 74
        text = f"{frame}\\nmpirun has detected an attempt to run as root.\\n\\nYou can override this.\\n{frame}"
        self.quern = self.program("refused", f"import sys\nsys.exit('{text}')")
        status, _, errors = self.check()
        self.assertEqual(status, 2)
        self.assertIn("mpirun has detected an attempt to run as root.", errors)


if __name__ == "__main__":
    unittest.main()
