# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests of training share: data, recipes, runs and their results."""
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import idx
from folder import FolderTest
from program import Run, quern

CONV_LAYERS = """[
  {type = "conv2d", channels = 5, kernel = 3},
  {type = "relu"},
  {type = "max_pool2d", size = 2},
  {type = "dropout", p = 0.2},
  {type = "flatten"},
  {type = "linear", features = 10},
]"""
MLP_LAYERS = """[
  {type = "flatten"},
  {type = "linear", features = 19},
  {type = "relu"},
  {type = "linear", features = 10},
]"""
# 600 samples in batches of 49: the last batch of an epoch holds 12, so that of 7 ranks some idle.
RECIPE = """
name = "toy"
seed = 3
[data]
train = "train"
test = "test"
global_batch = 49
[network]
input = [1, 12, 12]
layers = {layers}
[loss]
type = "cross_entropy"
[optimizer]
type = "adam"
lr = 2e-3
[train]
epochs = 3
log_every_steps = 1
micro_block = 4
"""

_scratch = None
_data = None


def data_folder():
    """train/ (600 samples, 3 shards) and test/ (151 samples, 2 shards); made once a test file."""
    global _scratch, _data
    if _data is None:
        _scratch = tempfile.TemporaryDirectory()
        _data = Path(_scratch.name)
        make_shards(_data, "train", *idx.blobs(600), shards=3)
        make_shards(_data, "test", *idx.blobs(151, seed=8), shards=2)
    return _data


def make_shards(folder, split, images, labels, shards=1):
    (folder / f"{split}-images").write_bytes(idx.to_bytes(images))
    (folder / f"{split}-labels").write_bytes(idx.to_bytes(labels))
    done = quern("shard", "--images", folder / f"{split}-images", "--labels",
                 folder / f"{split}-labels", "--out", folder / split, "--split", split,
                 "--shards", shards, "--name", "toy")
    if done.code != 0:
        raise RuntimeError(f"cannot make shards: {done}")


def metrics(run_dir, *kinds):
    """The lines of metrics.jsonl of these kinds, or all."""
    lines = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if not kinds or line["kind"] in kinds]


def results(run_dir):
    """What must not depend on ranks, threads or interruptions: floats compare bit for bit."""
    keys = ("kind", "epoch", "step", "loss", "accuracy", "lr", "samples")
    return [tuple(line.get(key) for key in keys) for line in metrics(run_dir, "epoch", "eval")]


def checkpoint_steps(run_dir):
    folder = run_dir / "checkpoints"
    return sorted(int(file.stem[5:]) for file in folder.glob("ckpt-*.h5"))


def checkpoint_file(run_dir, step):
    return run_dir / "checkpoints" / f"ckpt-{step:010}.h5"


def tree(folder):
    """Every file below a folder with its bytes: equal before and after when nothing was written."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")}


class TrainingTest(FolderTest):
    """Each test works in a folder of its own that holds train/, test/, conv.toml and mlp.toml."""

    maxDiff = None

    def setUp(self):
        super().setUp()
        for split in ("train", "test"):
            (self.folder / split).symlink_to(data_folder() / split)
        self.write_recipe("conv", RECIPE, CONV_LAYERS)
        self.write_recipe("mlp", RECIPE, MLP_LAYERS)

    def write_recipe(self, name, text, layers=MLP_LAYERS):
        (self.folder / f"{name}.toml").write_text(text.replace("{layers}", layers))

    def own_data(self):
        """A copy of the data set that the test may damage."""
        for split in ("train", "test"):
            (self.folder / split).unlink()
            shutil.copytree(data_folder() / split, self.folder / split)

    def quern(self, *args, **options):
        return quern(*args, cwd=self.folder, **options)

    @staticmethod
    def train_arguments(recipe, run, sets):
        settings = [part for item in sets for part in ("--set", item)]
        return ["train", f"{recipe}.toml", "--run-dir", run, *settings]

    def start(self, recipe, run, *sets, **options):
        return Run(*self.train_arguments(recipe, run, sets), cwd=self.folder, **options)

    def train(self, recipe, run, *sets, expected=0, **options):
        done = self.start(recipe, run, *sets, **options).wait()
        self.assertEqual(set(done.codes), {expected}, done)
        self.assertEqual(done.code, expected, done)
        return done

    def hash(self, run):
        done = self.quern("checkpoint", "hash", run)
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r"^[0-9a-f]{64}\n$")
        return done.out

    def assert_same_run(self, run, reference):
        self.assertEqual(results(self.folder / run), results(self.folder / reference))
        self.assertEqual(self.hash(run), self.hash(reference))


def main():
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[3:])
