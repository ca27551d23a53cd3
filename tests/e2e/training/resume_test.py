# SPDX-License-Identifier: Apache-2.0
"""Stopping on request, and going on with another number of ranks: the same bits as without."""
import fcntl
import json
import re
import shutil
import signal

import training
from training import checkpoint_steps, metrics, tree

LONG = "train.epochs=150"
# For runs that are stopped: long enough that the stop comes before the end on any machine.
SLOW = (LONG, "checkpoint.every_steps=1")
STEPS_PER_EPOCH = 13


class ResumeTest(training.TrainingTest):
    def wait_for_step(self, run, name, step):
        """Until the run has logged this step."""
        file = self.folder / name / "metrics.jsonl"
        return run.wait_until(lambda: file.exists() and f'"step":{step},' in file.read_text())

    def assert_stopped(self, done, name):
        self.assertEqual(set(done.codes), {85}, done)
        self.assertEqual(done.code, 85, done)
        self.assertEqual(done.errors(), [])
        step = checkpoint_steps(self.folder / name)[-1]
        self.assertIn(f"stopped at step {step}", done.out)
        self.assertFalse((self.folder / name / "DONE").exists())
        self.assertEqual(self.quern("checkpoint", "verify", name).code, 0)
        return step

    def test_signals_and_stop_file_on_three_ranks(self):
        self.train("conv", "whole", LONG, "train.log_every_steps=0")
        name = "stopped"
        run = self.start("conv", name, *SLOW, ranks=3)
        self.assertTrue(self.wait_for_step(run, name, 4))
        run.send(signal.SIGUSR1)
        first = self.assert_stopped(run.wait(), name)

        run = self.start("conv", name, *SLOW, ranks=2)
        self.assertTrue(self.wait_for_step(run, name, first + 3))
        run.send(signal.SIGTERM, only_first=True)  # one rank hears it, all of them stop
        second = self.assert_stopped(run.wait(), name)
        self.assertGreater(second, first)

        run = self.start("conv", name, *SLOW, ranks=3)
        self.assertTrue(self.wait_for_step(run, name, second + 3))
        stop = self.folder / name / "STOP"
        stop.touch()
        done = run.wait()
        third = self.assert_stopped(done, name)
        self.assertIn("remove that file, then the same command resumes", done.out)
        self.assertGreater(third, second)
        stop.unlink()

        self.train("conv", name, LONG, "train.log_every_steps=0", ranks=2)
        self.assert_same_run(name, "whole")
        self.assertTrue((self.folder / name / "DONE").exists())

    def test_signals_that_keep_coming(self):
        # Slurm's reach the nodes one after the other, and come again: late ones must not kill.
        for ranks in (1, 3):
            name = f"storm-{ranks}"
            run = self.start("conv", name, *SLOW, ranks=ranks)
            self.assertTrue(self.wait_for_step(run, name, 4))
            run.send(signal.SIGTERM, only_first=True)
            run.wait_until(lambda: run.send(signal.SIGTERM))  # to the end of the run
            self.assert_stopped(run.wait(), name)

    def test_signals_that_come_before_the_first_step(self):
        # While MPI starts and data is loaded: the run stops after its first step.
        self.train("mlp", "whole", LONG)
        for ranks in (0, 2):
            name = f"early-{ranks}"
            (self.folder / name).mkdir()
            with open(self.folder / name / ".lock", "w") as lock:  # held: it cannot begin yet
                fcntl.flock(lock, fcntl.LOCK_EX)
                run = self.start("mlp", name, *SLOW, ranks=ranks)
                self.assertTrue(run.wait_until(lambda: "waiting for it to end" in run.err()))
                run.send(signal.SIGUSR1)
            self.assertEqual(self.assert_stopped(run.wait(), name), 1)
            self.train("mlp", name, LONG)
            self.assert_same_run(name, "whole")

    def test_signals_after_the_last_step(self):
        # Rank 0 alone writes the last checkpoint: nobody may leave, or be killed, before.
        self.train("mlp", "whole")
        run = self.start("mlp", "run", ranks=3)
        self.assertTrue(run.wait_until(lambda: run.catches(signal.SIGUSR1, 3)))
        last = '"kind":"eval","epoch":3'
        file = self.folder / "run" / "metrics.jsonl"
        run.wait_until(lambda: file.exists() and last in file.read_text())
        run.wait_until(lambda: run.send(signal.SIGTERM))  # to the end of the run
        done = run.wait()
        self.assertEqual(set(done.codes), {0}, done)
        self.assertTrue((self.folder / "run" / "DONE").exists())
        self.assert_same_run("run", "whole")

    def test_two_at_once_in_one_folder(self):
        # The second one waits, and goes on where the first one stopped.
        self.train("mlp", "whole", LONG)
        first = self.start("mlp", "run", *SLOW, ranks=2)
        self.assertTrue(self.wait_for_step(first, "run", 5))
        second = self.start("mlp", "run", LONG, ranks=2)
        self.assertTrue(second.wait_until(lambda: "waiting for it to end" in second.err()))
        first.send(signal.SIGUSR1)
        done = first.wait()
        self.assertEqual(set(done.codes), {85}, done)
        step = int(re.search(r"stopped at step (\d+)", done.out).group(1))
        done = second.wait()
        self.assertEqual(set(done.codes), {0}, done)
        self.assertIn(f"ckpt-{step:010}.h5", done.err)
        self.assert_same_run("run", "whole")

    def test_refused_after_waiting(self):
        # Another training, of another recipe, was here meanwhile: nothing of it is touched.
        (self.folder / "run").mkdir()
        with open(self.folder / "run" / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            run = self.start("mlp", "run", ranks=2)
            self.assertTrue(run.wait_until(lambda: "waiting for it to end" in run.err()))
            self.assertNotIn("begins anew", run.err())
            shutil.copy(self.folder / "conv.toml", self.folder / "run" / "recipe.toml")
            before = tree(self.folder / "run")
        done = run.wait()
        self.assertEqual(set(done.codes), {2}, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertIn("belongs to a run of a different recipe", done.errors()[0])
        self.assertEqual(tree(self.folder / "run"), before)

    def test_signal_to_the_single_process(self):
        self.train("mlp", "whole", LONG)
        for number in (signal.SIGUSR1, signal.SIGTERM):
            name = number.name
            run = self.start("mlp", name, *SLOW)
            self.assertTrue(self.wait_for_step(run, name, 5))
            run.send(number)
            done = run.wait()
            self.assert_stopped(done, name)
            self.assertIn(number.name, done.out)
            self.train("mlp", name, LONG)
            self.assert_same_run(name, "whole")

    def test_ctrl_c(self):
        self.train("mlp", "whole", LONG)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored, which children inherit
        run = self.start("mlp", "run", *SLOW)
        self.assertTrue(self.wait_for_step(run, "run", 5))
        run.send(signal.SIGINT)
        done = run.wait()
        self.assertEqual(done.code, -signal.SIGINT, done)
        step = checkpoint_steps(self.folder / "run")[-1]
        self.assertIn(f"stopped at step {step} on request (Ctrl-C); a checkpoint is written", done.out)
        self.assertIn("a checkpoint is written after this step", done.err)
        self.train("mlp", "run", LONG)
        self.assert_same_run("run", "whole")

    def test_stop_file_that_is_there_already(self):
        (self.folder / "run").mkdir()
        (self.folder / "run" / "STOP").touch()
        before = tree(self.folder / "run")
        done = self.start("mlp", "run", ranks=2).wait()
        self.assertEqual(set(done.codes), {2}, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertIn("STOP", done.errors()[0])
        self.assertEqual(tree(self.folder / "run"), before)

    def test_every_stop_is_in_the_last_step_of_an_epoch(self):
        whole = ("data.global_batch=600", "train.epochs=400", "checkpoint.every_epochs=0")
        self.train("mlp", "whole", *whole)
        run = self.start("mlp", "run", *whole, "checkpoint.every_steps=1", ranks=2)
        self.assertTrue(self.wait_for_step(run, "run", 3))
        run.send(signal.SIGUSR1)
        step = self.assert_stopped(run.wait(), "run")
        self.assertEqual(metrics(self.folder / "run", "epoch")[-1]["epoch"], step - 1)
        self.train("mlp", "run", *whole, ranks=3)
        self.assert_same_run("run", "whole")

    def test_a_batch_of_more_samples_than_there_are(self):
        # 600 samples: every step takes all of them, and the same command goes on.
        for batch in ("data.global_batch=1024", "data.batch_per_rank=700"):
            whole = ("train.epochs=6", "train.micro_block=7", batch)
            for ranks in (1, 2):
                name = f"{batch}-{ranks}"
                self.train("mlp", f"{name}-whole", *whole, ranks=ranks)
                done = self.train("mlp", name, *whole, "train.epochs=2", ranks=ranks)
                self.assertIn("every step takes all of them", done.err)
                self.train("mlp", name, *whole, ranks=ranks)
                self.assertEqual(checkpoint_steps(self.folder / name), [4, 5, 6])
                self.assert_same_run(name, f"{name}-whole")
                evaluated = self.quern("evaluate", name, "--data", "test", "--json")
                self.assertEqual(json.loads(evaluated.out)["loss"],
                                 metrics(self.folder / name, "eval")[-1]["loss"])

    def test_a_warm_up_that_is_longer_than_the_run(self):
        sets = ("data.global_batch=100", "train.epochs=2")  # 12 steps
        for steps, warned in ((13, 1), (12, 0)):
            done = self.train("mlp", f"warm-up-{steps}", *sets, f"optimizer.schedule.warmup_steps={steps}")
            self.assertEqual(done.err.count("warning: the run has 12 steps, but optimizer.schedule.warmup_steps = 13"),
                             warned, done)

    def test_batches_that_differ_only_above_the_samples_are_the_same(self):
        self.train("mlp", "run", "train.epochs=1", "data.global_batch=1024")
        self.train("mlp", "run", "train.epochs=2", "data.global_batch=600", ranks=2)
        done = self.start("mlp", "run", "train.epochs=3", "data.global_batch=599").wait()
        self.assertEqual(done.code, 2, done)
        self.assertIn("data.global_batch is 600 there, and 599 now", done.errors()[0])

    def test_checkpoint_in_the_last_step_of_an_epoch(self):
        self.train("mlp", "whole")
        self.train("mlp", "run", "checkpoint.every_steps=1", "checkpoint.keep=100", ranks=2)
        folder = self.folder / "run" / "checkpoints"
        # Step 13 was saved within the first epoch, then again after it; 12 is the last before.
        for step in checkpoint_steps(self.folder / "run"):
            if step > 12:
                training.checkpoint_file(self.folder / "run", step).unlink()
        self.assertTrue(list(folder.iterdir()))
        self.train("mlp", "run", ranks=3)
        self.assert_same_run("run", "whole")

    def test_nothing_left_to_do(self):
        self.train("mlp", "run")
        before = tree(self.folder / "run" / "checkpoints")
        lines = metrics(self.folder / "run")
        done = self.train("mlp", "run", ranks=2)
        self.assertIn("done", done.out)
        self.assertEqual((self.folder / "run" / "DONE").read_text(), self.hash("run"))
        self.assertEqual(tree(self.folder / "run" / "checkpoints"), before)
        self.assertEqual(metrics(self.folder / "run"), lines)

    def test_more_epochs_later(self):
        self.train("mlp", "whole", "train.epochs=5")
        self.train("mlp", "run", "train.epochs=2", ranks=2)
        self.assertTrue((self.folder / "run" / "DONE").exists())
        self.train("mlp", "run", "train.epochs=5", ranks=3)
        self.assert_same_run("run", "whole")

    def stop_in_epoch(self, name, epoch, *sets):
        """Stops a run amid this epoch, and leaves a checkpoint of its second step."""
        step = (epoch - 1) * STEPS_PER_EPOCH + 2
        self.train("mlp", name, *sets, f"train.epochs={epoch}", f"checkpoint.every_steps={step}", "checkpoint.every_epochs=0")
        training.checkpoint_file(self.folder / name, epoch * STEPS_PER_EPOCH).unlink()
        (self.folder / name / "DONE").unlink()
        self.assertEqual(checkpoint_steps(self.folder / name), [step])

    def test_fewer_epochs_than_were_begun(self):
        """They would end with the weights of a part of an epoch."""
        self.stop_in_epoch("run", 3)
        before = tree(self.folder / "run")
        for epochs in (1, 2):
            done = self.train("mlp", "run", f"train.epochs={epochs}", ranks=2, expected=2)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(f"train.epochs is {epochs}, but 'run/checkpoints/ckpt-0000000028.h5' has trained 2 already and a "
                          "part of the next (expected at least 3, or another --run-dir)", done.errors()[0])
            self.assertEqual(tree(self.folder / "run"), before)
        self.train("mlp", "run", ranks=2)
        self.train("mlp", "whole")
        self.assert_same_run("run", "whole")
        done = self.train("mlp", "run", "train.epochs=2", expected=2)
        self.assertIn("has trained 3 already (expected at least 3,", done.errors()[0])

    def test_less_patience_than_was_needed_already(self):
        """The epoch in progress is trained to its end."""
        sets = ("optimizer.lr=1e-20", "optimizer.schedule=\"constant\"")  # no evaluation is better than the first
        self.stop_in_epoch("run", 4, *sets)
        done = self.train("mlp", "run", *sets, "train.epochs=9", "train.patience=2")
        self.assertIn("no lower test loss for 2 epochs", done.out)
        self.train("mlp", "whole", *sets, "train.epochs=4")
        self.assert_same_run("run", "whole")

    def test_done_is_gone_while_training_goes_on(self):
        self.train("mlp", "run")
        run = self.start("mlp", "run", *SLOW, ranks=2)
        self.assertTrue(self.wait_for_step(run, "run", 3 * STEPS_PER_EPOCH + 2))
        self.assertFalse((self.folder / "run" / "DONE").exists())
        run.send(signal.SIGUSR1)
        self.assert_stopped(run.wait(), "run")

    def test_start_from_a_file_of_another_run(self):
        self.train("mlp", "whole")
        self.train("mlp", "first", "train.epochs=1", ranks=2)
        file = training.checkpoint_file(self.folder / "first", STEPS_PER_EPOCH)
        done = self.quern("train", "mlp.toml", "--run-dir", "second", "--resume", file, ranks=2)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertEqual(self.hash("second"), self.hash("whole"))
        # With nothing left to train the folder still holds what it promises.
        last = training.checkpoint_file(self.folder / "whole", 3 * STEPS_PER_EPOCH)
        done = self.quern("train", "mlp.toml", "--run-dir", "third", "--resume", last, ranks=2)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertEqual(self.hash("third"), self.hash("whole"))

    def test_start_from_a_file_where_that_step_is_done_already(self):
        self.train("mlp", "whole")
        last = training.checkpoint_file(self.folder / "whole", 3 * STEPS_PER_EPOCH)
        # A backup over a damaged one, and over the same one.
        shutil.copytree(self.folder / "whole", self.folder / "run")
        mine = training.checkpoint_file(self.folder / "run", 3 * STEPS_PER_EPOCH)
        damaged = bytearray(mine.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        mine.write_bytes(damaged)
        for warnings in (1, 0):
            done = self.quern("train", "mlp.toml", "--run-dir", "run", "--resume", last, ranks=2)
            self.assertEqual((done.code, done.err.count("this checkpoint is passed over")), (0, warnings), done)
            self.assertEqual(self.quern("checkpoint", "verify", "run").code, 0)
            self.assert_same_run("run", "whole")
        # Over damaged ones of later steps, too.
        shutil.rmtree(self.folder / "run")
        shutil.copytree(self.folder / "whole", self.folder / "run")
        steps = checkpoint_steps(self.folder / "run")
        for step in steps:
            training.checkpoint_file(self.folder / "run", step).write_text("junk")
        first = training.checkpoint_file(self.folder / "whole", steps[0])
        done = self.quern("train", "mlp.toml", "--run-dir", "run", "--resume", first, ranks=2)
        self.assertEqual((done.code, done.err.count("this checkpoint is passed over")), (0, len(steps)), done)
        self.assert_same_run("run", "whole")
        training.checkpoint_file(self.folder / "run", steps[-1]).write_text("junk")
        done = self.quern("train", "mlp.toml", "--run-dir", "run", "--resume", "run")
        self.assertEqual((done.code, done.err.count("this checkpoint is passed over")), (0, 1), done)
        self.assert_same_run("run", "whole")
        # One of another past.
        self.train("mlp", "seeded", "seed=9")
        self.quern("checkpoint", "export", "seeded", "--out", "w.safetensors")
        self.quern("import", "w.safetensors", "--recipe", "mlp.toml", "--out", "start.h5")
        done = self.quern("train", "mlp.toml", "--run-dir", "other", "--resume", "start.h5")
        self.assertEqual(done.code, 0, done)
        before = tree(self.folder / "run")
        other = training.checkpoint_file(self.folder / "other", 3 * STEPS_PER_EPOCH)
        done = self.quern("train", "mlp.toml", "--run-dir", "run", "--resume", other, ranks=2)
        self.assertEqual((set(done.codes), len(done.errors())), ({2}, 1), done)
        self.assertIn("has a checkpoint of step 39, which is not the same as the one to start from", done.err)
        self.assertEqual(tree(self.folder / "run"), before)

    def test_a_stop_after_a_start_from_a_file_says_how_to_go_on(self):
        self.train("mlp", "whole", LONG)
        self.train("mlp", "first", LONG, "train.epochs=1", ranks=2)
        file = training.checkpoint_file(self.folder / "first", STEPS_PER_EPOCH)
        command = self.train_arguments("mlp", "run", SLOW)
        run = training.Run(*command, "--resume", file, cwd=self.folder, ranks=2)
        self.assertTrue(self.wait_for_step(run, "run", STEPS_PER_EPOCH + 2))
        run.send(signal.SIGUSR1)
        done = run.wait()
        self.assert_stopped(done, "run")
        self.assertIn("the same command with --resume auto resumes", done.out)
        stopped_at = checkpoint_steps(self.folder / "run")[-1]
        resumed = [*self.train_arguments("mlp", "run", [LONG]), "--resume", file]
        for last_step in (stopped_at, checkpoint_steps(self.folder / "whole")[-1]):  # the second finds it done
            done = self.quern(*resumed, ranks=3)
            self.assertEqual(set(done.codes), {0}, done)
            found = f"run/checkpoints/ckpt-{last_step:010}.h5"
            self.assertIn(f"continuing from {found}\n" if last_step == stopped_at else
                          f"{found} has all 150 epochs ({last_step} steps): the training is finished already (for "
                          "more epochs --set train.epochs=N, or take another --run-dir)", done.err)
            self.assertEqual(self.hash("run"), self.hash("whole"))
        shown = json.loads(self.quern("checkpoint", "show", "run", "--json").out)
        self.assertEqual(shown["started_from"], f"step {STEPS_PER_EPOCH}, model {self.hash('first').strip()}")
        # Another one is not what the run started from.
        own = training.checkpoint_file(self.folder / "run", checkpoint_steps(self.folder / "run")[0])
        done = self.quern(*resumed[:-1], own)
        self.assertEqual((done.code, "later than the one to start from" in done.err), (2, True), done)
        self.train("mlp", "later", LONG, "train.epochs=2")
        done = self.quern(*resumed[:-1], training.checkpoint_file(self.folder / "later", 2 * STEPS_PER_EPOCH))
        self.assertEqual(done.code, 2, done)
        self.assertIn("later than the one to start from", done.err)

    def test_a_kill_after_a_start_from_a_file_loses_no_start(self):
        """The next start goes on from there, not from random weights."""
        self.train("mlp", "whole", LONG)
        self.train("mlp", "first", LONG, "train.epochs=1", ranks=2)
        file = training.checkpoint_file(self.folder / "first", STEPS_PER_EPOCH)
        for ranks, sets in ((0, ()), (2, ("parallel.shard_optimizer=true",))):
            name, rare = f"run-{ranks}", (LONG, "checkpoint.every_epochs=1000", *sets)
            run = training.Run(*self.train_arguments("mlp", name, rare), "--resume", file, cwd=self.folder, ranks=ranks)
            self.assertTrue(self.wait_for_step(run, name, STEPS_PER_EPOCH + 2))
            run.kill()
            self.assertEqual(checkpoint_steps(self.folder / name), [STEPS_PER_EPOCH])
            done = self.train("mlp", name, *rare, ranks=ranks)
            self.assertIn(f"continuing from {name}/checkpoints/ckpt-0000000013.h5", done.err)
            self.assertEqual(self.hash(name), self.hash("whole"))

    def test_start_from_the_newest_good_checkpoint_of_a_run_folder(self):
        self.train("mlp", "whole")
        self.train("mlp", "first", "train.epochs=2", ranks=2)
        training.checkpoint_file(self.folder / "first", 2 * STEPS_PER_EPOCH).write_text("junk")
        for name, start in (("second", "first"), ("third", "first/checkpoints")):
            done = self.quern("train", "mlp.toml", "--run-dir", name, "--resume", start, ranks=2)
            self.assertEqual(set(done.codes), {0}, done)
            self.assertIn("continuing from first/checkpoints/ckpt-0000000013.h5", done.err)
            self.assertEqual(self.hash(name), self.hash("whole"))

    def test_a_run_that_ended_before_its_first_checkpoint_begins_anew(self):
        self.train("mlp", "whole")
        self.train("mlp", "run", "train.epochs=1")
        (self.folder / "run" / "DONE").unlink()
        shutil.rmtree(self.folder / "run" / "checkpoints")
        done = self.train("mlp", "run", ranks=2)
        self.assertEqual(done.err.count("there is no checkpoint in 'run': training begins anew"), 1, done)
        self.assert_same_run("run", "whole")

    def test_metrics_of_steps_that_were_lost_are_not_kept(self):
        self.train("mlp", "whole")
        self.train("mlp", "run", ranks=2)
        folder = self.folder / "run"
        for step in checkpoint_steps(folder)[1:]:
            training.checkpoint_file(folder, step).unlink()
        with open(folder / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write('{"kind":"step","epoch":3,"st')  # the power failed here
        self.train("mlp", "run", ranks=2)
        self.assert_same_run("run", "whole")
        steps = [line["step"] for line in metrics(folder, "step")]
        self.assertEqual(steps, list(range(1, 3 * STEPS_PER_EPOCH + 1)))
        for line in (folder / "metrics.jsonl").read_text().splitlines():
            json.loads(line)

    def test_metrics_that_were_lost_are_told_of(self):
        """Once, by the start that goes on behind them; the training is as without."""
        self.train("mlp", "whole")
        self.stop_in_epoch("first", 3)
        text = (self.folder / "first" / "metrics.jsonl").read_text()
        upto = text[:text.index('"step":29')]
        for name, kept, missing in (("none", None, "step 28"), ("empty", "", "step 28"), ("half", upto[:len(upto) // 2], "step 28"),
                                    ("torn", text[:text.index('"step":28') + 1], "step 28"), ("all", text, "")):
            with self.subTest(kept=name):
                shutil.copytree(self.folder / "first", self.folder / name)
                file = self.folder / name / "metrics.jsonl"
                file.unlink() if kept is None else file.write_text(kept)
                for warned in (1 if missing else 0, 0):
                    done = self.train("mlp", name, ranks=2)
                    self.assertEqual(done.err.count("warning: "), warned, done)
                    self.assertIn(f"metrics.jsonl' has no line of {missing}, expected all until step 28, where the run goes on"
                                  if warned else "", done.err)
                self.assertEqual(self.hash(name), self.hash("whole"))

    def test_metrics_that_were_never_written_are_not_missing(self):
        self.train("mlp", "run", "train.log_every_steps=0", "train.epochs=1")
        self.assertNotIn("warning", self.train("mlp", "run", "train.epochs=2").err)
        self.assertNotIn("warning", self.train("mlp", "run", "train.log_every_steps=1000").err)
        (self.folder / "run" / "metrics.jsonl").write_text("")
        done = self.train("mlp", "run", "train.epochs=4")
        self.assertIn("metrics.jsonl' has no line of epoch 3", done.err)
        # Of a run that began with the checkpoint of another one.
        file = training.checkpoint_file(self.folder / "run", 3 * STEPS_PER_EPOCH)
        done = self.quern(*self.train_arguments("mlp", "other", ["train.epochs=4"]), "--resume", file)
        self.assertNotIn("warning", done.err)
        self.assertNotIn("warning", self.train("mlp", "other", "train.epochs=5").err)


if __name__ == "__main__":
    training.main()
