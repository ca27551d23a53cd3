# SPDX-License-Identifier: Apache-2.0
"""The best epoch of a run: by the recipe's own choice or by the accuracy, with its checkpoint, on all pages alike."""
import os
import re
import stat
import sys
import unittest

from example_run import make_records, write_run
from report_test import CLASSIFIER, PROGRAM, ReportCase

from quern_report import best
from quern_report.runlog import read_run

LOSSES, ACCURACIES = (0.5, 0.3, 0.3, 0.4), (0.80, 0.82, 0.81, 0.84)  # by loss the second, by accuracy the fourth
KEEPS = "[checkpoint]\nkeep_best = true\n"
PATIENCE = "[train]\npatience = 2\n"
BY_ACCURACY = '[train]\nmonitor = "accuracy"\n'


def judged(losses=LOSSES, accuracies=ACCURACIES):
    records = make_records(epochs=len(losses))
    for record, loss, accuracy in zip((one for one in records if one["kind"] == "eval"), losses, accuracies):
        record.update(loss=loss, accuracy=accuracy)
    return records


class BestCase(ReportCase):
    def make(self, name="run", extra="", records=None, has_best=False):
        run = write_run(self.folder / name, judged() if records is None else records, extra=extra)
        if has_best:
            (run / "checkpoints" / "best.h5").touch()
        return run

    def best(self, *words, **more):
        run = read_run(self.make(*words, **more))
        return best.best_of(run, run.rows())


def start(epoch, data, monitor="loss"):
    return {"event": "start", "time": "2026-01-02T10:00:00Z", "step": 20 * epoch, "epoch": epoch, "ranks": 2,
            "test_data": data, "monitor": monitor}


class ChangedTest(BestCase):
    """What evaluations of other test data, or before another monitor, say is not compared."""

    def found(self, *events, extra=KEEPS):
        holder = self.folder / str(len(list(self.folder.iterdir())))
        return read_run(write_run(holder, judged((0.5, 0.3, 0.35, 0.4), (0.80, 0.95, 0.81, 0.84)), extra=extra, events=events))

    def best_of(self, *events, extra=KEEPS):
        run = self.found(*events, extra=extra)
        return best.best_of(run, run.rows()).epoch

    def test_other_test_data(self):
        for extra in ("", KEEPS, BY_ACCURACY):
            self.assertEqual(self.best_of(start(0, "a"), extra=extra), 2)
            self.assertEqual(self.best_of(start(0, "a"), start(1, "a"), start(2, "a"), extra=extra), 2)
            late = 3 if extra == KEEPS else 4
            self.assertEqual(self.best_of(start(0, "a"), start(2, "b"), extra=extra), late)
            self.assertEqual(self.best_of(start(0, "a"), start(2, "b"), start(3, "b"), extra=extra), late)
        self.assertEqual(self.best_of(start(0, "a"), start(3, "b"), start(1, "a")), 2)  # trained again
        self.assertEqual(self.best_of(start(0, ""), start(3, "b")), 2)  # an earlier program did not tell

    def test_another_monitor(self):
        by_accuracy = KEEPS + BY_ACCURACY
        self.assertEqual(self.best_of(start(0, "a", "loss"), start(2, "a", "accuracy"), extra=by_accuracy), 4)
        self.assertEqual(self.best_of(start(0, "a", "accuracy"), extra=by_accuracy), 2)
        found = self.found(start(0, "a", "loss"), start(4, "a", "accuracy"), extra=by_accuracy)  # none since then
        told = best.best_of(found, found.rows())
        self.assertEqual((told.epoch, told.is_of_recipe, told.file), (2, False, "ckpt-0000000040.h5"))
        # A recipe that chooses none is not concerned.
        self.assertEqual(self.best_of(start(0, "a", "loss"), start(2, "a", "accuracy"), extra=BY_ACCURACY), 2)

    def test_the_page_says_so(self):
        run = self.found(start(0, "a"), start(2, "b"))
        shown = self.page(self.folder / self.report(run.path)[0].strip())
        self.assertIn("The test data changed after epoch 2: evaluations until then are not compared with later ones.", shown)
        self.assertIn("84.00 %, epoch 4", shown)  # the ring
        self.assertNotIn("95.00 %, epoch 2", shown)


