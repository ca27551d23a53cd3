# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: what they differ in, which is best, what a sweep answers, how they scale."""
import json
import tempfile
import unittest
from pathlib import Path

from example_run import make_records, write_run
from report_test import ReportCase

from quern_report import differences, scaling, sweep
from quern_report.runlog import RunError, read_run


def run_of(folder, accuracy, lr=0.2, batch=100, ranks=1, speed=5000.0, seed=0, extra=""):
    records = make_records(ranks=ranks)
    for record in records:
        if record["kind"] == "eval":
            record["accuracy"] = accuracy * record["epoch"] / 3
        if "samples_per_s" in record:
            record["samples_per_s"] = speed
    write_run(folder, records, seed=seed, extra=extra)
    recipe = folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("lr = 0.2", f"lr = {lr}").replace("= 100", f"= {batch}"))
    return folder


START = {"event": "start", "time": "2026-01-02T10:00:00Z", "step": 0, "epoch": 0, "ranks": 1, "threads": 1}


def write_events(run, *events):
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


class CompareTest(ReportCase):
    def test_what_runs_differ_in_and_which_is_best(self):
        runs = [run_of(self.folder / name, accuracy, lr) for name, accuracy, lr in
                (("a", 0.7, 0.1), ("b", 0.9, 0.2), ("c", 0.8, 0.4))]
        out = self.report("compare", *runs)[0].strip()
        shown = self.page(self.folder / out)
        self.assertIn("Bold: the best run, b.", shown)
        text = (self.folder / "compare" / "compare.md").read_text()
        self.assertIn("| run | optimizer.lr | epochs |", text)
        self.assertIn("![Test accuracy](compare-accuracy.svg)", text)

    def test_more_runs_than_colours(self):
        runs = [run_of(self.folder / f"r{i}", 0.5 + 0.02 * i, 0.1 * (i + 1)) for i in range(12)]
        shown = self.page(self.folder / self.report("compare", *runs)[0].strip())
        self.assertIn("Curves: the 7 best of 12 runs.", shown)
        for name in ("accuracy", "training-loss", "throughput"):
            self.assertIn("<polygon", (self.folder / "compare" / f"compare-{name}.svg").read_text())

    def test_a_curve_that_is_alone_is_named(self):
        tested, untested = run_of(self.folder / "tested", 0.5), [r for r in make_records() if r["kind"] != "eval"]
        self.report("compare", tested, write_run(self.folder / "untested", untested))
        drawn = (self.folder / "compare" / "compare-accuracy.svg").read_text()
        self.assertIn(">tested<", drawn)
        self.assertNotIn(">untested<", drawn)

    def test_equal_recipes(self):
        runs = [run_of(self.folder / name, 0.7) for name in "ab"]
        shown = self.page(self.folder / self.report("compare", *runs)[0].strip())
        self.assertIn("The recipes are the same.", shown)
        self.assertIn("All runs have the same test accuracy.", shown)
        self.assertNotIn("Bold", shown)

    def test_regressions_are_ranked_by_the_rmse(self):
        """The loss depends on how targets are normalized, the RMSE has their units."""
        runs = []
        for name, rmse, scale in (("a", 30.0, 0.001), ("b", 20.0, 1.0)):
            records = [{**record, "loss": scale * record["loss"]} for record in make_records(rmse=rmse)]
            runs.append(write_run(self.folder / name, records, extra=f"[loss]\nscale = {scale}\n"))
        shown = self.page(self.folder / self.report("compare", *runs)[0].strip())
        self.assertIn("Bold: the best run, b.", shown)
        text = (self.folder / "compare" / "compare.md").read_text()
        self.assertIn("| test RMSE | test R\N{SUPERSCRIPT TWO} | best epoch | its test RMSE | its checkpoint |", text)
        self.assertIn("![Test RMSE](compare-rmse.svg)", text)
        shown = self.page(self.folder / self.report("sweep", *runs)[0].strip())
        self.assertIn("loss.scale = 1.0 is best: test RMSE 20.00.", shown)

    def test_losses_of_different_kinds_rank_nothing(self):
        """Those of auto-encoders, which have no RMSE."""
        runs = [write_run(self.folder / f"r{i}", make_records(with_accuracy=False), extra=f"[loss]\ndelta = {0.1 * i}\n")
                for i in range(1, 10)]
        out = self.report("compare", *runs)[0].strip()
        shown = self.page(self.folder / out)
        self.assertIn("The runs are not ranked: their losses are of different kinds.", shown)
        self.assertIn("Curves: the 7 first of 9 runs.", shown)
        self.assertNotIn("Bold", shown)
        shown = self.page(self.folder / self.report("sweep", *runs)[0].strip())
        self.assertIn("The runs are not ranked", shown)

    def test_a_run_that_diverged_is_not_best(self):
        runs = [run_of(self.folder / name, accuracy) for name, accuracy in (("a", 0.7), ("b", 0.9), ("c", 0.6))]
        write_events(runs[1], START, {"event": "failure", "step": 60, "reason": "training diverged at step 61"})
        shown = self.page(self.folder / self.report("compare", *runs)[0].strip())
        self.assertIn("Bold: the best run, a.", shown)
        self.assertIn("1 run diverged and is not ranked.", shown)
        write_events(runs[1], START, {"event": "failure", "step": 60, "reason": "'x.h5': samples are damaged"})
        shown = self.page(self.folder / self.report("compare", *runs)[0].strip())
        self.assertIn("Bold: the best run, b.", shown)
        self.assertIn(" failed ", shown)

    def test_other_test_sets_are_not_compared(self):
        runs = [run_of(self.folder / name, accuracy) for name, accuracy in (("a", 0.7), ("b", 0.9))]
        for digests, data, is_ranked in ((("x", "x"), ("here", "there"), True), (("x", "y"), ("here", "here"), False),
                                         (("", "y"), ("here", "here"), True), (("", ""), ("here", "there"), True), (("", ""), ("here", "./here/"), True)):
            for run, digest, path in zip(runs, digests, data):
                write_events(run, {**START, "test_data": digest})
                recipe = (run / "recipe.toml").read_text().split("[data]\n")
                (run / "recipe.toml").write_text(f'{recipe[0]}[data]\ntest = "{path}"\n' + recipe[1].split('"\n', 1)[-1])
            shown = self.page(self.folder / self.report("compare", *runs)[0].strip())
            self.assertEqual("Bold: the best run, b." in shown, is_ranked, (digests, data))
            self.assertEqual("they were not evaluated on the same test set" in shown, not is_ranked)
            self.assertEqual("is not known: the paths of data.test differ" in shown, digests[0] + data[1] == "there")
            recipe = runs[1] / "recipe.toml"
            recipe.write_text(recipe.read_text().replace("lr = 0.2", "lr = 0.4"))
            shown = self.page(self.folder / self.report("sweep", *runs, "--out", "s")[0].strip())
            self.assertEqual("cells: test accuracy" in shown, is_ranked)  # the map
            self.assertEqual("they were not evaluated on the same test set" in shown, not is_ranked)
            recipe.write_text(recipe.read_text().replace("lr = 0.4", "lr = 0.2"))

    def test_runs_without_a_test_set_are_ranked_by_their_best_epoch(self):
        losses = {"a": (0.5, 0.1, 2.0), "b": (0.5, 0.4, 0.2)}
        runs = []
        for name, values in losses.items():
            records = [{"kind": "epoch", "epoch": epoch, "step": 20 * epoch, "loss": loss, "ranks": 1}
                       for epoch, loss in enumerate(values, start=1)]
            runs.append(write_run(self.folder / name, records))
        shown = self.page(self.folder / self.report("compare", *runs)[0].strip())
        self.assertIn("Bold: the best run, a.", shown)
        self.assertIn("Runs are ranked by the training loss of the best epoch of each; ", shown)
        self.assertIn("its training loss", shown)

    def test_one_is_too_few(self):
        run = run_of(self.folder / "a", 0.7)
        for command in ("compare", "sweep"):
            self.assertIn("at least two runs", self.report(command, run, expected=2)[1])


