# SPDX-License-Identifier: Apache-2.0
"""train.evaluate_every: the test set is evaluated after every so many epochs and after the last; patience, best.h5 and
resumed runs go by the evaluations that there are."""
import signal

import h5py
import training
from refusal import RefusalTest
from training import metrics

STEPS = 13  # of an epoch
# So large a rate that evaluations become better and worse.
SHAKY = ("train.epochs=40", "train.patience=6", "checkpoint.keep_best=true", 'optimizer.type="sgd"', "optimizer.lr=1.0")
EVERY = "train.evaluate_every=3"


class EvaluateEveryTest(RefusalTest):
    def evaluations(self, run):
        """{epoch: loss}"""
        return {line["epoch"]: line["loss"] for line in metrics(self.folder / run, "eval")}

    def best_step(self, run):
        with h5py.File(self.folder / run / "checkpoints" / "best.h5", "r") as checkpoint:
            return int(checkpoint["train"].attrs["step"])

    def test_so_many_epochs_apart_and_after_the_last(self):
        self.train("mlp", "whole", "train.epochs=5")
        every = self.evaluations("whole")
        for number, (gap, epochs) in enumerate(((1, (1, 2, 3, 4, 5)), (2, (2, 4, 5)), (5, (5,)), (7, (5,)))):
            run = f"run-{gap}"
            done = self.train("mlp", run, "train.epochs=5", f"train.evaluate_every={gap}", ranks=number % 3)
            self.assertEqual(self.evaluations(run), {epoch: every[epoch] for epoch in epochs})
            self.assertEqual(metrics(self.folder / run, "epoch")[-1]["epoch"], 5)
            self.assertEqual(self.hash(run), self.hash("whole"))
            self.assertEqual((done.out.count("epoch "), done.out.count("test loss")), (5, len(epochs)), done)
        self.assertIn("evaluate_every = 2\n", (self.folder / "run-2" / "recipe.toml").read_text())

    def test_patience_and_the_best_checkpoint_go_by_evaluations(self):
        self.train("mlp", "whole", *SHAKY, "train.patience=0")
        every = self.evaluations("whole")
        best = epoch = 3  # as a run finds it that looks at every third
        while epoch - best < 6:
            epoch += 3
            best = epoch if every[epoch] < every[best] else best
        self.assertLess(epoch, 40)
        for ranks in (0, 2):
            run = f"run-{ranks}"
            done = self.train("mlp", run, *SHAKY, EVERY, ranks=ranks)
            self.assertEqual(sorted(self.evaluations(run)), list(range(3, epoch + 1, 3)))
            self.assertEqual(metrics(self.folder / run, "epoch")[-1]["epoch"], epoch)
            self.assertEqual(self.best_step(run), STEPS * best)
            self.assertIn("no lower test loss for 6 epochs (train.patience): the training ends\n", done.out)
        again = self.train("mlp", "run-0", *SHAKY, EVERY)  # it stays at its end
        self.assertIn("(train.patience): the training ends\n", again.out)
        self.assertEqual(max(self.evaluations("run-0")), epoch)

    def test_only_an_evaluation_ends_the_training(self):
        # Nothing is better than epoch 1, and epoch 7 is as far from it as patience allows, without an evaluation.
        sets = (*SHAKY, EVERY, "optimizer.lr=1e-30")
        self.train("mlp", "run", *sets, "train.epochs=1")
        self.train("mlp", "run", *sets)
        self.assertEqual(sorted(self.evaluations("run")), [1, 3, 6, 9])
        self.assertEqual(self.best_step("run"), STEPS)

    def stop_after(self, epochs, *sets, kill=False, ranks=0):
        file = self.folder / "run" / "metrics.jsonl"

        def trained():
            return file.read_text().count('"kind":"epoch"') if file.exists() else 0

        epochs = max(epochs, trained() + 1)  # of this start: what an earlier one wrote says nothing of it
        run = self.start("mlp", "run", *sets, "checkpoint.every_steps=1", ranks=ranks)
        self.assertTrue(run.wait_until(lambda: trained() >= epochs))
        if kill:
            run.kill()
        else:
            run.send(signal.SIGUSR1)
            self.assertEqual(run.wait().code, 85)

    def test_stops_and_kills_change_nothing(self):
        sets = (*SHAKY, EVERY, "train.epochs=49", "train.patience=0")
        self.train("mlp", "whole", *sets)
        for epochs, ranks in ((1, 1), (2, 2), (5, 3), (8, 2)):
            self.stop_after(epochs, *sets, kill=epochs % 2 == 1, ranks=ranks)
        self.train("mlp", "run", *sets, ranks=2)
        self.assert_same_run("run", "whole")
        self.assertEqual(sorted(self.evaluations("run")), [*range(3, 49, 3), 49])
        self.assertEqual(self.best_step("run"), self.best_step("whole"))

    def test_stops_in_the_last_step_of_an_epoch(self):
        # It is the only step of an epoch; the next start evaluates, or not.
        sets = ("data.global_batch=600", "train.epochs=3000", "train.evaluate_every=7", "checkpoint.every_epochs=0")
        self.train("mlp", "whole", *sets)
        for epochs in (3, 20, 21, 35):
            self.stop_after(epochs, *sets, ranks=2)
        self.train("mlp", "run", *sets)
        self.assert_same_run("run", "whole")

    def test_more_epochs_and_another_gap_later(self):
        self.train("mlp", "run", EVERY, "train.epochs=4")
        self.train("mlp", "run", EVERY, "train.epochs=6", ranks=2)
        self.assertEqual(sorted(self.evaluations("run")), [3, 4, 6])
        self.train("mlp", "run", "train.epochs=8")
        self.assertEqual(sorted(self.evaluations("run")), [3, 4, 6, 7, 8])
        self.train("mlp", "whole", "train.epochs=8")
        self.assertEqual(self.hash("run"), self.hash("whole"))

    def test_bad_values(self):
        words = self.train_arguments("mlp", "run", [EVERY, "train.patience=4"])
        self.refused(words, "--set: train.patience: 4 is no multiple of train.evaluate_every = 3, expected one")
        for value in ("0", "-1", "1.5", "often"):
            self.refused(self.train_arguments("mlp", "run", [f"train.evaluate_every={value}"]), "train.evaluate_every: ",
                         ranks=[0])

    def test_without_a_test_set_it_means_nothing(self):
        self.train("mlp", "run", EVERY, 'data.test=""', "train.epochs=2")
        self.assertEqual(self.evaluations("run"), {})

    def test_commands_read_such_a_run(self):
        self.train("mlp", "run", "train.evaluate_every=3", "train.epochs=4")
        table = self.quern("metrics", "run", "--csv")
        self.assertEqual(table.code, 0, table)
        self.assertEqual([line.split(",")[1] for line in table.out.splitlines() if line.startswith("eval,")], ["3", "4"])
        self.assertEqual(self.quern("watch", "run", "--once").code, 0)


if __name__ == "__main__":
    training.main()
