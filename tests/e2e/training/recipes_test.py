# SPDX-License-Identifier: Apache-2.0
"""The recipes of the repository do what their first lines promise."""
import math
import re
import shutil
import unittest
from pathlib import Path

import training
from program import quern
from training import checkpoint_steps, metrics

RECIPES = Path(__file__).resolve().parents[3] / "recipes"
FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
FILES = {"train": "train", "test": "t10k"}
TIMEOUT_S = 280


class RecipeTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        for file in RECIPES.glob("*.toml"):
            shutil.copy(file, self.folder)


class RandomDataTest(RecipeTest):
    def test_ddp_toy(self):
        self.train("ddp-toy", "alone")
        for ranks in (2, 4):
            self.train("ddp-toy", f"{ranks}", ranks=ranks)
            self.assert_same_run(f"{ranks}", "alone")
        self.assertEqual(checkpoint_steps(self.folder / "alone"), [1])

    def test_scatter_toy_shares(self):
        done = self.quern("train", "scatter-toy.toml", "--dry-run", ranks=4)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertRegex(done.out, r"full batch +30 samples.* 8, 8, 8, 6\n")
        self.assertRegex(done.out, r"last batch +10 samples.* 3, 3, 3, 1\n")
        self.assertFalse((self.folder / "runs").exists())

    def test_scatter_toy_gradient(self):
        self.train("scatter-toy", "alone")
        self.train("scatter-toy", "four", ranks=4)
        self.assert_same_run("four", "alone")
        samples = [line["samples"] for line in metrics(self.folder / "alone", "step")]
        self.assertEqual(samples, [30, 30, 30, 10])

    def test_residual_networks_have_their_size(self):
        """Parameters and multiply-adds of torchvision's, for images of 3 x 224 x 224."""
        for recipe, parameters, work in (("resnet50", "25 557 032", "4.09 G"), ("resnet18", "11 689 512", "1.81 G")):
            done = self.quern("info", f"{recipe}.toml", "--set", "network.input=[3, 224, 224]")
            self.assertEqual((done.code, done.err), (0, ""), done)
            self.assertRegex(done.out, rf"\ntotal +{parameters} +{work} +")
            self.assertRegex(done.out, r"\nfc +linear +\[1000\] ")
            self.assertRegex(done.out, r"\nlayer4\.1\.add +add +layer4\.1\.bn[23] \+ layer4\.0\.relu +\[\d+, 7, 7\]")

    def test_residual_networks_train_alike_on_ranks(self):
        small = [f"network.layers.layer{stage}.channels={3 + stage}" for stage in (1, 2, 3)]
        small += ["network.layers.fc.features=10", "network.layers.conv1.channels=6", "data.global_batch=12",
                  "train.micro_block=3", "train.epochs=1"]
        random = ["network.layers.layer4.channels=8", "network.input=[3, 36, 36]", "data.samples=30"]
        fashion = ["network.input=[1, 12, 12]", "data.train=train", "data.test=test", "data.global_batch=60"]
        labels = ["data.target=label", "loss.type=cross_entropy"]
        for recipe, sets in (("resnet18", random), ("resnet18", random + labels), ("resnet50", random),
                             ("resnet20-fashion", fashion)):
            with self.subTest(recipe=recipe, labels=sets[-2:] == labels):
                run = f"{recipe}-{len(sets)}"
                self.train(recipe, f"{run}-1", *small, *sets)
                for ranks in (2, 3):
                    self.train(recipe, f"{run}-{ranks}", *small, *sets, ranks=ranks)
                    self.assert_same_run(f"{run}-{ranks}", f"{run}-1")
        accuracy = metrics(self.folder / f"resnet18-{len(random + labels)}-1", "epoch")[-1]["accuracy"]
        self.assertGreaterEqual(accuracy, 0)

    def test_trainer_series_goes_on_from_its_snapshot(self):
        sets = ("train.epochs=200", "checkpoint.every_epochs=5")
        self.train("trainer-series", "whole", *sets, ranks=2)
        run = self.start("trainer-series", "killed", *sets, ranks=2)
        folder = self.folder / "killed"
        self.assertTrue(run.wait_until(lambda: checkpoint_steps(folder)))
        run.kill()
        left = checkpoint_steps(folder)
        self.assertEqual([step % (5 * 32) for step in left], [0] * len(left))
        again = self.train("trainer-series", "killed", *sets, ranks=2)
        self.assertIn(f"continuing from killed/checkpoints/ckpt-{left[-1]:010}.h5", again.err)
        self.assert_same_run("killed", "whole")
        losses = [line["loss"] for line in metrics(folder, "epoch")]
        self.assertLess(losses[-1], losses[0])
        self.assertEqual({line["ranks"] for line in metrics(folder)}, {2})

    def test_trainer_series_with_synchronised_batch_norm_goes_on_alone(self):
        recipe = "trainer-series-batchnorm"
        sets = ("train.epochs=200", "checkpoint.every_epochs=5")
        self.train(recipe, "whole", *sets)
        run = self.start(recipe, "killed", *sets, ranks=2)
        folder = self.folder / "killed"
        self.assertTrue(run.wait_until(lambda: checkpoint_steps(folder)))
        run.kill()
        left = checkpoint_steps(folder)
        again = self.train(recipe, "killed", *sets)
        self.assertIn(f"continuing from killed/checkpoints/ckpt-{left[-1]:010}.h5", again.err)
        self.assert_same_run("killed", "whole")
        shown = self.quern("checkpoint", "show", "killed").out
        for name in ("bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var"):
            self.assertRegex(shown, name.replace(".", "[.]") + r" +\[16\]\n")
        losses = [line["loss"] for line in metrics(folder, "epoch")]
        self.assertLess(losses[-1], losses[0])


