# SPDX-License-Identifier: Apache-2.0
import json
import os
import unittest
from unittest import mock

from fakes import FakesCase

import split_ways

# mpirun -n R: passes the number on. Quern: as fast as there are ranks; weights that depend on the slices alone.
LAUNCHER = """
import os, subprocess, sys
sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, "FAKE_RANKS": sys.argv[1]}).returncode)
"""
QUERN = """
import json, os, pathlib, sys
words = sys.argv[1:]
ranks = int(os.environ.get("FAKE_RANKS", "1"))
settings = dict(words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--set")
if words[0] == "info":
    print(json.dumps({"processor": "Fake CPU", "vectors": "AVX-512", "compiler": "GCC", "commit": "0123456789"}))
    sys.exit()
if words[0] == "checkpoint":
    print(pathlib.Path(words[2], "hash").read_text())
    sys.exit()
recipe = pathlib.Path(words[2 if words[0] == "bench" else 1]).read_text()
assert 'source = "random"' in recipe and "test =" not in recipe, recipe
strategy = settings.get("parallel.strategy")
if words[0] == "train":
    slices = settings.get("parallel.tensor_slices", str(ranks if ranks > 8 else {2: 8, 3: 12, 4: 8}[ranks]) if strategy == "tensor" else "0")
    run = pathlib.Path(words[words.index("--run-dir") + 1])
    run.mkdir()
    wrong = "BROKEN" if strategy == os.environ.get("FAKE_BROKEN", "none") else ""
    (run / "hash").write_text(f"{recipe.split()[0]}{slices}{wrong}")
    sys.exit()
json.dump({"machine": {"ranks": ranks}, "step_us": 12e3 / ranks, "sent_bytes": 1000 * (ranks - 1),
           "memory_bytes": 5000000}, open(words[words.index("--json") + 1], "w"))
"""


class SplitWaysTest(FakesCase):
    main = staticmethod(split_ways.main)

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.json"

    def split(self, *words, launcher=None):
        launcher = launcher or f"{self.program('launch', LAUNCHER)} {{ranks}}"
        return self.run_main("--quern", self.program("quern", QUERN), "--launcher", launcher, "--json", self.out, *words)

    def test_every_network_way_and_number_of_ranks(self):
        status, text, errors = self.split("--repeats", 2)
        self.assertEqual(status, 0, errors)
        self.assertIn("weights: MLP, layers, 3 ranks: those of one rank\n", errors)
        self.assertIn("repeat 2 of 2: LeNet, one rank: 12.00 ms\n", errors)
        rows = json.loads(self.out.read_text())["results"]
        self.assertEqual(len(rows), 2 * (1 + 3 * 3))
        self.assertTrue(all(row["is_equal"] for row in rows))
        self.assertIn("| LeNet | - | 1 | - | 12.00 | 0.00 | 1.00 | 0 | 5.0 |", text)
        self.assertIn("| MLP | inside of layers | 3 | yes | 4.00 | 0.00 | 3.00 | 2 | 5.0 |", text)

    def test_the_table_of_the_page(self):
        page = self.folder / "page.md"
        page.write_text("Before.\n<!-- table ways: begin -->\nold\n<!-- table ways: end -->\nBehind.\n")
        status, _, errors = self.split("--repeats", 2, "--ranks", "2,1000", "--docs", page)
        self.assertEqual(status, 0, errors)
        text = page.read_text()
        self.assertTrue(text.startswith("Before.\n<!-- table ways: begin -->\nBatch 768, one thread a rank, "), text)
        self.assertTrue(text.endswith("\n<!-- table ways: end -->\nBehind.\n"), text)
        self.assertRegex(text, r"cores? of an? Fake CPU \(AVX-512\), commit `0123456`, ")
        self.assertRegex(text, r"\nRanks beyond these? [0-9]+ cores? take turns ")
        self.assertIn("\nThe weights were those of one rank each time.\n", text)
        self.assertIn("\n| LeNet | nothing | 1 | 12.00 | 1.00 | 0 | 5.0 |\n", text)
        self.assertIn("\n| MLP | inside of layers | 2 | 6.00 | 2.00 | 1 | 5.0 |\n", text)

    def test_other_weights(self):
        os.environ["FAKE_BROKEN"] = "pipeline"
        self.addCleanup(os.environ.pop, "FAKE_BROKEN")
        status, text, errors = self.split("--quick")
        self.assertEqual(status, 1)
        self.assertIn("weights: LeNet, layers, 2 ranks: NOT those of one rank\n", errors)
        self.assertIn("| MLP | layers | 2 | NO |", text)
        self.assertIn("| MLP | samples | 2 | yes |", text)

    def test_whoever_interrupts_gets_the_whole_repeats(self):
        measure, calls = split_ways.Way.measure, []

        def measure_twelve(way):
            calls.append(way)
            if len(calls) > 12:  # in the second repeat of 8 ways
                raise KeyboardInterrupt
            measure(way)
        with mock.patch.object(split_ways.Way, "measure", measure_twelve):
            status, text, errors = self.split("--ranks", 2, "--repeats", 3)
        self.assertEqual(status, 1)
        self.assertIn("interrupted: 1 of 3 repeats are whole\n", errors)
        self.assertIn("| MLP | layers | 2 | yes | 6.00 | 0.00 | 2.00 |", text)
        written = json.loads(self.out.read_text())
        self.assertEqual((written["repeats"], [len(row["times_s"]) for row in written["results"]]), (1, [1] * 8))

    def test_ranks_that_do_not_meet(self):
        status, _, errors = self.split("--quick", launcher=f"{self.program('one', LAUNCHER)} 1 {{ranks}}")
        self.assertEqual(status, 2)
        self.assertIn("split_ways: ", errors)


if __name__ == "__main__":
    unittest.main()
