# SPDX-License-Identifier: Apache-2.0
"""The recipes of the repository do what their first lines promise."""
import re
import shutil
import unittest
from pathlib import Path

import idx
import training
from training import checkpoint_steps, metrics

RECIPES = Path(__file__).resolve().parents[3] / "recipes"
FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
FILES = {"train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", 3000),
         "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", 500)}


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


@unittest.skipUnless(FASHION.is_dir(), f"needs {FASHION}")
class FashionTest(RecipeTest):
    _shards = None

    @classmethod
    def shards(cls):
        if cls._shards is None:
            cls._shards = training.data_folder() / "fashion"
            cls._shards.mkdir()
            for split, (images, labels, count) in FILES.items():
                training.make_shards(cls._shards, split, idx.first_images(FASHION / images, count),
                                     idx.first_images(FASHION / labels, count))
        return cls._shards

    def losses(self, recipe, run, *sets, **options):
        data = [f"data.{split}={self.shards() / split}" for split in FILES]
        done = self.train(recipe, run, *data, *sets, **options)
        return [line["loss"] for line in metrics(self.folder / run, "epoch")], done

    def test_mlp_mnist(self):
        losses, done = self.losses("mlp-mnist", "run", "train.epochs=3", ranks=3)
        self.assertLess(losses[0], 2.3)
        self.assertLess(losses[-1], 1.4)
        lines = re.findall(r"rank (\d): sum of batch losses ([\d.]+)", done.out)
        self.assertEqual([int(rank) for rank, _ in lines], [0, 1, 2] * 3)
        # 8 batches an epoch: the mean of the ranks' means is about the epoch's loss.
        self.assertAlmostEqual(sum(float(loss) for _, loss in lines[-3:]) / 24, losses[-1],
                               delta=0.1)

    def test_lenet_fashion(self):
        slow, _ = self.losses("lenet-fashion", "slow", "train.epochs=1", ranks=2)
        self.assertAlmostEqual(slow[0], 2.3026, delta=0.02)  # it takes off later
        quick, _ = self.losses("lenet-fashion", "quick", "network.init=default",
                               "train.epochs=3", ranks=2)
        self.assertLess(quick[-1], 0.9 * quick[0])

    def test_autoencoder_mnist(self):
        losses, done = self.losses("autoencoder-mnist", "run", "train.epochs=3", ranks=2)
        self.assertLess(losses[-1], 0.07)
        self.assertLess(losses[-1], 0.6 * losses[0])
        self.assertNotIn("accuracy", done.out)
        self.assertNotIn("accuracy", metrics(self.folder / "run")[0])


if __name__ == "__main__":
    training.main()
