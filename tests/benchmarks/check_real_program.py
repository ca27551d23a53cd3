# SPDX-License-Identifier: Apache-2.0
"""scaling.py, startup.py and split_ways.py with the program of this build: check_real_program.py PROGRAM MPIEXEC."""
import json
import re
import sys

from fakes import ROOT, FakesCase, unittest

import scaling
import split_ways
import startup

PROGRAM, MPIEXEC = sys.argv[1:3]
COMMON = ("--quern", PROGRAM, "--launcher", f"{MPIEXEC} -n {{ranks}}", "--rounds", 1)


class ScalingTest(FakesCase):
    main = staticmethod(scaling.main)

    def test_each_mode_on_one_rank_and_on_two(self):
        out = self.folder / "out.json"
        status, text, errors = self.run_main(*COMMON, "--workloads", "W1", "--steps", 5, "--json", out)
        self.assertEqual((status, errors), (0, ""))
        found = json.loads(out.read_text())["results"][0]
        self.assertEqual(found["global_batch"], 256)
        for mode in ("rank-invariant", "fast"):
            one, two = (found[mode][key]["median"] for key in ("one_rank_us", "ranks_us"))
            self.assertGreater(min(one, two), 1)
            self.assertLess(max(one, two), 10e6)
            self.assertAlmostEqual(found[mode]["speedup"]["median"], one / two)
            self.assertRegex(text, rf"(?m)^W1 +256  {mode} +{one:.0f} +{two:.0f} ")

    def test_what_the_program_refuses_is_told(self):
        recipe = (ROOT / "recipes/mlp-mnist.toml").read_text()
        (self.folder / "mlp-mnist.toml").write_text(recipe.replace("\nlr =", "\nlrr ="))
        status, _, errors = self.run_main(*COMMON, "--workloads", "W1", "--recipes", self.folder)
        self.assertEqual(status, 2)
        self.assertIn("lrr", errors)
        self.assertEqual(len(errors.splitlines()), 1)


class StartupTest(FakesCase):
    main = staticmethod(startup.main)

    def test_a_row_for_each_number_of_ranks(self):
        status, text, errors = self.run_main(*COMMON, "--ranks", "1,2")
        self.assertEqual((status, errors), (0, ""))
        rows = re.findall(r"(?m)^ +([12]) +(\d+\.\d\d) +(\d+\.\d\d) +(\d+\.\d\d) +(\d+\.\d\d)$", text)
        self.assertEqual([row[0] for row in rows], ["1", "2"], text)
        for row in rows:
            self.assertGreater(min(float(figure) for figure in row[1:]), 0)


class SplitWaysTest(FakesCase):
    main = staticmethod(split_ways.main)

    def test_each_way_has_the_weights_of_one_rank(self):
        out = self.folder / "out.json"
        status, text, errors = self.run_main(*COMMON[:4], "--quick", "--json", out)
        self.assertEqual(status, 0, errors + text)
        for line in errors.splitlines():  # its progress, and nothing else
            self.assertRegex(line, r"^(weights|repeat \d+ of \d+): ")
        rows = json.loads(out.read_text())["results"]
        self.assertEqual([row["split"] for row in rows], 2 * ["", *split_ways.STRATEGIES])
        for row in rows:
            self.assertEqual(row["sent_bytes"] > 0, row["split"] in ("layers", "inside of layers"), row)
            self.assertGreater(row["memory_bytes"], 1e5)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1])
