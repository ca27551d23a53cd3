# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from fakes import FakesCase

import startup

# Tells in a file beside itself how it was started.
LAUNCHER = """
import json, sys
with open(sys.argv[0] + ".log", "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(3 if sys.argv[1] == "7" and "--dry-run" not in sys.argv else 0)
"""


class StartupTest(FakesCase):
    main = staticmethod(startup.main)

    def setUp(self):
        super().setUp()
        self.launcher = f"{self.program('launch', LAUNCHER)} {{ranks}}"

    def start(self, *words):
        return self.run_main("--launcher", self.launcher, "--quern", "quern", *words)

    def test_a_row_for_each_number_of_ranks(self):
        status, text, errors = self.start("--ranks", "1,64", "--rounds", 2)
        self.assertEqual((status, errors), (0, ""))
        self.assertRegex(text, r"(?m)^     1( +\d+\.\d\d){4}$")
        self.assertRegex(text, r"(?m)^    64( +\d+\.\d\d){4}$")
        starts = [json.loads(line) for line in (self.folder / "launch.log").read_text().splitlines()]
        self.assertEqual([start[0] for start in starts], ["1"] * 4 + ["64"] * 4)
        self.assertEqual(["--dry-run" in start for start in starts], [True, False] * 4)
        self.assertEqual(len({start[-1] for start in starts if "--run-dir" in start}), 4)

    def test_a_start_that_fails_is_told(self):
        status, _, errors = self.start("--ranks", "7", "--rounds", 1)
        self.assertEqual(status, 2)
        self.assertIn("failed with exit status 3", errors)

    def test_no_launcher(self):
        status, _, errors = self.run_main("--launcher", "/nowhere/mpirun", "--ranks", "1")
        self.assertEqual(status, 2)
        self.assertIn("cannot start /nowhere/mpirun", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
