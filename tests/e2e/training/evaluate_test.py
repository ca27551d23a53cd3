# SPDX-License-Identifier: Apache-2.0
"""evaluate and predict against a forward pass in NumPy with the checkpoint's own weights."""
import json

import h5py
import idx
import numpy as np
import training
from training import checkpoint_file, metrics


class EvaluateTest(training.TrainingTest):
    def evaluate(self, run, data, *options, ranks=0):
        done = self.quern("evaluate", run, "--data", data, "--json", *options, ranks=ranks)
        self.assertEqual(set(done.codes), {0}, done)
        return json.loads(done.out)

    def logits(self, file, images):
        with h5py.File(file, "r") as checkpoint:
            layers = {name: (layer["weight"][()].astype(np.float64),
                             layer["bias"][()].astype(np.float64))
                      for name, layer in checkpoint["model"].items()}
        values = images.reshape(len(images), -1) / 255.0
        for weight, bias in (layers["fc1"], layers["fc2"]):
            if weight is layers["fc2"][0]:
                values = np.maximum(values, 0)
            values = values @ weight.T + bias
        return values

    def test_any_number_of_ranks_and_numpy(self):
        self.train("mlp", "run", ranks=2)
        alone = self.evaluate("run", "test")
        self.assertEqual(alone["samples"], 151)
        for ranks, data in ((1, "test"), (2, "test"), (3, "test")):
            several = self.evaluate("run", data, ranks=ranks)
            self.assertEqual(several.pop("ranks"), ranks)
            self.assertEqual(several, {k: v for k, v in alone.items() if k != "ranks"})
        last = metrics(self.folder / "run", "eval")[-1]
        self.assertEqual((last["loss"], last["accuracy"]), (alone["loss"], alone["accuracy"]))

        for data, count, seed in (("test", 151, 8), ("train", 600, 7)):
            images, labels = idx.blobs(count, seed=seed)
            logits = self.logits(checkpoint_file(self.folder / "run", 39), images)
            peak = logits.max(axis=1, keepdims=True)
            sums = np.log(np.exp(logits - peak).sum(axis=1)) + peak[:, 0]
            loss = (sums - logits[np.arange(count), labels]).mean()
            found = self.evaluate("run", data)
            np.testing.assert_allclose(found["loss"], loss, rtol=1e-5)
            self.assertEqual(found["correct"], int((logits.argmax(axis=1) == labels).sum()))
            self.assertEqual(found["accuracy"], found["correct"] / count)

    def test_run_folder_or_any_checkpoint(self):
        self.train("conv", "run", ranks=2)
        lines = metrics(self.folder / "run", "eval")
        for line in lines:
            file = checkpoint_file(self.folder / "run", line["step"])
            found = self.evaluate(file, "test", ranks=3)
            self.assertEqual((found["loss"], found["accuracy"]), (line["loss"], line["accuracy"]))
            self.assertEqual(found["step"], line["step"])
        sentence = self.quern("evaluate", "run", "--data", "test").out
        self.assertIn(f"accuracy {100 * lines[-1]['accuracy']:.2f} %", sentence)
        self.assertIn("of 151", sentence)

    def test_predict(self):
        self.train("mlp", "run")
        images, _ = idx.blobs(300, seed=11)
        (self.folder / "images").write_bytes(idx.to_bytes(images))
        done = self.quern("predict", "run", "--images", "images")
        self.assertEqual(done.code, 0, done)
        logits = self.logits(checkpoint_file(self.folder / "run", 39), images)
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        head, *rows = [line.split(",") for line in done.out.splitlines()]
        self.assertEqual(head, ["index", "class", "probability"])
        self.assertEqual([row[:2] for row in rows], [[str(i), str(c)] for i, c in enumerate(logits.argmax(axis=1))])
        np.testing.assert_allclose([float(row[2]) for row in rows], 1 / exponentials.sum(axis=1), rtol=1e-4)
        again = self.quern("predict", checkpoint_file(self.folder / "run", 39), "--images",
                           "images", "--out", "classes.csv")
        self.assertEqual(again.code, 0, again)
        self.assertEqual((self.folder / "classes.csv").read_text(), done.out)

    def test_batches_of_predictions(self):
        self.train("mlp", "run", "train.epochs=1")
        for data in (["--data", "test"], ["--images", training.data_folder() / "test-images"]):
            whole = self.quern("predict", "run", *data)
            for ranks, batch in ((0, 1), (0, 7), (2, 1), (3, 50), (0, 1000)):
                done = self.quern("predict", "run", *data, "--batch", batch, ranks=ranks)
                self.assertEqual(set(done.codes), {0}, done)
                self.assertEqual(done.out, whole.out)
                self.assertNotIn("a batch of", done.err)
        done = self.quern("predict", "run", "--data", "test", "--batch", 1, "--timing")
        self.assertEqual((done.code, done.out.splitlines()[0]), (0, "index,class,label,probability,loss"), done)
        self.assertRegex(done.err, r"quern: a batch of 1 sample on each rank takes \S+ us \(median of 151; "
                                   r"99 % of them at most \S+ [um]s\)\n")
        done = self.quern("predict", "run", "--data", "test", "--batch", 20, "--timing", ranks=2)
        self.assertEqual(done.err.count("a batch of 20 samples on each rank takes "), 1, done)
        self.assertIn(" (median of 3; ", done.err)  # 40 of 151 samples, three times; the short rest does not count
        done = self.quern("predict", "run", "--data", "test", "--batch", 0)
        self.assertEqual(done.code, 2, done)

    def test_weights_of_another_format_are_no_damaged_checkpoint(self):
        (self.folder / "w.safetensors").write_bytes(b"\x02" + bytes(7) + b"{}")
        for command in (["evaluate", "w.safetensors", "--data", "test"], ["predict", "w.safetensors", "--data", "test"]):
            done = self.quern(*command)
            self.assertEqual((done.code, done.out), (2, ""), done)
            self.assertIn("is no checkpoint", done.err)
            self.assertIn("quern import", done.err)

    def test_without_data_the_test_set_of_the_training(self):
        self.train("mlp", "run", "train.epochs=1")
        named = self.quern("evaluate", "run", "--data", "test")
        for ranks in (0, 2):
            done = self.quern("evaluate", "run", ranks=ranks)
            self.assertEqual((done.code, done.err.count("quern: evaluating data.test of the recipe, 'test'\n")), (0, 1), done)
            if ranks == 0:
                self.assertEqual(done.out, named.out)
        self.train("mlp", "none", 'data={train = "train", global_batch = 49}', "train.epochs=1")
        for ranks in (0, 2):
            done = self.quern("evaluate", "none", ranks=ranks)
            self.assertEqual((set(done.codes), len(done.errors())), ({2}, 1), done)
            self.assertIn("which names none (expected --data DIR)", done.err)

    def test_files_of_torch_save_are_named(self):
        (self.folder / "w.pt").write_bytes(b"PK\x03\x04" + bytes(60))
        for command in (["evaluate", "w.pt", "--data", "test"], ["predict", "w.pt", "--data", "test"],
                        ["train", "mlp.toml", "--run-dir", "new", "--resume", "w.pt"]):
            done = self.quern(*command)
            self.assertEqual((done.code, done.out), (2, ""), done)
            self.assertIn("'w.pt' is a file of torch.save, no checkpoint", done.err)
            self.assertIn("quern_weights.py and then quern import", done.err)

    def test_metrics_of_classes(self):
        self.train("mlp", "run", "train.epochs=1")
        images, labels = idx.blobs(151, seed=8)
        logits = self.logits(checkpoint_file(self.folder / "run", 13), images)
        confusion = np.zeros((10, 10), int)
        np.add.at(confusion, (labels, logits.argmax(axis=1)), 1)
        top = np.argsort(-logits, axis=1, kind="stable")[:, :5]
        words = []
        for ranks in (1, 2, 3):
            done = self.quern("evaluate", "run", "--data", "test", "--json", "--metrics",
                              "top5,per_class,confusion", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            found = json.loads(done.out)
            np.testing.assert_array_equal(found["confusion"], confusion)
            self.assertEqual(found["class_samples"], confusion.sum(axis=1).tolist())
            self.assertEqual(found["class_correct"], confusion.diagonal().tolist())
            self.assertEqual(found["class_predicted"], confusion.sum(axis=0).tolist())
            right, samples, predicted = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
            f1 = [2 * r / (s + p) for r, s, p in zip(right, samples, predicted) if s + p]
            np.testing.assert_allclose(found["macro_f1"], np.mean(f1), rtol=1e-12)
            np.testing.assert_allclose([one for one in found["class_f1"] if one is not None], f1, rtol=1e-12)
            self.assertAlmostEqual(found["top5_accuracy"], (top == labels[:, None]).any(axis=1).mean(), places=12)
            self.assertEqual(found["correct"], confusion.diagonal().sum())
        done = self.quern("evaluate", "run", "--data", "test", "--metrics", "confusion,per_class,top5")
        self.assertRegex(done.out, r"top-5 \d+\.\d\d %\nclass    0  recall ")
        self.assertRegex(done.out, r"\n  label     0 .*\n      0 ")
        done = self.quern("evaluate", "run", "--data", "test", "--metrics", "top5,f1")
        self.assertEqual((done.code, done.out), (2, ""), done)
        self.assertIn("'f1' is unknown, expected top5, per_class or confusion", done.err)

    def test_on_the_grid_of_the_training_or_on_any_other(self):
        """Stages and parts of layers where the ranks form them, and the whole network on each elsewhere: the same
        figures to the bit."""
        self.train("conv", "run", "parallel.pipeline=2", "parallel.tensor=2", "train.epochs=1", ranks=4)
        options = ("--metrics", "top5,per_class,confusion")
        alone = self.evaluate("run", "test", *options)
        table = self.quern("predict", "run", "--data", "test")
        self.assertEqual((table.code, len(table.out.splitlines())), (0, 152), table)
        for ranks in (2, 3, 4, 8):
            several = self.evaluate("run", "test", *options, ranks=ranks)
            self.assertEqual(several.pop("ranks"), ranks)
            self.assertEqual(several, {k: v for k, v in alone.items() if k != "ranks"})
            done = self.quern("predict", "run", "--data", "test", ranks=ranks)
            self.assertEqual((done.code, done.out), (0, table.out), done)
        images = self.quern("predict", "run", "--images", training.data_folder() / "test-images", "--out", "classes.csv", ranks=4)
        self.assertEqual(images.code, 0, images)
        classes = [line.split(",")[:2] for line in (self.folder / "classes.csv").read_text().splitlines()]
        self.assertEqual(classes, [line.split(",")[:2] for line in table.out.splitlines()])
        done = self.quern("predict", "run", "--images", "none", ranks=4)
        self.assertEqual(set(done.codes), {2}, done)
        self.assertEqual(len(done.errors()), 1, done)

    def test_predictions_of_shards(self):
        self.train("mlp", "run")
        images, labels = idx.blobs(151, seed=8)
        logits = self.logits(checkpoint_file(self.folder / "run", 39), images)
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = exponentials / exponentials.sum(axis=1, keepdims=True)
        done = self.quern("predict", "run", "--data", "test")
        self.assertEqual(done.code, 0, done)
        head, *rows = [line.split(",") for line in done.out.splitlines()]
        self.assertEqual(head, ["index", "class", "label", "probability", "loss"])
        found = np.array(rows, dtype=float)
        np.testing.assert_array_equal(found[:, 0], np.arange(151))
        np.testing.assert_array_equal(found[:, 1], logits.argmax(axis=1))
        np.testing.assert_array_equal(found[:, 2], labels)
        np.testing.assert_allclose(found[:, 3], shares.max(axis=1), rtol=1e-4)
        np.testing.assert_allclose(found[:, 4], -np.log(shares[np.arange(151), labels]), rtol=1e-4,
                                   atol=1e-5)
        np.testing.assert_allclose(found[:, 4].mean(), metrics(self.folder / "run", "eval")[-1]["loss"],
                                   rtol=1e-4)


if __name__ == "__main__":
    training.main()
