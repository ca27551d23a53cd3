# SPDX-License-Identifier: Apache-2.0
"""loss.type = "binary_cross_entropy": several yes and no for each sample, and images from images."""
import csv
import io
import json
import math

import numpy as np
import training
from protobuf import Model
from training import RECIPE, metrics

LAYERS = '[{type = "linear", features = 17}, {type = "tanh"}, {type = "linear", features = 3}]'
IMAGES = """[
  {type = "flatten"}, {type = "linear", features = 12}, {type = "relu"}, {type = "linear", features = 144},
]"""


class BinaryTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        for split, count in (("train", 600), ("test", 151)):
            x = np.random.default_rng(count).standard_normal((count, 4)).astype(np.float32)
            answers = np.stack([x[:, 0] > 0, x[:, 1] + x[:, 2] > 0.5, np.abs(x[:, 3]) > 1], axis=1)
            self.shards(split, x, answers.astype(np.float32))
        text = RECIPE.replace('"train"', '"numbers/train"').replace('"test"', '"numbers/test"\ntarget = "values"')
        text = text.replace("cross_entropy", "binary_cross_entropy").replace("[1, 12, 12]", "[4]").replace("2e-3", "0.02")
        self.write_recipe("answers", text, LAYERS)

    def shards(self, split, x, y, folder="numbers"):
        names = f"{split}-x.npy", f"{split}-y.npy"
        for name, values in zip(names, (x, y)):
            np.save(self.folder / name, values)
        done = self.quern("shard", "--images", names[0], "--targets", names[1], "--out", f"{folder}/{split}", "--split", split)
        self.assertEqual(done.code, 0, done)

    def predicted(self, run, file):
        done = self.quern("predict", run, "--images", file)
        self.assertEqual(done.code, 0, done)
        return np.array([[float(value) for value in row[1:]] for row in list(csv.reader(io.StringIO(done.out)))[1:]])

    def check_figures(self, run, outputs, targets, last):
        right = int(((outputs > 0.5) == (targets > 0.5)).sum())
        self.assertEqual(last["accuracy"], right / targets.size)
        self.assertTrue(((outputs > 0) & (outputs < 1)).all())
        losses = -(targets * np.log(outputs) + (1 - targets) * np.log(1 - outputs))
        self.assertAlmostEqual(last["loss"], losses.mean(), delta=1e-4 * losses.mean())
        if "rmse" in last:
            self.assertAlmostEqual(last["rmse"], math.sqrt(np.mean((outputs - targets) ** 2)), places=5)
        done = self.quern("evaluate", run, "--data", "numbers/test" if "rmse" in last else "test", "--json", ranks=2)
        told = json.loads(done.out)
        self.assertEqual([told[key] for key in ("loss", "correct", "answers", "accuracy")],
                         [last["loss"], right, targets.size, last["accuracy"]])

    def test_answers(self):
        self.train("answers", "one")
        split = ("parallel.pipeline=2", "parallel.micro_batches=2")
        for name, ranks, *sets in (("two", 2), ("three", 3), ("pieces", 1, "parallel.micro_batches=2"), ("stages", 2, *split),
                                   ("again", 1, "train.recompute=true")):
            self.train("answers", name, *sets, ranks=ranks)
            self.assert_same_run(name, "one")
        outputs = self.predicted("one", "test-x.npy")
        targets = np.load(self.folder / "test-y.npy")
        last = metrics(self.folder / "one", "eval")[-1]
        self.check_figures("one", outputs, targets, last)
        self.assertGreater(last["accuracy"], 0.85)
        self.assertGreater(metrics(self.folder / "one", "epoch")[-1]["accuracy"], 0.85)
        done = self.quern("evaluate", "one", "--data", "numbers/test")
        self.assertRegex(done.out, r"accuracy [0-9.]+ % \(\d+ of 453\)  rmse [0-9.]+  r2 [0-9.]+  \(151 samples\)")

    def test_what_should_be_yes_counts_more(self):
        self.train("answers", "plain", "train.epochs=2")
        self.train("answers", "run", "train.epochs=2", "loss.pos_weight=5", ranks=2)
        outputs = self.predicted("run", "test-x.npy")
        targets = np.load(self.folder / "test-y.npy")
        losses = -(5 * targets * np.log(outputs) + (1 - targets) * np.log(1 - outputs))
        self.assertAlmostEqual(metrics(self.folder / "run", "eval")[-1]["loss"], losses.mean(), delta=1e-4 * losses.mean())
        self.assertGreater((outputs > 0.5).sum(), (self.predicted("plain", "test-x.npy") > 0.5).sum() + 30)

    def test_each_answer_by_itself(self):
        self.train("answers", "run", "train.epochs=1")
        says = self.predicted("run", "test-x.npy") > 0.5
        wanted = np.load(self.folder / "test-y.npy") > 0.5
        for ranks in (0, 2, 3):
            done = self.quern("evaluate", "run", "--data", "numbers/test", "--metrics", "per_class", "--json", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            told = json.loads(done.out)
            both = (says & wanted).sum(axis=0)
            self.assertEqual([told[f"class_{key}"] for key in ("samples", "predicted", "correct")],
                             [wanted.sum(axis=0).tolist(), says.sum(axis=0).tolist(), both.tolist()])
            f1 = 2 * both / (says.sum(axis=0) + wanted.sum(axis=0))
            np.testing.assert_allclose(told["class_f1"], f1, rtol=1e-12)
            self.assertAlmostEqual(told["macro_f1"], f1.mean(), places=12)
        self.train("answers", "stages", "train.epochs=1", "parallel.pipeline=2", ranks=2)
        done = self.quern("evaluate", "stages", "--data", "numbers/test", "--metrics", "per_class", "--json", ranks=2)
        self.assertEqual(json.loads(done.out)["class_correct"], both.tolist())
        done = self.quern("evaluate", "run", "--data", "numbers/test", "--metrics", "per_class,top5")
        self.assertEqual((done.code, "this network says yes or no for each output (expected per_class)" in done.err), (2, True), done)

    def test_the_best_by_accuracy(self):
        done = self.train("answers", "run", "train.monitor=accuracy", "checkpoint.keep_best=true")
        best = max(line["accuracy"] for line in metrics(self.folder / "run", "eval"))
        self.assertIn(f"test accuracy {100 * best:.2f} %", done.out)

    def test_images_from_images(self):
        text = RECIPE.replace("cross_entropy", "binary_cross_entropy").replace('"test"', '"test"\ntarget = "input"')
        self.write_recipe("images", text, IMAGES)
        self.train("images", "one")
        self.train("images", "three", ranks=3)
        self.assert_same_run("three", "one")
        last = metrics(self.folder / "one", "eval")[-1]
        images = np.frombuffer((training.data_folder() / "test-images").read_bytes()[16:], np.uint8)
        targets = images.reshape(-1, 144) / 255
        self.check_figures("one", self.predicted("one", training.data_folder() / "test-images"), targets, last)
        done = self.train("images", "bad", "data.normalize=dataset", expected=2)
        self.assertIn('data.normalize: contradicts loss.type = "binary_cross_entropy"', done.err)

    def test_metrics_of_masks_are_of_channels(self):
        layers = '[{type = "conv2d", channels = 2, kernel = 3, padding = 1}]'
        text = RECIPE.replace("cross_entropy", "binary_cross_entropy")
        text = text.replace('"train"', '"masks/train"').replace('"test"', '"masks/test"\ntarget = "values"')
        for split, count in (("train", 90), ("test", 31)):
            x = np.random.default_rng(count).random((count, 1, 12, 12)).astype(np.float32)
            self.shards(split, x, np.concatenate([x > 0.5, x > 0.8], axis=1).astype(np.float32), "masks")
        self.write_recipe("masks", text, layers)
        self.train("masks", "run")
        predicted = np.stack([self.predicted("run", "test-x.npy").reshape(31, 2, 144)[:, i] > 0.5 for i in (0, 1)])
        wanted = np.load(self.folder / "test-y.npy").reshape(31, 2, 144).transpose(1, 0, 2) > 0.5
        both, either = (predicted & wanted).sum((1, 2)), (predicted | wanted).sum((1, 2))
        done = self.quern("evaluate", "run", "--data", "masks/test", "--metrics", "per_class", "--json")
        found = json.loads(done.out)
        np.testing.assert_allclose(found["class_iou"], both / either)
        np.testing.assert_allclose(found["class_f1"], 2 * both / (both + either))
        done = self.quern("evaluate", "run", "--data", "masks/test", "--metrics", "per_class")
        self.assertEqual(len(done.out.splitlines()), 4, done)
        for line, iou, of in zip(done.out.splitlines()[1:], both / either, wanted.sum((1, 2))):
            self.assertRegex(line, rf"^channel +[01]  recall .* F1 \(Dice\) .*  IoU +{100 * iou:.2f} %  \(\d+ of {of}\)$")

    def test_bf16_and_a_sharded_optimizer(self):
        sets = ("train.precision=bf16", "parallel.shard_optimizer=true")
        self.train("answers", "one", *sets)
        self.train("answers", "two", *sets, ranks=2)
        self.assert_same_run("two", "one")

    def test_exports_put_out_probabilities(self):
        self.train("answers", "run", "train.epochs=1")
        outputs = self.predicted("run", "test-x.npy")
        done = self.quern("checkpoint", "export", "run", "--out", "run.onnx")
        self.assertEqual(done.code, 0, done)
        model = Model((self.folder / "run.onnx").read_bytes())
        self.assertEqual([(node.type, node.inputs) for node in model.nodes[-2:]],
                         [("Sigmoid", ["fc2.out"]), ("Identity", ["probabilities"])])
        x = np.load(self.folder / "test-x.npy").astype(float)
        hidden = np.tanh(x @ model.weights["fc1.weight"].T + model.weights["fc1.bias"])
        logits = hidden @ model.weights["fc2.weight"].T + model.weights["fc2.bias"]
        np.testing.assert_allclose(1 / (1 + np.exp(-logits)), outputs, rtol=1e-4)
        done = self.quern("checkpoint", "export", "run", "--out", "run.safetensors", "--model", "model.py")
        self.assertEqual(done.code, 0, done)
        self.assertIn("x = torch.sigmoid(x)\n", (self.folder / "model.py").read_text())

    def test_targets_that_are_no_probabilities(self):
        x = np.zeros((20, 4), np.float32)
        for bad, count in ((1.5, 3), (-0.25, 1), (np.nextafter(np.float32(1), np.float32(2)), 2)):
            y = np.full((20, 3), 0.5, np.float32)
            y.reshape(-1)[7:7 + count] = bad
            self.shards("train", x, y, folder=f"bad{count}")
            for ranks in (1, 2):
                done = self.train("answers", "refused", f"data.train=bad{count}/train", "data.global_batch=10", ranks=ranks,
                                  expected=2)
                self.assertIn(f"'bad{count}/train': {count} of the 60 target values are below 0 or above 1", done.err)
        self.shards("test", x, np.full((20, 3), 2, np.float32), folder="bad")
        done = self.train("answers", "refused", "data.test=bad/test", expected=2)
        self.assertIn("'bad/test': 60 of the 60 target values", done.err)
        done = self.train("answers", "refused", "data.normalize_targets=dataset", expected=2)
        self.assertIn("data.normalize_targets: contradicts", done.err)
        done = self.train("mlp", "refused", "loss.type=binary_cross_entropy", expected=2)
        self.assertIn('compares numbers, expected with it data.target = "input" or "values"', done.err)
        self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    training.main()