class SweepTest(ReportCase):
    def make(self):
        """Batch k x 100 on k ranks, three learning rates each: the best one grows with k."""
        best = {1: 0.1, 2: 0.2, 4: 0.4}
        return [run_of(self.folder / f"k{k}-{lr}", 0.9 - abs(lr - best[k]), lr, 100 * k, k, 5000.0 * k ** 0.5)
                for k in (1, 2, 4) for lr in (0.1, 0.2, 0.4)]

    def test_the_best_setting_of_each_row(self):
        shown = self.page(self.folder / self.report("sweep", *self.make())[0].strip())
        for batch, lr in ((100, 0.1), (200, 0.2), (400, 0.4)):
            self.assertIn(f"With optimizer.lr = {lr}, data.global_batch = {batch} is best", shown)
        self.assertIn("Best of all are data.global_batch = 100 with optimizer.lr = 0.1, data.global_batch = 200 with "
                      "optimizer.lr = 0.2 and data.global_batch = 400 with optimizer.lr = 0.4: test accuracy 90.00 %.",
                      shown)
        self.assertIn("2 ranks 1.41 times, 4 ranks 2.00 times as many samples a second", shown)

    def test_axes_can_be_named(self):
        out = self.report("sweep", *self.make(), "--by", "optimizer.lr", "ranks")[0].strip()
        shown = self.page(self.folder / out)
        self.assertIn("With ranks = 4, optimizer.lr = 0.4 is best: test accuracy 90.00 %", shown)
        self.assertIn("The best optimizer.lr changes with ranks.", shown)
        self.assertIn("differ in ranks", self.report("sweep", *self.make_two(), "--by", "ranks", expected=2)[1])

    def make_two(self):
        return [run_of(self.folder / f"two-{lr}", 0.5, lr) for lr in (0.1, 0.2)]

    def test_runs_without_a_result(self):
        runs = self.make_two()
        runs.append(write_run(self.folder / "begun", []))
        shown = self.page(self.folder / self.report("sweep", *runs)[0].strip())
        self.assertNotIn("None", shown)
        self.assertIn("1 run without a result here: no complete epoch.", shown)
        self.assertIn("3 runs that differ in optimizer.lr.", shown)  # and not in ranks, of which one has none
        same = [write_run(self.folder / name, []) for name in ("x", "y")]
        self.assertIn("differ in no setting", self.page(self.folder / self.report("sweep", *same)[0].strip()))

    def test_diverged_and_changed_runs_are_no_result_of_their_settings(self):
        runs = [run_of(self.folder / f"r{lr}", accuracy, lr) for lr, accuracy in ((0.1, 0.6), (0.2, 0.7), (0.4, 0.8), (0.8, 0.9))]
        write_events(runs[2], START, {"event": "failure", "step": 60, "reason": "training diverged at step 61"})
        write_events(runs[3], START, {**START, "step": 50, "changes": [{"key": "optimizer.lr", "before": "0.1", "after": "0.8"}]})
        shown = self.page(self.folder / self.report("sweep", *runs)[0].strip())
        self.assertIn("Over all runs, optimizer.lr = 0.2 is best: test accuracy 70.00 %.", shown)
        self.assertIn("1 run without a result here: diverged.", shown)
        self.assertIn("1 run without a result here: optimizer.lr changed while it trained.", shown)
        self.assertIn("1 run diverged and is not ranked.", shown)
        shown = self.page(self.folder / self.report("sweep", runs[2], runs[3])[0].strip())
        self.assertIn("1 run without a result here: diverged.", shown)
        self.assertNotIn("best:", shown)
        write_events(runs[3], START, {"event": "failure", "step": 60, "reason": "training diverged at step 61"})
        for command in ("sweep", "compare"):
            shown = self.page(self.folder / self.report(command, runs[2], runs[3])[0].strip())
            self.assertIn("2 runs diverged and are not ranked.", shown)
            self.assertNotIn("of different kinds", shown)
        self.assertIn("2 runs without a result here: diverged.", self.page(self.folder / "sweep/sweep.html"))

    def test_the_spread_of_seeds_is_told(self):
        runs = [run_of(self.folder / f"{lr}-{seed}", accuracy, lr, seed=seed)
                for lr, accuracies in ((0.1, (0.6, 0.7)), (0.2, (0.7, 0.8)), (0.4, (0.1, 0.2)), (0.8, (0.69, 0.71)))
                for seed, accuracy in enumerate(accuracies)]
        shown = self.page(self.folder / self.report("sweep", *runs)[0].strip())
        self.assertIn("optimizer.lr = 0.2 is best: test accuracy 75.00 % (mean of 2 seeds, standard deviation 7.07 %). "
                      "Within that deviation of it: 0.8 (70.00 %).", shown)

    def test_a_bad_trial_does_not_flatten_the_curves_of_the_others(self):
        runs = [run_of(self.folder / f"r{lr}", 0.5, lr) for lr in (0.1, 0.2, 0.4)]
        bad = [dict(record, loss=235.0) if record["kind"] == "eval" else record for record in make_records()]
        shown = self.page(self.folder / self.report("sweep", *runs, write_run(self.folder / "bad", bad, seed=1))[0].strip())
        self.assertEqual(shown.count("cut off: bad (up to 235)"), 1)

    def test_trials_that_have_not_begun(self):
        runs = [*self.make_two(), self.folder / "trial-2", self.folder / "trial-3"]
        for run in runs[2:]:
            (run / "job").mkdir(parents=True)
        (runs[2] / "recipe.toml").write_text('name = "example"\n')
        shown = self.page(self.folder / self.report("sweep", *runs)[0].strip())
        self.assertIn("2 runs that differ in optimizer.lr. 2 trials have not begun.", shown)
        self.assertIn(f"Not begun, without recipe.toml or metrics.jsonl: {runs[2]}, {runs[3]}.", shown)
        self.assertIn("optimizer.lr makes no difference: test accuracy 50.00 % with 0.1 and 0.2.", shown)
        shown = self.page(self.folder / self.report("sweep", runs[0], runs[2])[0].strip())
        self.assertIn("1 run. 1 trial has not begun.", shown)
        self.assertIn(f"metrics.jsonl: {runs[2]}.", shown)
        self.assertIn("none of the runs has begun", self.report("sweep", *runs[2:], expected=2)[1])
        self.assertIn("no metrics.jsonl", self.report("compare", *runs, expected=2)[1])
        self.assertIn("does not exist", self.report("sweep", *runs, "absent", expected=2)[1])

    def test_the_folder_of_a_sweep(self):
        """Its trials, by their numbers, and nothing else in it."""
        for number, rate in ((2, 0.1), (10, 0.2), (9, 0.4)):
            run_of(self.folder / "lr" / f"trial-{number}", 0.5, rate)
        for other in ("job", "trial-3", "trial-9.old", "trial-x"):
            (self.folder / "lr" / other).mkdir(parents=True)
        shown = self.page(self.folder / self.report("sweep", "lr")[0].strip())
        self.assertIn("3 runs that differ in optimizer.lr. 1 trial has not begun.", shown)
        self.assertIn("metrics.jsonl: lr/trial-3.", shown)
        self.assertLess(shown.index("trial-9"), shown.index("trial-10"))
        run_of(self.folder / "more", 0.6, 0.8)
        self.assertIn("4 runs that", self.page(self.folder / self.report("sweep", "lr", "more")[0].strip()))
        self.assertIn("lr is not a run folder", self.report("compare", "lr", "more", expected=2)[1])

    def test_commands_that_are_mistyped(self):
        for word, meant in (("comapre", "compare"), ("swep", "sweep"), ("Scaling", "scaling")):
            said = self.report(word, "a", "b", "--by", "seed", expected=2)[1]
            self.assertEqual(said, f"report: error: there is no command or run '{word}' (did you mean '{meant}'?)\n")
        self.make_two()[0].rename(self.folder / "compares")
        self.assertIn("compares/report", self.report("compares")[0])

    def sweep(self, *settings):
        runs = [run_of(self.folder / f"s{i}", accuracy, lr, batch) for i, (lr, batch, accuracy) in enumerate(settings)]
        return self.page(self.folder / self.report("sweep", *runs, "--by", "optimizer.lr", "data.global_batch")[0].strip())

    def test_results_that_are_the_same(self):
        shown = self.sweep((0.1, 100, 0.7), (0.2, 100, 0.7), (0.1, 200, 0.7), (0.2, 200, 0.7))
        self.assertIn("All settings lead to the same test accuracy: 70.00 %.", shown)
        self.assertIn("With data.global_batch = 100, optimizer.lr makes no difference: test accuracy 70.00 % "
                      "with 0.1 and 0.2.", shown)
        for words in ("Best of all", "is best", "The best optimizer.lr", "among the best"):
            self.assertNotIn(words, shown)

    def test_several_are_best(self):
        shown = self.sweep((0.1, 100, 0.7), (0.2, 100, 0.7), (0.4, 100, 0.6),
                           (0.1, 200, 0.5), (0.2, 200, 0.7), (0.4, 200, 0.7))
        self.assertIn("4 of 6 settings are best alike: test accuracy 70.00 %.", shown)
        self.assertIn("With data.global_batch = 100, optimizer.lr = 0.1 and 0.2 are best", shown)
        self.assertIn("optimizer.lr = 0.2 is among the best in all rows.", shown)

    def test_a_single_result_is_not_best(self):
        shown = self.sweep((0.1, 100, 0.7), (0.2, 200, 0.8), (0.4, 200, 0.6))
        self.assertIn("With data.global_batch = 100, only optimizer.lr = 0.1 has a result: test accuracy 70.00 %.",
                      shown)
        self.assertIn("With data.global_batch = 200, optimizer.lr = 0.2 is best: test accuracy 80.00 %.", shown)
        self.assertIn("Best of all is optimizer.lr = 0.2 with data.global_batch = 200", shown)
        self.assertNotIn("The best optimizer.lr", shown)

    def test_rows_are_compared_in_the_columns_that_they_share(self):
        shown = self.sweep((0.1, 100, 0.7), (0.2, 100, 0.6), (0.4, 100, 0.9), (0.1, 200, 0.5), (0.2, 200, 0.7))
        self.assertIn("The best optimizer.lr of 0.1 and 0.2 changes with data.global_batch.", shown)

    def test_speed_is_compared_between_runs_that_are_split_alike(self):
        runs = [run_of(self.folder / f"{ranks}-{tensor}", accuracy, ranks=ranks, speed=speed,
                       extra=f"[parallel]\ntensor = {tensor}\n")
                for ranks, tensor, speed, accuracy in ((1, 1, 1000.0, 0.5), (2, 1, 1900.0, 0.6), (2, 2, 200.0, 0.7))]
        shown = self.page(self.folder / self.report("sweep", *runs)[0].strip())
        self.assertIn("With parallel.tensor = 1, against 1 rank (1\N{NARROW NO-BREAK SPACE}000 samples / s), 2 ranks 1.90 times "
                      "as many samples a second.", shown)
        self.assertEqual(shown.count("as many samples a second"), 1)

    def test_settings_that_are_lists(self):
        runs = [run_of(self.folder / name, accuracy, extra=f"[parallel]\ncut = {cut}\n")
                for name, accuracy, cut in (("a", 0.5, "[]"), ("b", 0.6, '["fc1"]'))]
        self.assertIn("is best: test accuracy 60.00 %", self.page(self.folder / self.report("sweep", *runs)[0].strip()))