class ChoiceTest(BestCase):
    def test_by_the_monitor_of_the_recipe(self):
        for number, (extra, epoch, key) in enumerate((
                ("", 4, "test_accuracy"), (BY_ACCURACY, 4, "test_accuracy"), (KEEPS, 2, "test_loss"),
                (PATIENCE, 2, "test_loss"), (KEEPS + BY_ACCURACY, 4, "test_accuracy"),
                (KEEPS + '[train]\nmonitor = "loss"\n', 2, "test_loss"))):
            found = self.best(f"run{number}", extra)
            self.assertEqual((found.epoch, found.key), (epoch, key), extra)
            self.assertEqual(found.is_of_recipe, "keep" in extra or "patience" in extra, extra)

    def test_a_loss_that_is_not_finite_is_not_best(self):
        found = self.best("run", KEEPS, judged(("nan", 0.3, "inf", 0.2), ACCURACIES))
        self.assertEqual(found.epoch, 4)

    def test_runs_without_evaluations(self):
        self.assertIsNone(self.best("none", KEEPS, []))
        records = [record for record in make_records() if record["kind"] != "eval"]
        found = self.best("untested", KEEPS, records)
        self.assertEqual((found.epoch, found.key, found.is_of_recipe), (3, "train_loss", False))

    def test_the_checkpoint_of_it(self):
        self.assertEqual(self.best("kept", KEEPS, has_best=True).file, "best.h5")
        self.assertEqual(self.best("patient", PATIENCE).file, "ckpt-0000000040.h5")
        self.assertEqual(self.best("stale", PATIENCE, has_best=True).file, "ckpt-0000000040.h5")
        self.assertEqual(self.best("lost").file, "")  # that of step 80


class PageTest(BestCase):
    def test_all_parts_of_a_page_agree(self):
        run = self.make(extra=KEEPS + PATIENCE, has_best=True)
        shown = self.page(self.folder / self.report(run)[0].strip())
        for text in ("lowest test loss 0.3000 epoch 2 of 4", "test accuracy of that epoch 82.00 %",
                     "The best epoch is 2, that of the lowest test loss, which is what the recipe chooses by "
                     "(train.monitor). Its checkpoint is best.h5.", "Bold: the best epoch, 2.", "; best.h5 of the best epoch"):
            self.assertIn(text, shown)

    def test_each_curve_marks_its_own_best_value(self):
        for extra in ("", KEEPS):
            page = self.folder / self.report(self.make(f"run{len(extra)}", extra))[0].strip()
            shown = self.page(page)
            self.assertIn("0.3000, epoch 2", shown)
            self.assertIn("Ring: the lowest test loss.", shown)
            self.assertIn("84.00 %, epoch 4", shown)

    def test_a_best_epoch_without_a_checkpoint(self):
        shown = self.page(self.folder / self.report(self.make())[0].strip())
        self.assertIn("The best epoch is 4, that of the highest test accuracy. There is no checkpoint of it. "
                      "checkpoint.keep_best keeps one, of the best epoch by train.monitor.", shown)


