# SPDX-License-Identifier: Apache-2.0
"""loss.class_weights: by the data or given, the same on any number of ranks, kept in checkpoints."""
import csv
import json
import re

import idx
import numpy as np
import training

BALANCED = "loss.class_weights=balanced"
RARE = 3  # the class that one in ten of its samples is left of


class ClassWeightsTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        images, labels = idx.blobs(900)
        number = np.cumsum(labels == RARE)
        left = (labels != RARE) | (number % 10 == 0)
        self.labels = labels[left]
        (self.folder / "uneven").mkdir()
        training.make_shards(self.folder / "uneven", "train", images[left], self.labels, shards=3)

    def resolved(self, run):
        text = (self.folder / run / "recipe.toml").read_text()
        table = text[text.index("[loss.class_weights]"):]
        self.assertIn('type = "given"', table)
        return [float(value) for value in re.search(r"\nvalues = \[(.*)\]", table)[1].split(",")]

    def train_uneven(self, run, *sets, **options):
        return self.train("mlp", run, "data.train=uneven/train", *sets, **options)

    def test_balanced_by_the_data(self):
        self.train_uneven("one", BALANCED)
        counts = np.bincount(self.labels, minlength=10)
        expected = len(self.labels) / (10 * counts)
        self.assertGreater(expected[RARE], 5)
        np.testing.assert_allclose(self.resolved("one"), expected, rtol=1e-15)
        for ranks in (2, 3):
            self.train_uneven(f"run-{ranks}", BALANCED, ranks=ranks)
            self.assert_same_run(f"run-{ranks}", "one")
        given = f"loss.class_weights={{type = 'given', values = {self.resolved('one')}}}"
        self.train_uneven("given", given, ranks=2)
        self.assert_same_run("given", "one")
        split = ("parallel.tensor_slices=8", "parallel.tensor=2", "parallel.pipeline=2")
        self.train_uneven("slices", BALANCED, "parallel.tensor_slices=8")
        self.train_uneven("split", BALANCED, *split, ranks=4)
        self.assert_same_run("split", "slices")
        self.train_uneven("plain")
        self.assertNotEqual(self.hash("plain"), self.hash("one"))

    def test_of_a_streamed_set(self):
        self.train_uneven("held", BALANCED, "data.window=245")
        for ranks in (1, 2):
            self.train_uneven(f"streamed-{ranks}", BALANCED, "data.memory=\"80 KiB\"", "data.window=245", ranks=ranks)
            self.assertEqual(self.resolved(f"streamed-{ranks}"), self.resolved("held"))
            self.assertEqual(self.hash(f"streamed-{ranks}"), self.hash("held"))

    def test_the_loss_of_samples_is_weighted(self):
        for smoothing in ("0.0", "0.2"):
            run = f"run-{smoothing}"
            self.train_uneven(run, BALANCED, f"loss.label_smoothing={smoothing}")
            last = training.metrics(self.folder / run, "eval")[-1]
            done = self.quern("evaluate", run, "--data", "test", "--json")
            self.assertEqual(json.loads(done.out)["loss"], last["loss"])
            done = self.quern("predict", run, "--data", "test", "--probabilities")
            rows = list(csv.DictReader(done.out.splitlines()))
            labels = np.array([int(row["label"]) for row in rows])
            logs = np.log([[float(row[f"probability{v}"]) for v in range(10)] for row in rows])
            weights = np.array(self.resolved(run))
            target = np.eye(10)[labels] * (1 - float(smoothing)) + float(smoothing) / 10
            losses = -(target * weights * logs).sum(axis=1)
            np.testing.assert_allclose([float(row["loss"]) for row in rows], losses, rtol=1e-4, atol=1e-5)
            self.assertAlmostEqual(losses.mean(), last["loss"], places=5)
            accuracy = np.mean([row["class"] == row["label"] for row in rows])
            self.assertAlmostEqual(accuracy, last["accuracy"], places=12)

    def test_rare_classes_are_found_more_often(self):
        recalls = {}
        for name, sets in (("plain", ()), ("balanced", (BALANCED,))):
            self.train_uneven(name, *sets, "train.epochs=2")
            done = self.quern("evaluate", name, "--data", "test", "--metrics", "per_class", "--json")
            self.assertEqual(done.code, 0, done)
            recalls[name] = json.loads(done.out)["class_recall"][RARE]
        self.assertGreater(recalls["balanced"], recalls["plain"])

    def test_stops_and_goes_on(self):
        self.train_uneven("whole", BALANCED)
        self.train_uneven("parts", BALANCED, "train.epochs=1", ranks=2)
        self.train_uneven("parts", BALANCED, ranks=3)
        self.assert_same_run("parts", "whole")
        for sets, message in (((), 'loss.class_weights.type is "given" there, and (not stated) now'),
                              (("loss.class_weights={type = 'given', values = [1,1,1,1,1,1,1,1,1,2]}",),
                               "loss.class_weights.values is ")):
            self.assertIn(message, self.train_uneven("parts", *sets, expected=2).err)
        done = self.train("mlp", "parts", BALANCED, expected=2)
        self.assertIn("was trained on other data than 'train'", done.err)

    def test_a_bench_needs_no_data(self):
        done = self.quern("bench", "step", "mlp.toml", "--set", BALANCED, "--steps", "1")
        self.assertEqual(done.code, 0, done)

    def test_what_cannot_be(self):
        for sets, message in (
                ("loss.class_weights=[1, 2]", 'found an array, expected "none", "balanced" or "given", or a table'),
                ("loss.class_weights={type = 'given'}", "loss.class_weights.values: missing"),
                ("loss.class_weights={type = 'given', values = [1, 2]}",
                 "loss.class_weights: 2 numbers for the 10 outputs of the network, expected one for each"),
                (f"loss.class_weights={{type = 'given', values = {[0] * 10}}}", "all numbers are 0"),
                ("loss.class_weights={type = 'given', values = [1, -2]}", "expected"),
                ("loss.class_weights={type = 'balanced', values = [1]}", 'applies only to loss.class_weights.type = "given"'),
        ):
            done = self.train("mlp", "run", sets, expected=2)
            self.assertIn("loss.class_weights", done.err)
            self.assertIn(message, done.err)
        self.train("mlp", "whole", "train.epochs=1")
        done = self.quern("checkpoint", "export", "whole", "--out", "w.safetensors")
        self.assertEqual(done.code, 0, done)
        done = self.quern("import", "w.safetensors", "--recipe", "mlp.toml", "--set", BALANCED, "--out", "ckpt-0000000000.h5")
        self.assertEqual(done.code, 2, done)
        self.assertIn('loss.class_weights = "balanced" does not say by which numbers', done.err)
        self.assertIn("values=[...]", done.err)
        done = self.quern("import", "w.safetensors", "--recipe", "mlp.toml", "--set",
                          "loss.class_weights={type='given', values=[1, 2]}", "--out", "ckpt-0000000000.h5")
        self.assertEqual(done.code, 2, done)
        self.assertIn("loss.class_weights: 2 numbers for the 10 outputs", done.err)
        self.train("mlp", "balanced", BALANCED, "train.epochs=1")
        done = self.quern("import", "balanced", "--recipe", "mlp.toml", "--set", BALANCED, "--out", "ckpt-0000000000.h5")
        self.assertEqual(done.code, 0, done)
        losses = [json.loads(self.quern("evaluate", run, "--data", "test", "--json").out)["loss"]
                  for run in ("balanced", "ckpt-0000000000.h5")]
        self.assertEqual(losses[0], losses[1])


if __name__ == "__main__":
    training.main()