class ScalingOfRunsTest(ReportCase):
    def test_strong(self):
        runs = [run_of(self.folder / f"r{ranks}", 0.5, ranks=ranks, speed=speed)
                for ranks, speed in ((1, 1000.0), (2, 1900.0), (4, 2400.0))]
        text = self.report("scaling", *runs, "--out", "out")[0]
        self.assertIn("| 2 | 100 | 52631.6 | 1,900 | 1.90 | 95.0% |", text)
        self.assertIn("Below 75% on 4 ranks; the largest count with at least 75% is 2.", text)
        self.page(self.folder / "out" / "scaling.html")

    def test_what_the_runs_differ_in_is_told(self):
        runs = [run_of(self.folder / f"r{ranks}", 0.5, ranks=ranks, speed=speed) for ranks, speed in ((1, 1000.0), (2, 1900.0))]
        for run, threads in zip(runs, (2, 1)):
            write_events(run, {**START, "threads": threads})
        remark = "The points differ in threads of a rank (1, 2): compare them with care."
        self.assertIn(remark, self.report("scaling", *runs, "--out", "out")[0])
        self.assertNotIn("as many samples a second", self.page(self.folder / self.report("sweep", *runs)[0].strip()))
        (runs[0] / "events.jsonl").unlink()
        self.assertNotIn("The points differ in threads", self.report("scaling", *runs, "--out", "out")[0])
        write_events(runs[0], START)
        self.assertNotIn(remark, self.report("scaling", *runs, "--out", "out")[0])
        self.assertIn("as many samples a second", self.page(self.folder / self.report("sweep", *runs)[0].strip()))

    def test_weak(self):
        runs = [run_of(self.folder / f"r{ranks}", 0.5, batch=100 * ranks, ranks=ranks, speed=speed)
                for ranks, speed in ((1, 1000.0), (2, 1800.0))]
        found = scaling.points_of_runs([read_run(run) for run in runs])
        self.assertEqual([point["mode"] for point in found], ["weak", "weak"])
        self.assertAlmostEqual(found[1]["efficiency"], 0.9)
        self.assertAlmostEqual(found[1]["speedup"], 1.8)

    def test_what_makes_no_study(self):
        def refuse(pattern, *settings):
            holder = tempfile.TemporaryDirectory()
            self.addCleanup(holder.cleanup)
            runs = [run_of(Path(holder.name) / str(i), 0.5, **setting) for i, setting in enumerate(settings)]
            with self.assertRaisesRegex(RunError, pattern):
                scaling.points_of_runs([read_run(run) for run in runs])
        refuse("at least two numbers", {"ranks": 1})
        refuse("second run on 2 ranks", {"ranks": 2}, {"ranks": 2})
        network = '[[network.layers]]\nname = "fc1"\ntype = "linear"\nfeatures = %d\n'
        refuse("differ in network.layers.fc1.features: their speeds are of different work",
               *({"ranks": ranks, "extra": network % ranks} for ranks in (1, 2)))
        refuse("neither the same", {"ranks": 1}, {"ranks": 2, "batch": 300}, {"ranks": 4})
        with self.assertRaisesRegex(RunError, "has measured its speed"):
            scaling.points_of_runs([read_run(write_run(self.folder / "none", []))])


class DifferencesTest(ReportCase):
    def test_where_results_lie_is_no_difference(self):
        runs = [read_run(run_of(self.folder / name, 0.5)) for name in "ab"]
        runs[0].recipe["checkpoint"] = {"keep": 9}
        self.assertEqual(differences.Settings(runs).keys, [])
        runs[0].recipe["seed"] = 5
        self.assertEqual(differences.Settings(runs).keys, ["seed"])
        self.assertEqual(sweep.axes_of(differences.Settings(runs)), ["seed"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