class PredictionTest(BestCase):
    """Predictions and filters are of best.h5, where the recipe keeps one."""

    ALL_RIGHT = PROGRAM.replace('words[0] == "predict":', '''words[:2] == ["checkpoint", "show"]:
    print("run/checkpoints/best.h5\\n  step            40\\n  epoch           {epoch}\\n  best            loss 1 of epoch 9")
elif words[0] == "predict":
    if not words[1].endswith("best.h5"):
        print("quern: error: not this one", file=sys.stderr)
        sys.exit(2)''')

    def classifier(self, extra=KEEPS, text=ALL_RIGHT, epoch=2):
        (self.folder / "test").mkdir()
        program = self.folder / "quern"
        program.write_text(text.replace("{epoch}", str(epoch)).format(python=sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        run = self.make(extra=CLASSIFIER + extra, has_best=True)
        recipe = run / "recipe.toml"
        recipe.write_text(recipe.read_text().replace("global_batch", 'test = "test"\nglobal_batch'))
        return run

    def shown(self, run):
        return self.page(self.folder / self.report(run, "--quern", "./quern")[0].strip())

    def test_of_the_best_checkpoint(self):
        run = self.classifier()
        for _ in range(2):
            shown = self.shown(run)
            self.assertIn("3 of 4 test images are classified right, 75.00 %, with best.h5, the checkpoint of the "
                          "best epoch, 2.", shown)
            self.assertIn("2 units of layer conv1 of best.h5", shown)

    def test_they_are_kept_until_there_is_a_better_one(self):
        run = self.classifier()
        self.shown(run)
        kept, file = run / "report" / "predictions.csv", run / "checkpoints" / "best.h5"
        kept.write_text(kept.read_text().replace("1,2,1,0.8", "1,1,1,0.8"))
        os.utime(run / "checkpoints" / "ckpt-0000000060.h5", (0, kept.stat().st_mtime + 10))  # a newer one is no better
        self.assertIn("4 of 4", self.shown(run))
        os.utime(file, (0, kept.stat().st_mtime + 10))
        self.assertIn("3 of 4", self.shown(run))

    def test_a_report_of_the_newest_checkpoint_is_made_anew(self):
        run = self.classifier()
        file = run / "checkpoints" / "best.h5"
        file.unlink()
        self.assertIn("not this one", self.shown(run))
        file.touch()
        self.assertIn("with best.h5", self.shown(run))

    def test_a_file_of_another_epoch(self):
        shown = self.shown(self.classifier(epoch=1))
        self.assertIn("with best.h5, the checkpoint of epoch 1 (evaluations before train.monitor", shown)

    def test_one_that_the_recipe_does_not_keep(self):
        self.assertIn("not this one", self.shown(self.classifier(extra=PATIENCE)))

    def test_one_that_cannot_be_read(self):
        shown = self.shown(self.classifier(text=self.ALL_RIGHT.replace("if not words", "if words")))
        self.assertIn("with the newest good checkpoint (ckpt-0000000060.h5)", shown)
        self.assertIn("best.h5 cannot be used: quern predict says: quern: error: not this one", shown)


class RankingTest(BestCase):
    def compare(self, command, *runs):
        """The text of the page: in its table one run has the lower loss, the other the higher accuracy."""
        made = [self.make(name, f"{extra}\n[data.augment]\ncrop = {number}\n",
                          judged((0.5, loss, 0.6, 0.7), (0.5, accuracy, 0.95, 0.4)))
                for number, (name, extra, loss, accuracy) in enumerate(runs)]
        page = self.folder / self.report(command, *made)[0].strip()
        return self.page(page), page.with_suffix(".md").read_text()

    def test_by_the_loss_where_all_recipes_choose_by_it(self):
        runs = (("a", KEEPS, 0.2, 0.7), ("b", KEEPS, 0.3, 0.9))
        shown, text = self.compare("compare", *runs)
        self.assertIn("Bold: the best run, a.", shown)
        self.assertIn("Runs are ranked by the test loss of the best epoch of each; what is not called its own is of the last "
                      "epoch. With checkpoint.keep_best or train.patience that is the best one by train.monitor.", shown)
        self.assertRegex(text, r"\| \*\*a\*\* \| 0 \|.* \| 2 \| 0.2000 \| 70.00 % \| ckpt-0000000040.h5 \|")

    def test_a_sweep_by_the_loss(self):
        shown, _ = self.compare("sweep", ("a", PATIENCE, 0.2, 0.7), ("b", PATIENCE, 0.3, 0.9))
        self.assertIn("data.augment.crop = 0 is best: test loss 0.2000.", shown)

    def test_by_the_accuracy_at_the_best_epochs_otherwise(self):
        shown, text = self.compare("compare", ("a", KEEPS, 0.2, 0.7), ("b", KEEPS + BY_ACCURACY, 0.3, 0.9), ("c", "", 0.3, 0.9))
        self.assertRegex(text, r"\| a .* \| 2 \| 70.00 % \| ckpt-0000000040.h5 \|")
        self.assertRegex(text, r"\| \*\*b\*\* .* \| 3 \| 95.00 % \| ckpt-0000000060.h5 \|")
        self.assertIn("Bold: the best runs, of the same test accuracy.", shown)
        self.assertIn("the test accuracy of the best epoch of each", shown)

    def test_losses_of_other_kinds_are_not_compared(self):
        shown, _ = self.compare("compare", ("a", KEEPS, 0.2, 0.7), ("b", KEEPS + "[loss]\nlabel_smoothing = 0.1\n", 0.3, 0.9))
        self.assertIn("Bold: the best run, b.", shown)

    def test_epochs_without_a_checkpoint_are_counted(self):
        run = self.make("a")
        page = self.folder / self.report("compare", run, self.make("b", KEEPS, has_best=True))[0].strip()
        self.assertIn("1 run has no checkpoint of it.", self.page(page))
        self.assertTrue(re.search(r"\| none \|", page.with_suffix(".md").read_text()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
