# SPDX-License-Identifier: Apache-2.0
"""optimizer.schedule of type "plateau": the rate falls when evaluations stop getting better."""
import h5py
import numpy as np
import training
from refusal import RefusalTest
from training import checkpoint_file, metrics

STEPS = 13  # of an epoch
# So large a rate that evaluations become better and worse.
SHAKY = ("train.epochs=20", 'optimizer.type="sgd"', "optimizer.lr=1.0")
PLATEAU = 'optimizer.schedule={type="plateau", patience=2, gamma=0.3, min_lr=0.05}'


def reduce_lr_on_plateau(values, lr, patience, factor, min_lr, mode="min"):
    """The rates of the epochs and of one more, the first is `lr`: as
    torch.optim.lr_scheduler.ReduceLROnPlateau(mode, factor, patience - 1, threshold=0, min_lr=min_lr, eps=0)
    sets them after step(value) of each."""
    rates = [lr]
    best, bad = None, 0
    for value in values:
        if best is None or (value < best if mode == "min" else value > best):
            best, bad = value, 0
        else:
            bad += 1
        if bad > patience - 1:
            lr, bad = max(lr * factor, min_lr), 0
        rates.append(lr)
    return rates


class PlateauTest(RefusalTest):
    def rates(self, run):
        return [line["lr"] for line in metrics(self.folder / run, "epoch")]

    def evaluations(self, run, key="loss"):
        return [line[key] for line in metrics(self.folder / run, "eval")]

    def assert_rates(self, rates, expected):
        self.assertEqual(len(rates) + 1, len(expected))
        for rate, value in zip(rates, expected):
            self.assertAlmostEqual(rate, value, delta=1e-12)

    def test_the_rates_are_those_of_pytorch(self):
        done = self.train("mlp", "run", *SHAKY, PLATEAU)
        expected = reduce_lr_on_plateau(self.evaluations("run"), 1.0, 2, 0.3, 0.05)
        self.assertGreater(len(set(expected)), 3, "a test of several plateaus")
        self.assertEqual(expected[-1], 0.05, "and of the lowest rate")
        self.assert_rates(self.rates("run"), expected)
        self.assertIn("no lower test loss for 2 epochs: the learning rate falls from 1 to 0.3\n", done.out)
        self.assertIn("the learning rate falls from 0.09 to 0.05\n", done.out)
        self.assertEqual(done.out.count("the learning rate falls"), len(set(expected[:-1])) - 1,
                         "at the lowest rate it stays silent")

    def test_the_rate_is_that_of_the_steps(self):
        """Up to the first plateau the weights are those of a constant rate, then those of another one."""
        self.train("mlp", "run", *SHAKY, PLATEAU)
        first = self.rates("run").index(0.3)
        self.train("mlp", "short", *SHAKY, f"train.epochs={first}", 'optimizer.schedule="constant"')
        self.train("mlp", "part", *SHAKY, PLATEAU, f"train.epochs={first}")
        self.assertEqual(self.hash("part"), self.hash("short"))
        self.train("mlp", "part", *SHAKY, PLATEAU, f"train.epochs={first + 1}")
        arguments = self.train_arguments("mlp", "short", (*SHAKY, f"train.epochs={first + 1}"))
        changed = self.quern(*arguments, "--change", "optimizer.lr=0.3")
        self.assertEqual(changed.code, 0, changed)
        self.assertEqual(self.hash("part"), self.hash("short"))

    def test_accuracy(self):
        done = self.train("mlp", "run", *SHAKY, PLATEAU, 'train.monitor="accuracy"')
        self.assert_rates(self.rates("run"),
                          reduce_lr_on_plateau(self.evaluations("run", "accuracy"), 1.0, 2, 0.3, 0.05, "max"))
        self.assertIn("no higher test accuracy for 2 epochs: the learning rate falls", done.out)

    def test_ranks_splits_and_stops_change_nothing(self):
        self.train("mlp", "run", *SHAKY, PLATEAU)
        for name, ranks, *more in (("ranks", 3), ("pipeline", 2, "parallel.pipeline=2"),
                                   ("zero", 2, "parallel.shard_optimizer=true"),
                                   ("fast", 2, 'train.determinism="fast"')):
            self.train("mlp", name, *SHAKY, PLATEAU, *more, ranks=ranks)
            if name == "fast":
                expected = reduce_lr_on_plateau(self.evaluations(name), 1.0, 2, 0.3, 0.05)
                self.assert_rates(self.rates(name), expected)
            else:
                self.assert_same_run(name, "run")
        for epochs in range(1, 21):
            self.train("mlp", "part", *SHAKY, PLATEAU, f"train.epochs={epochs}", ranks=1 + epochs % 2)
        self.assert_same_run("part", "run")
        self.assertEqual(self.rates("part"), self.rates("run"))

    def test_checkpoints_count_them(self):
        self.train("mlp", "run", *SHAKY, PLATEAU)
        rates = reduce_lr_on_plateau(self.evaluations("run"), 1.0, 2, 0.3, 0.05)
        number = len(set(rates)) - 1
        last = rates.index(rates[-1])
        file = checkpoint_file(self.folder / "run", STEPS * 20)
        with h5py.File(file, "r") as checkpoint:
            self.assertEqual(int(checkpoint["train"].attrs["plateaus"]), number)
            self.assertEqual(int(checkpoint["train"].attrs["plateau_epoch"]), last)
        shown = self.quern("checkpoint", "show", file)
        self.assertIn(f"  plateaus        {number}, the last after epoch {last}\n", shown.out)
        self.train("mlp", "constant", *SHAKY)
        with h5py.File(checkpoint_file(self.folder / "constant", STEPS * 20), "r") as checkpoint:
            self.assertNotIn("plateaus", checkpoint["train"].attrs)

    def test_other_test_data_begin_anew(self):
        """None of their evaluations is a number, so there is no better one: two epochs from there on."""
        (self.folder / "wild").mkdir()
        np.save(self.folder / "x.npy", np.full((40, 12, 12), 3e38, np.float32))
        np.save(self.folder / "y.npy", np.arange(40, dtype=np.uint8) % 10)
        done = self.quern("shard", "--images", "x.npy", "--labels", "y.npy", "--out", "wild/test", "--split", "test")
        self.assertEqual(done.code, 0, done)
        # So small that no evaluation of the first data is better than the first one.
        sets = ("optimizer.lr=1e-20", 'optimizer.schedule={type="plateau", patience=2, gamma=0.5}')
        self.train("mlp", "run", *sets, "train.epochs=2")
        self.train("mlp", "run", *sets, "train.epochs=6", 'data.test="wild/test"', ranks=2)
        self.assertEqual(self.rates("run"), [1e-20] * 4 + [5e-21] * 2)

    def test_needs_evaluations(self):
        recipe = (self.folder / "mlp.toml").read_text()
        (self.folder / "untested.toml").write_text(recipe.replace('test = "test"\n', ""))
        self.refused(self.train_arguments("untested", "run", [PLATEAU]),
                     'optimizer.schedule.type: "plateau" needs evaluations, expected data.test')
        self.refused(self.train_arguments("mlp", "run", [PLATEAU, "train.evaluate_every=3"]),
                     "optimizer.schedule.patience: 2 is no multiple of train.evaluate_every = 3")


if __name__ == "__main__":
    training.main()
