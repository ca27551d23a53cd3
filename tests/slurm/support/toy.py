# SPDX-License-Identifier: Apache-2.0
"""A small run for the tests that stop and kill. A checkpoint at every step makes it slow enough (each
is forced to the disk) to be met alive; its weights are those of the run without them."""
import subprocess

from cluster import PROGRAM

STEPS = 400
RECIPE = """
name = "toy"
seed = 3
[data]
source = "random"
samples = 1280
global_batch = 64
target = "values"
[network]
input = [20]
layers = [
  {type = "linear", features = 24},
  {type = "relu"},
  {type = "linear", features = 5},
]
[loss]
type = "mse"
[optimizer]
type = "adam"
lr = 1e-3
[train]
epochs = 20
micro_block = 1
[checkpoint]
every_steps = 1
"""


def write_recipe(folder, name="toy.toml", text=RECIPE):
    (folder / name).write_text(text)
    return folder / name


def write_shards(folder, number):
    """In folder/train."""
    import idx  # of tests/e2e/support: not all tests have it
    images, labels = idx.blobs(600)
    (folder / "images").write_bytes(idx.to_bytes(images))
    (folder / "labels").write_bytes(idx.to_bytes(labels))
    subprocess.run([PROGRAM, "shard", "--images", "images", "--labels", "labels", "--out", "train", "--split", "train",
                    "--shards", str(number), "--name", "toy"], cwd=folder, check=True, capture_output=True, timeout=100)


def of_shards(data):
    """The recipe, with such shards for its data."""
    text = RECIPE.replace('source = "random"\nsamples = 1280', f'train = "{data}"')
    text = text.replace('target = "values"', 'target = "label"').replace('"mse"', '"cross_entropy"')
    text = text.replace("input = [20]\nlayers = [", 'input = [1, 12, 12]\nlayers = [\n  {type = "flatten"},')
    return text.replace("features = 5", "features = 10")


def reference_hash(folder, name="toy", text=RECIPE):
    """The weights' hash of the same recipe on one rank, never stopped and without Slurm."""
    run = folder / f"reference-{name}"
    if not (run / "DONE").exists():
        recipe = write_recipe(folder, f"reference-{name}.toml", text)
        subprocess.run([PROGRAM, "train", recipe, "--run-dir", run, "--set", "checkpoint.every_steps=0",
                        "--set", "checkpoint.every_epochs=0"], check=True, capture_output=True, timeout=100)
    done = subprocess.run([PROGRAM, "checkpoint", "hash", run], check=True, capture_output=True,
                          text=True, timeout=100)
    return done.stdout.strip()
