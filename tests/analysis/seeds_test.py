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

    @staticmethod
    def column(text, index):
        """The cells of the table's column, without its head."""
        return [line.split("|")[index].strip() for line in text.splitlines() if line.startswith("|")][2:]

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
        self.assertEqual(self.column(text, 1), ["3", "4", "5", "mean", "standard deviation", "min", "max", "n"])
        self.assertEqual(self.column(text, -2), ["80.00", "90.00", "85.00", "85.00", "5.00", "80.00", "90.00", "3"])
        self.assertIn("Figures of the last epoch. The standard deviation is that of a sample (n - 1).\n", text)
        self.assertEqual((self.out / "seeds.md").read_text(), text)

    def test_regressions(self):
        for seed, rmse in ((0, 10.0), (1, 30.0)):
            write_run(self.out / f"seed-{seed}", make_records(rmse=rmse), seed=seed, done="done\n")
        text = self.run_seeds("--seeds", 0, 1, "--quern", "/nowhere/quern")[1]
        self.assertIn("| test loss | test rmse | test r2 |", text)
        self.assertIn("| mean |  |", text)
        self.assertEqual(self.column(text, -3), ["10", "30", "20", "14.142", "10", "30", "2"])

    def test_a_single_seed_has_no_deviation(self):
        self.finish(3, 0.8)
        self.assertEqual(self.column(self.run_seeds("--seeds", 3)[1], -2),
                         ["80.00", "80.00", "\N{EN DASH}", "80.00", "80.00", "1"])

    def test_the_best_epoch_where_the_recipe_chooses_one(self):
        for monitor, accuracy, epoch in (("loss", "70.00", "1"), ("accuracy", "90.00", "2")):
            records = make_records(epochs=2)
            for record, loss, share in zip((one for one in records if one["kind"] == "eval"), (0.1, 0.2), (0.7, 0.9)):
                record.update(loss=loss, accuracy=share)
            self.out = self.folder / monitor
            write_run(self.out / "seed-0", records, done="done\n", extra=f'[train]\npatience = 1\nmonitor = "{monitor}"\n')
            text = self.run_seeds("--seeds", 0, "--quern", "/nowhere/quern")[1]
            self.assertEqual((self.column(text, 2)[0], self.column(text, -2)[0]), (epoch, accuracy))
            self.assertIn(f"Figures of the best epoch, that of the best test {monitor} (train.monitor).", text)

    def program(self, *cases):
        """Writes seed-N/trained, so that a training is seen; then does what the case of its seed says."""
        program = self.folder / "program"
        program.write_text('#!/bin/sh\nfor last; do :; done\nmkdir -p "$last"\necho x >> "$last.trained"\ncase "$last" in\n'
                           + "".join(f"*seed-{seed}) {what};;\n" for seed, what in cases) + "esac\n")
        program.chmod(0o755)
        return program

    def diverging(self, name):
        """Shell that makes the folder of a run that diverged."""
        reason = "training diverged at step 4 (epoch 1): the loss is nan"
        write_run(self.folder / name, make_records()[:3], events=[{"event": "start", "step": 0},
                                                                  {"event": "failure", "step": 4, "reason": reason}])
        return f'cp -r {self.folder / name}/. "$last"; echo "quern: error: {reason}" >&2; exit 93'

    def test_a_seed_that_diverges_does_not_end_the_others(self):
        for seed in (0, 2):
            self.finish(seed, 0.8 + 0.05 * seed)
        words = ("--seeds", 0, 1, 2, "--quern", self.program((1, self.diverging("div"))))
        for said in ("seed 1: training in", ""):
            status, text, errors = self.run_seeds(*words)
            self.assertEqual(status, 1, errors)
            self.assertIn("seeds: seed 1: training diverged at step 4 (epoch 1): the loss is nan (remove ", errors)
            self.assertIn(said, errors)
            self.assertEqual(self.column(text, 1)[:3], ["0", "1", "2"])
            self.assertEqual(self.column(text, 2)[1], "diverged")
            self.assertEqual(self.column(text, -2)[1:], ["\N{EN DASH}", "90.00", "85.00", "7.07", "80.00", "90.00", "2"])
            self.assertIn("Without seed 1: no result.", text)
            self.assertEqual((self.out / "seeds.md").read_text(), text)
        self.assertEqual((self.out / "seed-1.trained").read_text(), "x\n")  # once
        self.assertEqual(self.run_seeds(*words[:-1], "/nowhere/quern")[0], 1)  # nothing to be trained

    def test_one_that_was_resumed_after_its_failure_is_trained(self):
        self.program((1, self.diverging("div")))
        run = write_run(self.out / "seed-1", make_records()[:3], events=[
            {"event": "failure", "step": 4, "reason": "training diverged"}, {"event": "start", "step": 0}])
        self.run_seeds("--seeds", 1, "--quern", self.folder / "program")
        self.assertTrue(run.with_suffix(".trained").exists())

    def test_what_ends_all(self):
        """A recipe that is refused, or a run that was asked to stop: not a rank that was killed."""
        self.finish(9, 0.8)
        for code, seeds_trained, how in ((2, "1", "failed"), (85, "1", "stopped"), (137, "12", "failed")):
            words = ("--seeds", 9, 1, 2, "--quern", self.program((1, f"exit {code}"), (2, f"exit {code}")))
            status, text, errors = self.run_seeds(*words)
            self.assertEqual(status, 1)
            self.assertEqual("".join(seed for seed in "12" if f"seed {seed} ended with exit status {code}" in errors),
                             seeds_trained)
            self.assertEqual(self.column(text, 2)[:len(seeds_trained)], [how] * len(seeds_trained))
            self.assertIn("80.00", self.column(text, -2))

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
