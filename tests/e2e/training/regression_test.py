# SPDX-License-Identifier: Apache-2.0
"""Numbers from numbers: .npy files to shards, training, evaluation and prediction."""
import csv
import io
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import program
import training
from training import metrics

ROOT = Path(__file__).resolve().parents[3]


class RegressionTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "recipes/regression-toy.toml", self.folder)
        subprocess.run([sys.executable, ROOT / "data/make_samples.py", "friedman", "--out",
                        self.folder / "data/regression-toy", "--quern", program.PROGRAM],
                       check=True, stdout=subprocess.DEVNULL, env=os.environ)
        self.data = self.folder / "data/regression-toy"

    def predicted(self, run, file):
        done = self.quern("predict", run, "--images", file)
        self.assertEqual((done.code, done.err), (0, ""), done)
        rows = list(csv.reader(io.StringIO(done.out)))
        self.assertEqual([int(row[0]) for row in rows[1:]], list(range(len(rows) - 1)))
        return rows[0], np.array([[float(value) for value in row[1:]] for row in rows[1:]])

    def test_trains_evaluates_and_predicts(self):
        self.train("regression-toy", "alone")
        self.train("regression-toy", "two", ranks=2)
        self.assert_same_run("two", "alone")
        last = metrics(self.folder / "alone", "eval")[-1]
        self.assertGreater(last["r2"], 0.945)
        self.assertLess(last["rmse"], 1.15)
        self.assertNotIn("accuracy", last)

        head, outputs = self.predicted("alone", self.data / "test-inputs.npy")
        self.assertEqual(head, ["index", "value0"])
        for name in ("values.npy", "values.h5"):
            done = self.quern("predict", "alone", "--images", self.data / "test-inputs.npy", "--out", name)
            self.assertEqual((done.code, done.out), (0, ""), done)
        array = np.load(self.folder / "values.npy")
        np.testing.assert_array_equal(array, outputs.astype(np.float32))
        with h5py.File(self.folder / "values.h5") as file:
            np.testing.assert_array_equal(file["values"][()], array)
        done = self.quern("predict", "alone", "--images", self.data / "test-inputs.npy", "--probabilities")
        self.assertEqual(done.code, 2, done)
        self.assertIn("--probabilities is of classifiers, but the network was trained with another loss.type", done.err)
        targets = np.load(self.data / "test-targets.npy").astype(float)
        error = np.mean((outputs - targets) ** 2)
        self.assertAlmostEqual(last["loss"], error, delta=1e-5 * error)
        self.assertAlmostEqual(last["rmse"], math.sqrt(error), places=5)
        self.assertAlmostEqual(last["r2"], 1 - error / np.var(targets), places=6)

        found = []
        for ranks in (1, 2, 3):
            done = self.quern("evaluate", "alone", "--data", self.data / "test", "--json",
                              ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            found.append({key: value for key, value in json.loads(done.out).items()
                          if key != "ranks"})
            for key in ("loss", "r2", "rmse"):
                self.assertEqual(found[-1][key], last[key])
        self.assertEqual(found[1:], found[:1] * 2)
        done = self.quern("evaluate", "alone", "--data", self.data / "test")
        self.assertRegex(done.out, r"loss \d+\.\d{6}  rmse 1\.\d{6}  r2 0\.9\d{5}  \(2000 samples\)\n")

    def test_targets_whose_squares_are_no_floats(self):
        """Powers of two change no bit of what is learned, and none of rmse and r2 but its size."""
        sets = ("data.normalize_targets=dataset", "train.epochs=1")
        self.train("regression-toy", "one", *sets)
        of_one = metrics(self.folder / "one", "eval")[-1]
        for power in (-100, 90):
            for split in ("train", "test"):
                np.save(self.folder / "y.npy", np.load(self.data / f"{split}-targets.npy") * np.float32(2.0 ** power))
                done = self.quern("shard", "--images", self.data / f"{split}-inputs.npy", "--targets", "y.npy",
                                  "--out", f"scaled/{split}", "--split", split, "--force")
                self.assertEqual(done.code, 0, done)
            name = f"run{power}"
            done = self.train("regression-toy", name, *sets, "data.train=scaled/train", "data.test=scaled/test")
            last = metrics(self.folder / name, "eval")[-1]
            self.assertEqual((last["loss"], last["r2"]), (of_one["loss"], of_one["r2"]))
            self.assertEqual(last["rmse"], of_one["rmse"] * 2.0 ** power)
            self.assertRegex(done.out, rf"rmse \d\.\d{{3}}e[+-]{math.floor(abs(math.log10(last['rmse']) // 1)):02} ")

    def test_predictions_stand_beside_the_targets(self):
        """In their own units, on any number of ranks, in memory or streamed."""
        self.train("regression-toy", "run", "train.epochs=1", "data.normalize_targets=dataset")
        _, outputs = self.predicted("run", self.data / "test-inputs.npy")
        targets = np.load(self.data / "test-targets.npy").reshape(2000, -1)
        tables = set()
        for ranks, options in ((0, ()), (3, ()), (2, ("--memory", "100KB")), (0, ("--batch", 7))):
            done = self.quern("predict", "run", "--data", self.data / "test", *options, ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            tables.add(done.out)
        self.assertEqual(len(tables), 1)
        rows = list(csv.reader(io.StringIO(tables.pop())))
        self.assertEqual(rows[0], ["index", "value0", "target0"])
        numbers = np.array([[float(value) for value in row[1:]] for row in rows[1:]])
        np.testing.assert_array_equal(numbers[:, :1], outputs)
        np.testing.assert_array_equal(numbers[:, 1:].astype(np.float32), targets)
        for ranks in (0, 2):
            done = self.quern("predict", "run", "--data", self.data / "test", "--out", f"all{ranks}.h5", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            with h5py.File(self.folder / f"all{ranks}.h5") as file:
                self.assertEqual(set(file), {"targets", "values"})
                np.testing.assert_array_equal(file["targets"][()], targets)
        self.train("regression-toy", "stages", "train.epochs=1", "parallel.pipeline=2", ranks=2)
        done = self.quern("predict", "stages", "--data", self.data / "test", ranks=2)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertEqual([row.split(",")[2] for row in done.out.splitlines()], [row[2] for row in rows])

    def check_loss(self, name, loss, cost, normalize):
        """`cost`: of errors, in the units that the network learns."""
        sets = [loss, f"data.normalize_targets={normalize}", "train.epochs=2"]
        self.train("regression-toy", name, *sets)
        for way, ranks, *parallel in (("two", 2), ("pieces", 1, "parallel.micro_batches=2"),
                                      ("stages", 2, "parallel.pipeline=2", "parallel.micro_batches=2")):
            self.train("regression-toy", f"{name}-{way}", *sets, *parallel, ranks=ranks)
            self.assert_same_run(f"{name}-{way}", name)
        _, outputs = self.predicted(name, self.data / "test-inputs.npy")
        targets = np.load(self.data / "test-targets.npy").astype(float)
        unit = np.std(np.load(self.data / "train-targets.npy").astype(float)) if normalize == "dataset" else 1
        errors = outputs - targets
        last = metrics(self.folder / name, "eval")[-1]
        expected = np.mean(cost(errors / unit))
        self.assertAlmostEqual(last["loss"], expected, delta=1e-5 * expected)
        # In the targets' own units, and of squares, whatever the loss.
        self.assertAlmostEqual(last["rmse"], math.sqrt(np.mean(errors ** 2)), places=5)
        self.assertAlmostEqual(last["r2"], 1 - np.mean(errors ** 2) / np.var(targets), places=6)
        done = self.quern("evaluate", name, "--data", self.data / "test", "--json", ranks=2)
        for key in ("loss", "rmse", "r2"):
            self.assertEqual(json.loads(done.out)[key], last[key])

    def test_absolute_errors(self):
        for normalize in ("none", "dataset"):
            self.check_loss(f"l1-{normalize}", "loss.type=l1", np.abs, normalize)

    def test_huber_loss(self):
        def cost(errors):
            sizes = np.abs(errors)
            return np.where(sizes <= 0.7, sizes ** 2 / 2, 0.7 * (sizes - 0.35))
        for normalize in ("none", "dataset"):
            self.check_loss(f"huber-{normalize}", "loss={type=\"huber\", delta=0.7}", cost, normalize)

    def test_stops_and_goes_on(self):
        flat = "optimizer.schedule.type=constant"
        self.train("regression-toy", "whole", "train.epochs=2", flat)
        self.train("regression-toy", "parts", "train.epochs=1", flat, ranks=2)
        self.train("regression-toy", "parts", "train.epochs=2", flat, ranks=3)
        self.assert_same_run("parts", "whole")

    def refused(self, message, *arguments, code=2):
        done = self.quern(*arguments)
        self.assertEqual(done.code, code, done)
        self.assertIn(message, done.err)
        self.assertEqual(done.err.count("error:"), 1, done)
        self.assertEqual(done.out, "")

    def train_refused(self, message, *sets):
        self.refused(message, *self.train_arguments("regression-toy", "refused", sets))
        self.assertFalse((self.folder / "refused").exists())

    def test_what_does_not_fit_together(self):
        self.train_refused("come without labels", "data.target=label", "loss.type=cross_entropy")
        self.train_refused("network.input is [11], but a sample of 'data/regression-toy/train' is [10]", "network.input=[11]")
        self.train_refused("as many values as its input [10] has", "data.target=input")
        blobs = f"data.train={self.folder / 'train'}"
        self.train_refused("train' is [1, 12, 12]", blobs)
        self.train("regression-toy", "run", "train.epochs=1")
        self.refused("a sample of 'test' is [1, 12, 12]", "evaluate", "run", "--data", "test")
        np.save(self.folder / "wide.npy", np.zeros((3, 12), np.float32))
        self.refused("a sample of 'wide.npy' is [12]", "predict", "run", "--images", "wide.npy")

    def test_bad_arrays(self):
        def shard(*options):
            return ("shard", "--out", "new", *options)
        good = self.data / "test-inputs.npy"
        np.save(self.folder / "nan.npy", np.array([[1, 2], [3, np.nan]], np.float32))
        self.refused("the values of sample 1 hold nan", *shard("--images", "nan.npy"))
        self.refused("comes with 1 target value (expected one for each output)", "train", "regression-toy.toml",
                     "--set", "network.layers=[{type=\"linear\", features=3}]")
        self.refused("holds 2000 samples, but 'nan.npy' holds targets of 2 samples",
                     *shard("--images", good, "--targets", "nan.npy"))
        self.refused("floats [2000, 10] are no labels", *shard("--images", good, "--labels", good))
        np.save(self.folder / "big.npy", np.array([1e39, 2]))
        self.refused("the values of sample 0 hold inf", *shard("--images", "big.npy"))
        np.save(self.folder / "object.npy", np.array([{}], object))
        self.refused("an array of '|O'", *shard("--images", "object.npy"))
        self.refused("--labels",
                     *shard("--images", good, "--labels", good, "--targets", good))
        self.assertFalse((self.folder / "new").exists())

    def test_integers_halves_archives_and_many_classes(self):
        random = np.random.default_rng(3)
        labels = random.integers(0, 400, 900)
        labels[0] = 399
        halves = random.standard_normal((900, 5)).astype(np.float16)
        np.savez_compressed(self.folder / "set.npz", x=halves, y=labels)
        done = self.quern("shard", "--images", "set.npz:x", "--labels", "set.npz:y", "--out", "wide/train",
                          "--shards", 3)
        self.assertEqual(done.code, 0, done)
        self.assertIn("wide train: 900 samples of float16 [5], 400 classes, 3 shards", done.out)
        text = (self.folder / "regression-toy.toml").read_text()
        for old, new in (("data/regression-toy/train", "wide/train"), ("data/regression-toy/test", ""),
                         ('"values"', '"label"'), ("input = [10]", "input = [5]"), ('"mse"', '"cross_entropy"'),
                         ("features = 1}", "features = 400}")):
            self.assertIn(old, text)
            text = text.replace(old, new)
        (self.folder / "wide.toml").write_text(text)
        self.train("wide", "one", "train.epochs=2")
        self.train("wide", "three", "train.epochs=2", ranks=3)
        self.assert_same_run("three", "one")


if __name__ == "__main__":
    training.main()
