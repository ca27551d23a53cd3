# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from example_run import make_records, write_run

import seeds


class SeedsTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text('name = "example"\n')
        self.out = self.folder / "out"

    def run_seeds(self, *words):
        """(exit status, standard output, standard error)"""
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            status = seeds.main(["--recipe", str(self.recipe), "--out", str(self.out),
                                 *map(str, words)])
        return status, output.getvalue(), errors.getvalue()

    def finish(self, seed, accuracy):
        records = make_records(epochs=2)
        records[-1]["accuracy"] = accuracy
        write_run(self.out / f"seed-{seed}", records, seed=seed, done="done\n")

    def test_finished_runs_are_reused_and_summed_up(self):
        for seed, accuracy in ((3, 0.8), (4, 0.9), (5, 0.85)):
            self.finish(seed, accuracy)
        # A program that does not exist: nothing may be started.
        status, text, errors = self.run_seeds("--seeds", 3, 4, 5, "--quern", "/nowhere/quern")
        self.assertEqual(status, 0, errors)
        lines = text.strip().splitlines()
        self.assertEqual([line.split("|")[1].strip() for line in lines[2:]],
                         ["3", "4", "5", "mean", "min", "max"])
        self.assertEqual([line.split("|")[-2].strip() for line in lines[2:]],
                         ["80.00", "90.00", "85.00", "85.00", "80.00", "90.00"])
        self.assertEqual((self.out / "seeds.md").read_text(), text)

    def test_regressions(self):
        for seed, rmse in ((0, 10.0), (1, 30.0)):
            write_run(self.out / f"seed-{seed}", make_records(rmse=rmse), seed=seed, done="done\n")
        text = self.run_seeds("--seeds", 0, 1, "--quern", "/nowhere/quern")[1]
        self.assertIn("| test loss | test rmse | test r2 |", text)
        self.assertIn("| mean |  |", text)
        self.assertEqual([line.split("|")[-3].strip() for line in text.strip().splitlines()[2:]],
                         ["10", "30", "20", "10", "30"])

    def test_other_settings_need_another_folder(self):
        self.finish(0, 0.8)
        self.assertEqual(self.run_seeds("--seeds", 0)[0], 0)
        for words, key in ((["--ranks", 2], "ranks"), (["--set", "optimizer.lr=1"], "set")):
            status, text, errors = self.run_seeds("--seeds", 0, *words)
            self.assertEqual((status, text), (2, ""))
            self.assertIn(f"another '{key}'", errors)
        self.recipe.write_text('name = "other"\n')
        self.assertIn("another 'recipe'", self.run_seeds("--seeds", 0)[2])

    def test_a_folder_without_a_run_is_free(self):
        """As after a recipe that the program refused."""
        self.assertEqual(self.run_seeds("--seeds", 7, "--quern", "false")[0], 1)
        self.recipe.write_text('name = "corrected"\n')
        status, _, errors = self.run_seeds("--seeds", 7, "--quern", "false")
        self.assertEqual(status, 1, errors)
        self.assertIn("corrected", (self.out / "seeds.json").read_text())

    def test_the_program_of_the_environment(self):
        with unittest.mock.patch.dict("os.environ", QUERN="false"):
            self.assertIn("seed 7 ended with exit status 1", self.run_seeds("--seeds", 7)[2])

    def test_a_failing_program_is_reported_with_its_seed(self):
        status, _, errors = self.run_seeds("--seeds", 7, "--quern", "false")
        self.assertEqual(status, 1)
        self.assertIn("seed 7 ended with exit status 1", errors)

    def test_a_program_that_trains_nothing_is_reported(self):
        status, _, errors = self.run_seeds("--seeds", 7, "--quern", "true")
        self.assertEqual(status, 2)
        self.assertIn("seed-7 does not exist", errors)

    def test_missing_program_recipe_or_launcher(self):
        status, _, errors = self.run_seeds("--quern", "/nowhere/quern")
        self.assertEqual(status, 2)
        self.assertIn("there is no program '/nowhere/quern'", errors)
        status, _, errors = self.run_seeds("--quern", "true", "--ranks", 2, "--mpirun", "no-mpi")
        self.assertEqual(status, 2)
        self.assertIn("no program 'no-mpi'", errors)
        self.assertFalse(self.out.exists())
        self.recipe.unlink()
        status, _, errors = self.run_seeds("--quern", "true")
        self.assertEqual(status, 2)
        self.assertIn("cannot read recipe", errors)
        self.assertFalse(self.out.exists())

    def test_usage_errors(self):
        for words in (["--ranks", 0], ["--seeds", -1], ["--set", "seed=3"]):
            with self.assertRaises(SystemExit) as raised:
                self.run_seeds(*words)
            self.assertEqual(raised.exception.code, 2)

    def test_an_environment_that_mpi_runs_in(self):
        many = seeds.launch_environment(10000)
        self.assertEqual(many["OMPI_MCA_rmaps_base_oversubscribe"], "1")
        self.assertEqual(many["PRTE_MCA_rmaps_default_mapping_policy"], ":oversubscribe")
        self.assertEqual(many["OMP_NUM_THREADS"], "1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