@unittest.skipUnless(FASHION.is_dir(), f"needs {FASHION}")
class FashionTest(RecipeTest):
    """The recipes as they are shipped, on all of Fashion-MNIST: they learn. No number of ranks and no
    stop changes what they reach; another type of processor does, by less than these bounds leave."""

    _shards = None

    @classmethod
    def shards(cls):
        if cls._shards is None:
            folder = training.data_folder() / "fashion"
            for split, stem in FILES.items():
                files = [part for kind in ("images-idx3", "labels-idx1")
                         for part in (f"--{kind.split('-')[0]}", FASHION / f"{stem}-{kind}-ubyte.gz")]
                done = quern("shard", *files, "--out", folder / split, "--split", split)
                if done.code != 0:
                    raise RuntimeError(f"cannot make shards: {done}")
            cls._shards = folder
        return cls._shards

    def learn(self, recipe, *sets, ranks):
        """({kind of line: [lines of metrics.jsonl]}, the run's outcome)"""
        data = [f"data.{split}={self.shards() / split}" for split in FILES]
        done = self.start(recipe, "run", *data, *sets, ranks=ranks).wait(TIMEOUT_S)
        self.assertEqual(set(done.codes), {0}, done)
        return {kind: metrics(self.folder / "run", kind) for kind in ("epoch", "eval")}, done

    def test_mlp_mnist(self):
        lines, done = self.learn("mlp-mnist", ranks=3)
        self.assertEqual(len(lines["epoch"]), 2)
        self.assertLess(lines["epoch"][-1]["loss"], 0.5)
        self.assertGreater(lines["eval"][-1]["accuracy"], 0.82)
        sums = re.findall(r"rank (\d): sum of batch losses ([\d.]+)", done.out)
        self.assertEqual([int(rank) for rank, _ in sums], [0, 1, 2] * 2)
        # 157 batches an epoch: the mean of the ranks' means is about the epoch's loss.
        self.assertAlmostEqual(sum(float(loss) for _, loss in sums[-3:]) / (3 * 157),
                               lines["epoch"][-1]["loss"], delta=0.01)

    def test_lenet_fashion(self):
        lines, _ = self.learn("lenet-fashion", "train.epochs=2", ranks=2)
        first, last = lines["epoch"]
        # Small weights and plain SGD: ten classes by chance for an epoch, and then it takes off.
        self.assertAlmostEqual(first["loss"], math.log(10), delta=0.01)
        self.assertLess(last["loss"], 1.9)
        self.assertLess(lines["eval"][-1]["loss"], 1.0)
        self.assertGreater(lines["eval"][-1]["accuracy"], 0.62)

    def test_autoencoder_mnist(self):
        lines, done = self.learn("autoencoder-mnist", "train.epochs=2", ranks=2)
        self.assertLess(lines["epoch"][-1]["loss"], 0.03)
        self.assertLess(lines["eval"][-1]["loss"], 0.03)
        self.assertNotIn("accuracy", done.out)
        self.assertNotIn("accuracy", lines["eval"][-1])


if __name__ == "__main__":
    training.main()
