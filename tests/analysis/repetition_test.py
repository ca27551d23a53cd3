# SPDX-License-Identifier: Apache-2.0
"""Which runs of a sweep are repetitions: other seeds are; ranks that change no bit are no setting; copies count once."""
import shutil
import unittest

from compare_test import run_of
from report_test import ReportCase

from quern_report import differences, sweep
from quern_report.runlog import read_run

FAST = '[train]\ndeterminism = "fast"\n'


class RepetitionTest(ReportCase):
    def shown(self, *runs):
        return self.page(self.folder / self.report("sweep", *runs)[0].strip())

    def make(self, name, accuracy, lr=0.1, **more):
        return run_of(self.folder / name, accuracy, lr, **more)

    def test_ranks_under_a_global_batch_are_no_setting(self):
        runs = [self.make("a", 0.7), self.make("b", 0.9, seed=1, ranks=4), self.make("c", 0.75, lr=0.2)]
        shown = self.shown(*runs)
        self.assertIn("optimizer.lr = 0.1 is best: test accuracy 80.00 % (mean of 2 seeds, ", shown)
        self.assertIn("mean of 2 seeds", shown)
        self.assertNotIn("as well", shown)
        self.assertEqual(sweep.repeated_by([read_run(run) for run in runs]), ("seed", "changes", "ranks"))

    def test_ranks_are_the_axis_where_nothing_else_varies(self):
        runs = [read_run(self.make(f"r{ranks}", 0.7, ranks=ranks)) for ranks in (1, 2)]
        self.assertEqual(sweep.axes_of(differences.Settings(runs), (), sweep.repeated_by(runs)), ["ranks"])

    def test_ranks_that_change_the_batch_are_a_setting(self):
        runs = [self.make("a", 0.7), self.make("b", 0.9, seed=1, ranks=4), self.make("c", 0.75, lr=0.2)]
        for run in runs:
            recipe = run / "recipe.toml"
            recipe.write_text(recipe.read_text().replace("global_batch", "batch_per_rank"))
        self.assertIn("With ranks = 4, only optimizer.lr = 0.1 has a result: test accuracy 90.00 %.", self.shown(*runs))

    def test_ranks_of_fast_sums_are_a_setting(self):
        runs = [self.make("a", 0.7, extra=FAST), self.make("b", 0.9, seed=1, ranks=4, extra=FAST),
                self.make("c", 0.75, lr=0.2, extra=FAST)]
        self.assertIn("With ranks = 4, only optimizer.lr = 0.1 has a result: test accuracy 90.00 %.", self.shown(*runs))

    def test_copies_count_once(self):
        runs = [self.make("a", 0.6), self.make("b", 0.9, seed=1), self.make("c", 0.7, lr=0.2)]
        shutil.copytree(runs[0], self.folder / "copy")
        shown = self.shown(*runs, self.folder / "copy")
        self.assertIn("optimizer.lr = 0.1 is best: test accuracy 75.00 % (mean of 2 seeds, ", shown)
        self.assertIn("1 run repeats another one, of the same settings and seed, and is not counted again", shown)
        self.assertIn("mean of 2 seeds", shown)
        self.assertNotIn("repeat", self.shown(*runs))

    def test_of_copies_the_one_of_most_epochs_counts(self):
        run = self.make("whole", 0.9)
        shutil.copytree(run, self.folder / "part")
        lines = (run / "metrics.jsonl").read_text().splitlines()
        (self.folder / "part" / "metrics.jsonl").write_text("\n".join(lines[:22]) + "\n")  # one epoch
        for pair in ((run, self.folder / "part"), (self.folder / "part", run)):
            self.assertIn("optimizer.lr = 0.1 is best: test accuracy 90.00 %.",
                          self.shown(*pair, self.make(f"other-{pair[0].name}", 0.7, lr=0.2)))

    def test_fast_runs_of_one_seed_are_repetitions_unless_they_are_the_same(self):
        runs = [self.make("a", 0.6, extra=FAST), self.make("b", 0.9, extra=FAST), self.make("c", 0.9, extra=FAST),
                self.make("d", 0.7, lr=0.2, extra=FAST)]
        shown = self.shown(*runs)
        self.assertIn("optimizer.lr = 0.1 is best: test accuracy 75.00 % (mean of 2 seeds, ", shown)
        self.assertIn("1 run repeats another one", shown)


if __name__ == "__main__":
    unittest.main(verbosity=2)
