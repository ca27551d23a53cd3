# SPDX-License-Identifier: Apache-2.0
"""The checkpoint of the best evaluation (checkpoint.keep_best) and the end of training without a better one
(train.patience)."""
import shutil
import sys
from pathlib import Path

import h5py
import idx
import numpy as np
import training
from training import checkpoint_file, checkpoint_steps, metrics

PRELOAD = Path(sys.argv.pop(3)).resolve()  # tests/support/preload.cpp
STEPS = 13  # of an epoch
# So large a rate that evaluations become better and worse.
SHAKY = ("train.epochs=40", "train.patience=3", "checkpoint.keep_best=true", "checkpoint.keep=1",
         "optimizer.type=\"sgd\"", "optimizer.lr=1.0")


class BestTest(training.TrainingTest):
    def best_file(self, run):
        return self.folder / run / "checkpoints" / "best.h5"

    def best_step(self, run):
        with h5py.File(self.best_file(run), "r") as checkpoint:
            return int(checkpoint["train"].attrs["step"])

    def evaluations(self, run, key="loss"):
        return [line[key] for line in metrics(self.folder / run, "eval")]

    def best_epoch(self, run):
        losses = self.evaluations(run)
        return losses.index(min(losses)) + 1

    def assert_ended_by_patience(self, run, patience=3):
        self.assertEqual(len(self.evaluations(run)), self.best_epoch(run) + patience)
        self.assertTrue((self.folder / run / "DONE").exists())

    def test_the_best_evaluation_is_kept_and_ends_the_training(self):
        done = self.train("mlp", "run", *SHAKY)
        self.assert_ended_by_patience("run")
        best = self.best_epoch("run")
        self.assertGreater(best, 1)  # else nothing here says anything
        last = best + 3
        self.assertEqual(checkpoint_steps(self.folder / "run"), [STEPS * last])
        self.assertEqual(self.best_step("run"), STEPS * best)
        self.assertIn("no lower test loss for 3 epochs (train.patience): the training ends\n", done.out)
        self.assertRegex(done.out, rf"best: epoch {best}, test loss [0-9.]+ \('run/checkpoints/best\.h5'\)\n")
        self.train("mlp", "short", *SHAKY, f"train.epochs={best}")
        self.assertEqual(self.hash("short"), self.hash(self.best_file("run")))
        answer = self.quern("evaluate", self.best_file("run"), "--data", "test")
        self.assertEqual(answer.code, 0, answer)
        self.assertIn(f"loss {min(self.evaluations('run')):.6f} ", answer.out)

    def test_commands_take_it_where_they_are_asked_to(self):
        self.train("mlp", "run", *SHAKY)
        best, last = self.best_epoch("run"), max(checkpoint_steps(self.folder / "run"))
        note = (f"quern: taking the newest checkpoint, 'run/checkpoints/ckpt-{last:010}.h5'; best.h5 is of epoch {best} "
                "(--best takes it)\n")
        rest = {"evaluate": ["--data", "test"], "predict": ["--data", "test"], "checkpoint hash": [],
                "checkpoint show": [], "checkpoint export": ["--force", "--out", "w.safetensors"]}
        for command, options in rest.items():
            words = command.split()
            newest = self.quern(*words, "run", *options)
            self.assertEqual((newest.code, newest.err.count(note)), (0, 1), newest)
            chosen = self.quern(*words, "run", "--best", *options)
            self.assertEqual((chosen.code, "best" in chosen.err), (0, False), chosen)
            named = self.quern(*words, self.best_file("run"), *options)
            self.assertEqual(chosen.out.replace("run/checkpoints", "X"),
                             named.out.replace(str(self.folder / "run/checkpoints"), "X"))
            refused = self.quern(*words, self.best_file("run"), "--best", *options)
            self.assertEqual(refused.code, 2, refused)
            self.assertIn("is a file, expected a run folder", refused.err)
        ranks = self.quern("evaluate", "run", "--best", "--data", "test", ranks=2)
        self.assertIn(f"loss {min(self.evaluations('run')):.6f} ", ranks.out)
        self.train("mlp", "plain", "train.epochs=1")
        refused = self.quern("evaluate", "plain", "--best", "--data", "test", ranks=2)
        self.assertEqual(set(refused.codes), {2}, refused)
        self.assertIn("there is no best.h5 in 'plain/checkpoints' (a run keeps one with checkpoint.keep_best)", refused.err)

    def test_the_epoch_is_that_of_the_file(self):
        """Which may be another than the newest checkpoint knows: of an earlier start, or a copy."""
        self.train("mlp", "run", *SHAKY)
        self.train("mlp", "one", "train.epochs=1")
        first = checkpoint_file(self.folder / "one", STEPS)
        shutil.copy(first, self.best_file("run"))
        for command in ("evaluate", "run", "--data", "test"), ("checkpoint", "hash", "run"):
            self.assertIn("; best.h5 is of epoch 1 (--best takes it)\n", self.quern(*command).err)
        Path(self.best_file("run")).write_bytes(first.read_bytes()[:-100])
        done = self.quern("checkpoint", "hash", "run")
        self.assertIn("; best.h5 cannot be read (quern checkpoint verify says why)\n", done.err)
        self.assertEqual((done.code, done.out), (0, self.quern("checkpoint", "hash", "run").out))
        shutil.copy(checkpoint_file(self.folder / "run", max(checkpoint_steps(self.folder / "run"))), self.best_file("run"))
        self.assertEqual(self.quern("checkpoint", "hash", "run").err, "")

    def test_ranks_threads_and_stops_change_nothing(self):
        self.train("mlp", "run", *SHAKY)
        for ranks in (2, 3):
            self.train("mlp", f"run-{ranks}", *SHAKY, ranks=ranks)
            self.assert_same_run(f"run-{ranks}", "run")
            self.assertEqual(self.hash(self.best_file(f"run-{ranks}")), self.hash(self.best_file("run")))
        for epochs in range(1, len(self.evaluations("run"))):  # a start for each epoch, one of them the best
            self.train("mlp", "part", *SHAKY, f"train.epochs={epochs}", ranks=1 + epochs % 2)
        self.train("mlp", "part", *SHAKY)
        self.assert_same_run("part", "run")
        self.assertEqual(self.hash(self.best_file("part")), self.hash(self.best_file("run")))

    def test_a_split_network_has_a_best_checkpoint_too(self):
        for kind in ("pipeline", "tensor", "shard_optimizer"):
            value = "true" if kind == "shard_optimizer" else "2"
            self.train("mlp", kind, *SHAKY, f"parallel.{kind}={value}", ranks=2)
            self.assert_ended_by_patience(kind)
            self.assertEqual(self.best_step(kind), STEPS * self.best_epoch(kind))

    def test_an_ended_training_is_over_until_it_may_go_on(self):
        self.train("mlp", "run", *SHAKY)
        before = self.evaluations("run")
        self.train("mlp", "run", *SHAKY)
        self.assertEqual(self.evaluations("run"), before)
        self.train("mlp", "run", *SHAKY, f"train.epochs={len(before) + 2}", "train.patience=0")
        self.assertEqual(len(self.evaluations("run")), len(before) + 2)

    def test_each_better_one_is_written_whatever_else_is(self):
        self.train("mlp", "run", *SHAKY, "checkpoint.every_epochs=0", "checkpoint.keep=50")
        losses = self.evaluations("run")
        better = [epoch for epoch in range(1, len(losses) + 1) if min(losses[:epoch]) < min(losses[:epoch - 1], default=9e9)]
        self.assertEqual(checkpoint_steps(self.folder / "run"),
                         sorted({STEPS * epoch for epoch in (*better, len(losses))}))

    def test_accuracy(self):
        self.train("mlp", "run", *SHAKY, 'train.monitor="accuracy"', "train.patience=5")
        accuracies = self.evaluations("run", "accuracy")
        best = accuracies.index(max(accuracies)) + 1
        self.assertEqual(len(accuracies), best + 5)
        self.assertEqual(self.best_step("run"), STEPS * best)

    def test_another_monitor_begins_anew(self):
        self.train("mlp", "run", *SHAKY, "train.epochs=4", "train.patience=0")
        done = self.train("mlp", "run", *SHAKY, 'train.monitor="accuracy"', "train.epochs=6", "train.patience=2")
        accuracies = self.evaluations("run", "accuracy")
        self.assertEqual(len(accuracies), 6)  # not at once: nothing was compared before
        best = 5 + (accuracies[5] > accuracies[4])
        self.assertEqual(self.best_step("run"), STEPS * best)
        self.assertIn("best.h5' is not of the run that goes on here: it is 'best-old.h5' from now on", done.err)
        self.assertTrue(self.best_file("run").with_name("best-old.h5").exists())

    def test_a_run_that_goes_on_from_earlier_loses_what_is_no_more_its_own(self):
        self.train("mlp", "run", *SHAKY, "checkpoint.keep=50")
        best = self.best_epoch("run")
        early = checkpoint_file(self.folder / "run", STEPS)
        shutil.copy(early, self.folder / "early.h5")
        settings = [part for item in (*SHAKY, "train.epochs=1") for part in ("--set", item)]
        done = self.quern("train", "mlp.toml", "--run-dir", "other", "--resume", "early.h5", *settings)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.best_step("other"), STEPS)  # that of the file, which was written here
        self.best_file("other").unlink()
        shutil.copy(self.best_file("run"), self.best_file("other"))
        self.train("mlp", "other", *SHAKY, "train.epochs=1")
        self.assertEqual(self.best_step("other"), STEPS)
        self.assertGreater(best, 1)

    def test_other_test_data_begin_anew(self):
        (self.folder / "other").mkdir()
        training.make_shards(self.folder / "other", "test", *idx.blobs(60, seed=14))
        self.train("mlp", "run", *SHAKY, "train.epochs=4", "train.patience=0", 'data.test="other/test"')
        # What the other set gave is not what this one has to beat.
        self.train("mlp", "run", *SHAKY, "train.epochs=6", "train.patience=0")
        losses = self.evaluations("run")
        self.assertLess(min(losses[:4]), min(losses[4:]))
        self.assertEqual(self.best_step("run"), STEPS * (5 + (losses[5] < losses[4])))

    def wild_test_data(self):
        """All evaluations of these are infinite, or no numbers."""
        (self.folder / "wild").mkdir()
        np.save(self.folder / "x.npy", np.full((40, 12, 12), 3e38, np.float32))
        np.save(self.folder / "y.npy", np.arange(40, dtype=np.uint8) % 10)
        done = self.quern("shard", "--images", "x.npy", "--labels", "y.npy", "--out", "wild/test", "--split", "test")
        self.assertEqual(done.code, 0, done)

    def test_patience_without_any_finite_evaluation(self):
        """It ends when it would have without stops."""
        self.wild_test_data()
        rate = "optimizer.lr=1e-20"  # so that no weight hides what is infinite
        sets = (*SHAKY, rate, 'data.test="wild/test"')
        self.train("mlp", "run", *sets)
        self.assertEqual([type(loss) for loss in self.evaluations("run")], [str] * 3)
        for epochs in (1, 2):
            self.train("mlp", f"run-{epochs}", *sets, f"train.epochs={epochs}")
            self.train("mlp", f"run-{epochs}", *sets, ranks=2)
            self.assert_same_run(f"run-{epochs}", "run")
        # Behind evaluations of other data: three epochs from there on.
        for stops in ((), (3,), (3, 4)):
            name = f"other-{len(stops)}"
            self.train("mlp", name, *SHAKY, rate, "train.epochs=2")
            for epochs in (*stops, 40):
                self.train("mlp", name, *sets, f"train.epochs={epochs}")
            self.assertEqual(len(self.evaluations(name)), 5)
            self.assertTrue((self.folder / name / "DONE").exists())

    def test_a_start_from_the_best_keeps_it(self):
        self.train("mlp", "run", *SHAKY)
        settings = [part for item in (*SHAKY, "train.patience=1") for part in ("--set", item)]
        done = self.quern("train", "mlp.toml", "--run-dir", "other", "--resume", self.best_file("run"), *settings)
        self.assertEqual(done.code, 0, done)
        self.assertNotIn("warning", done.err)
        self.assertEqual(self.best_step("other"), STEPS * self.best_epoch("run"))
        self.assertIn("other/checkpoints/best.h5", done.out)

    def test_all_that_is_left_is_not_trained_over(self):
        self.train("mlp", "run", *SHAKY)
        (self.folder / "run" / "DONE").unlink()
        for step in checkpoint_steps(self.folder / "run"):
            checkpoint_file(self.folder / "run", step).unlink()
        before = self.best_file("run").read_bytes()
        done = self.train("mlp", "run", *SHAKY, expected=93)
        self.assertIn("has no checkpoint left to resume from but that of its best evaluation (--resume "
                      "'run/checkpoints/best.h5' goes on from that;", done.err)
        self.assertEqual(self.best_file("run").read_bytes(), before)
        self.assertIn("by its name", self.quern("evaluate", "run", "--data", "test").err)

    def damage_file(self, file):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)

    def test_one_that_is_damaged_is_called_so(self):
        self.train("mlp", "run", *SHAKY)
        self.damage_file(self.best_file("run"))
        done = self.train("mlp", "run", *SHAKY)
        self.assertRegex(done.err, r"warning: 'run/checkpoints/best\.h5' is damaged \(.+\): it is 'best-old\.h5' from now on")
        self.assertNotIn("not of the run", done.err)

    def test_one_that_is_left_beside_damaged_ones_is_named(self):
        self.train("mlp", "run", *SHAKY)
        for step in checkpoint_steps(self.folder / "run"):
            self.damage_file(checkpoint_file(self.folder / "run", step))
        done = self.train("mlp", "run", *SHAKY, expected=93)
        self.assertIn("none of the 1 checkpoints in 'run/checkpoints' can be used (quern checkpoint verify says why; expected one that is "
                      "whole, or 'run/checkpoints/best.h5', that of the best evaluation, by its name)", done.err)

    def test_one_that_is_gone_is_warned_of(self):
        self.train("mlp", "run", *SHAKY)
        self.best_file("run").unlink()
        done = self.train("mlp", "run", *SHAKY)
        self.assertIn(f"warning: the checkpoint of the best evaluation, epoch {self.best_epoch('run')} with test loss ",
                      done.err)
        self.assertFalse(self.best_file("run").exists())

    def test_a_run_may_begin_to_keep_it_later(self):
        self.train("mlp", "run", *SHAKY, "checkpoint.keep_best=false", "checkpoint.keep=50")
        self.assertFalse(self.best_file("run").exists())
        self.train("mlp", "run", *SHAKY)
        self.assertEqual(self.best_step("run"), STEPS * self.best_epoch("run"))

    def test_a_file_system_without_links_gets_a_copy(self):
        done = training.Run(*self.train_arguments("mlp", "run", SHAKY), cwd=self.folder,
                            env={"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_NO_LINKS": "1"}).wait()
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.best_step("run"), STEPS * self.best_epoch("run"))
        self.assertEqual(self.best_file("run").stat().st_nlink, 1)

    def test_lists_and_checks_know_it(self):
        self.train("mlp", "run", *SHAKY)
        best = self.best_epoch("run")
        listed = self.quern("checkpoint", "ls", "run")
        self.assertRegex(listed.out, rf"(?m)^ +{STEPS * best} +{best} .* good +best\.h5 +best$")
        shown = self.quern("checkpoint", "show", self.best_file("run"))
        self.assertRegex(shown.out, rf"(?m)^  best +loss [0-9.]+ of epoch {best}, step {STEPS * best}$")
        self.assertIn("best.h5", self.quern("checkpoint", "verify", "run").out)
        damaged = bytearray(self.best_file("run").read_bytes())
        damaged[len(damaged) // 2] ^= 1
        self.best_file("run").write_bytes(damaged)
        self.assertEqual(self.quern("checkpoint", "verify", "run").code, 93)
        self.assertRegex(self.quern("checkpoint", "ls", "run").out, r"(?m)^ +\? .* damaged +best\.h5 +best$")
        self.assertEqual(self.quern("evaluate", "run", "--data", "test").code, 0)

    def test_kills_change_nothing(self):
        self.train("mlp", "whole", *SHAKY)
        file = self.folder / "run" / "metrics.jsonl"

        def evaluations():
            return file.read_text().count('"eval"') if file.exists() else 0

        while (count := evaluations() + 1) <= self.best_epoch("whole"):
            run = self.start("mlp", "run", *SHAKY, "checkpoint.every_steps=1")
            self.assertTrue(run.wait_until(lambda goal=count: evaluations() >= goal))
            run.kill()
        self.train("mlp", "run", *SHAKY, ranks=2)
        self.assert_same_run("run", "whole")
        self.assertEqual(self.hash(self.best_file("run")), self.hash(self.best_file("whole")))


if __name__ == "__main__":
    training.main()
