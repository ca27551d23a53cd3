# SPDX-License-Identifier: Apache-2.0
"""data.normalize: by the data or by given numbers, the same on any number of ranks, kept in checkpoints."""
import json
import re

import idx
import numpy as np
import training

DATASET = "data.normalize=dataset"


class NormalizeTest(training.TrainingTest):
    def resolved(self, run):
        """(mean, deviation) in the recipe of a run folder."""
        text = (self.folder / run / "recipe.toml").read_text()
        table = text[text.index("[data.normalize]"):]
        self.assertIn('type = "given"', table)
        return [[float(value) for value in re.search(rf"\n{key} = \[(.*)\]", table)[1].split(",")]
                for key in ("mean", "std")]

    def evaluated(self, run, data="test"):
        done = self.quern("evaluate", run, "--data", data, "--json")
        self.assertEqual(done.code, 0, done)
        return json.loads(done.out)

    def test_pixels_by_the_data(self):
        for recipe in ("conv", "mlp"):
            self.train(recipe, f"{recipe}-1", DATASET)
            for ranks in (2, 3):
                self.train(recipe, f"{recipe}-{ranks}", DATASET, ranks=ranks)
                self.assert_same_run(f"{recipe}-{ranks}", f"{recipe}-1")
            pixels = idx.blobs(600)[0] / 255
            mean, std = self.resolved(f"{recipe}-1")
            np.testing.assert_allclose([mean, std], [[pixels.mean()], [pixels.std()]], rtol=1e-12)
            given = [f"data.normalize={{type = 'given', mean = {mean}, std = {std}}}"]
            self.train(recipe, f"{recipe}-given", *given, ranks=2)
            self.assert_same_run(f"{recipe}-given", f"{recipe}-1")
            self.train(recipe, f"{recipe}-plain")
            self.assertNotEqual(self.hash(f"{recipe}-plain"), self.hash(f"{recipe}-1"))

    def test_checkpoints_need_nothing_else(self):
        self.train("mlp", "run", DATASET)
        last = training.metrics(self.folder / "run", "eval")[-1]
        found = self.evaluated("run")
        self.assertEqual((found["loss"], found["accuracy"]), (last["loss"], last["accuracy"]))
        (self.folder / "images").write_bytes(idx.to_bytes(idx.blobs(151, seed=8)[0]))
        done = self.quern("predict", "run", "--images", "images")
        classes = [int(line.split(",")[1]) for line in done.out.splitlines()[1:]]
        accuracy = np.mean(np.array(classes) == idx.blobs(151, seed=8)[1])
        self.assertAlmostEqual(accuracy, last["accuracy"], places=12)

    def test_stops_and_goes_on(self):
        self.train("mlp", "whole", DATASET)
        self.train("mlp", "parts", DATASET, "train.epochs=1", ranks=2)
        done = self.quern("train", "mlp.toml", "--run-dir", "parts", "--set", DATASET, "--check-recipe")
        self.assertEqual(done.code, 0, done)
        self.train("mlp", "parts", DATASET, ranks=3)
        self.assert_same_run("parts", "whole")
        for sets, message in (((), 'data.normalize.type is "given" there, and "none" now'),
                              (("data.normalize={type = 'given', mean = [0.5], std = [0.5]}",),
                               "data.normalize.mean is ")):
            done = self.train("mlp", "parts", *sets, expected=2)
            self.assertIn(message, done.err)

    def test_other_data_are_called_so(self):
        """Not by the numbers that were taken out of them."""
        self.train("mlp", "run", DATASET, "train.epochs=1")
        images, labels = idx.blobs(600, seed=9)
        (self.folder / "images").write_bytes(idx.to_bytes(images))
        (self.folder / "labels").write_bytes(idx.to_bytes(labels))
        done = self.quern("shard", "--images", "images", "--labels", "labels", "--out", "other")
        self.assertEqual(done.code, 0, done)
        done = self.train("mlp", "run", DATASET, "data.train=other", expected=2)
        self.assertIn("was trained on other data than 'other'", done.err)
        self.assertNotIn("normalize", done.err)

    def test_features_of_their_own(self):
        random = np.random.default_rng(1)
        values = random.standard_normal((300, 4)) * [1, 100, 0, 1e-3] + [0, 5000, 3, 1]
        np.save(self.folder / "x.npy", values.astype(np.float32))
        np.save(self.folder / "y.npy", (values[:, :2] / [1, 100]).astype(np.float32))
        done = self.quern("shard", "--images", "x.npy", "--targets", "y.npy", "--out", "set/train", "--shards", 2)
        self.assertEqual(done.code, 0, done)
        text = training.RECIPE.replace('train = "train"', 'train = "set/train"')
        text = text.replace('test = "test"', 'test = ""\ntarget = "values"\nnormalize = "dataset"')
        text = text.replace("[1, 12, 12]", "[4]").replace("cross_entropy", "mse")
        layers = '[{type = "linear", features = 16}, {type = "relu"}, {type = "linear", features = 2}]'
        self.write_recipe("four", text, layers)
        self.train("four", "one")
        self.train("four", "three", ranks=3)
        self.assert_same_run("three", "one")
        mean, std = self.resolved("one")
        stored = values.astype(np.float32).astype(float)
        np.testing.assert_allclose(mean, stored.mean(0), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(std, np.where(stored.std(0) > 1e-9, stored.std(0), 1), rtol=1e-9)
        # In bf16 what is rounded is the normalized value.
        self.train("four", "bf16", "train.precision=bf16")
        losses = [training.metrics(self.folder / run, "epoch")[-1]["loss"] for run in ("one", "bf16")]
        self.assertAlmostEqual(losses[0], losses[1], delta=0.1 * losses[0])

    def write_targets(self, layers=None, **splits):
        """Two values of very different size for each of four features, and a recipe that learns them.
        -> the targets of each split."""
        weights = np.random.default_rng(5).standard_normal((4, 2))
        targets = {}
        for split, count in splits.items():
            values = np.random.default_rng(count).standard_normal((count, 4))
            targets[split] = ((values @ weights) * [1000, 0.01] + [50000, 0.3]).astype(np.float32)
            np.save(self.folder / f"{split}-x.npy", values.astype(np.float32))
            np.save(self.folder / f"{split}-y.npy", targets[split])
            done = self.quern("shard", "--images", f"{split}-x.npy", "--targets", f"{split}-y.npy",
                              "--out", f"set/{split}", "--split", split, "--shards", 2)
            self.assertEqual(done.code, 0, done)
        text = training.RECIPE.replace('train = "train"', 'train = "set/train"')
        text = text.replace('test = "test"', 'test = "set/test"\ntarget = "values"')
        text = text.replace("[1, 12, 12]", "[4]").replace("cross_entropy", "mse")
        self.write_recipe("two", text, layers or '[{type = "linear", features = 16}, {type = "tanh"}, '
                                                 '{type = "linear", features = 2}]')
        return targets

    def predicted_values(self, run, file):
        done = self.quern("predict", run, "--images", file)
        self.assertEqual((done.code, done.err), (0, ""), done)
        return np.array([[float(value) for value in line.split(",")[1:]] for line in done.out.splitlines()[1:]])

    def check_units(self, run, targets, mean, std):
        """Of the metrics: the loss is of normalized values, all else of the targets themselves."""
        last = training.metrics(self.folder / run, "eval")[-1]
        outputs = self.predicted_values(run, "test-x.npy")
        errors = outputs - targets.astype(float)
        self.assertAlmostEqual(last["loss"], np.mean((errors / std) ** 2), delta=1e-4 * last["loss"])
        rmse = np.sqrt(np.mean(errors ** 2))
        self.assertAlmostEqual(last["rmse"], rmse, delta=1e-4 * rmse)
        variance = np.mean(np.var(targets.astype(float), axis=0))
        self.assertAlmostEqual(last["r2"], 1 - rmse ** 2 / variance, places=5)
        for ranks in (1, 2, 3):
            done = self.quern("evaluate", run, "--data", "set/test", "--json", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            found = json.loads(done.out)
            self.assertEqual([found[key] for key in ("loss", "rmse", "r2")],
                             [last[key] for key in ("loss", "rmse", "r2")])
        return last

    def test_targets_by_the_data(self):
        targets = self.write_targets(train=400, test=90)
        by_data = "data.normalize_targets=dataset"
        self.train("two", "plain")
        for ranks in (1, 2, 3):
            self.train("two", f"on-{ranks}", by_data, ranks=ranks)
            self.assert_same_run(f"on-{ranks}", "on-1")
        text = (self.folder / "on-1/recipe.toml").read_text()
        table = text[text.index("[data.normalize_targets]"):]
        mean, std = ([float(value) for value in re.search(rf"\n{key} = \[(.*)\]", table)[1].split(",")]
                     for key in ("mean", "std"))
        stored = targets["train"].astype(float)
        np.testing.assert_allclose([mean, std], [stored.mean(0), stored.std(0)], rtol=1e-9)
        last = self.check_units("on-1", targets["test"], mean, std)
        self.assertGreater(last["r2"], training.metrics(self.folder / "plain", "eval")[-1]["r2"] + 0.1)
        given = f"data.normalize_targets={{type = 'given', mean = {mean}, std = {std}}}"
        self.train("two", "given", given, ranks=2)
        self.assert_same_run("given", "on-1")

        self.train("two", "parts", by_data, "train.epochs=1", ranks=2)
        self.train("two", "parts", by_data, ranks=3)
        self.assert_same_run("parts", "on-1")
        done = self.train("two", "parts", expected=2)
        self.assertIn('data.normalize_targets.type is "given" there, and "none" now', done.err)

    def test_targets_of_stages_pieces_and_slices(self):
        targets = self.write_targets(train=400, test=90)
        sets = ("data.normalize_targets=dataset", "data.normalize=dataset")
        self.train("two", "alone", *sets)
        self.train("two", "stages", *sets, "parallel.pipeline=2", "parallel.micro_batches=2", ranks=2)
        self.train("two", "pieces", *sets, "parallel.micro_batches=3", ranks=2)
        for run in ("stages", "pieces"):
            self.assert_same_run(run, "alone")
        stored = targets["train"].astype(float)
        self.check_units("stages", targets["test"], stored.mean(0), stored.std(0))

    def test_targets_of_images_by_one_number(self):
        """An output of channels, height and width, behind a ReLU."""
        values = np.random.default_rng(1).random((200, 2, 4, 4)).astype(np.float32)
        for split in ("train", "test"):
            np.save(self.folder / f"{split}-x.npy", values)
            np.save(self.folder / f"{split}-y.npy", values * 300 + 100)
            done = self.quern("shard", "--images", f"{split}-x.npy", "--targets", f"{split}-y.npy",
                              "--out", f"set/{split}", "--split", split)
            self.assertEqual(done.code, 0, done)
        text = training.RECIPE.replace('train = "train"', 'train = "set/train"')
        text = text.replace('test = "test"', 'test = "set/test"\ntarget = "values"')
        text = text.replace("[1, 12, 12]", "[2, 4, 4]").replace("cross_entropy", "mse")
        self.write_recipe("two", text, '[{type = "conv2d", channels = 2, kernel = 3, padding = 1}, {type = "relu"}]')
        one = "data.normalize_targets={type = 'given', mean = [100], std = [300]}"
        self.train("two", "one", one)
        self.train("two", "each", "data.normalize_targets={type = 'given', mean = [100, 100], std = [300, 300]}", ranks=3)
        self.assert_same_run("each", "one")
        self.check_units("one", (values * 300 + 100).reshape(200, -1), 100, 300)
        self.assertGreaterEqual(self.predicted_values("one", "test-x.npy").min(), 100)

    def test_target_numbers_that_do_not_fit(self):
        self.write_targets(train=40, test=20)
        for value, message in (("{type = 'given', mean = [0], std = [1, 1, 1]}",
                                "data.normalize_targets.std: 3 numbers for the 2 channels of what the network puts out"),
                               ("{type = 'given', mean = [0]}", "data.normalize_targets.std: missing"),
                               ("{type = 'given', mean = [0], std = [-1]}", "-1.0 is out of range")):
            done = self.train("two", "bad", f"data.normalize_targets={value}", expected=2)
            self.assertIn(message, done.err, value)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertFalse((self.folder / "bad").exists())
        done = self.train("mlp", "bad", "data.normalize_targets=dataset", expected=2)
        self.assertIn("data.normalize_targets", done.err)

    def test_numbers_that_do_not_fit(self):
        for value, message in (("{type = 'given', mean = [0.5]}", "data.normalize.std: missing"),
                               ("{type = 'given', mean = [1, 2], std = [1]}",
                                "2 numbers for the 1 channels of network.input"),
                               ("{type = 'given', mean = [], std = [1]}", "an array of 0 entries"),
                               ("{type = 'given', mean = [0], std = [0]}", "0 is out of range"),
                               ("{mean = [0], std = [1]}", "data.normalize.mean"),
                               ("'data'", '"data" is unknown')):
            done = self.train("mlp", "bad", f"data.normalize={value}", expected=2)
            self.assertIn(message, done.err, value)
            self.assertFalse((self.folder / "bad").exists())


if __name__ == "__main__":
    training.main()
