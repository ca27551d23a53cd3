#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a recipe in PyTorch with several seeds and prints how the results spread.

The peer of analysis/seeds.py: the same shards, network, loss, optimizer, schedule, crops and flips,
and epochs; what is drawn (initial weights, shuffles, windows) is drawn by PyTorch. Needs PyTorch and
h5py.

Example: benchmarks/torch_seeds.py recipes/autoencoder-mnist.toml --seeds 0 1 2
"""

import argparse
import json
import statistics
import sys
import tomllib
from pathlib import Path

from script import add_json, exit_status
from torch_recipe import augment, learning_rate
from words import positive
from workloads import ProblemError, batch_size

TITLES = {"train_loss": "training loss", "test_loss": "test loss",
          "test_accuracy": "test accuracy / %"}
EVALUATION_BATCH = 1000


def read_split(folder):
    """(images uint8 [n, c, h, w], labels uint8 [n]) of all shards of a folder, in order."""
    import h5py
    import numpy
    files = sorted(Path(folder).glob("*.h5"))
    if not files:
        raise ProblemError(f"no shards (*.h5) in {folder}: data/README.md says how to make them")
    images, labels = [], []
    for file in files:
        with h5py.File(file) as shard:
            images.append(shard["images"][:])
            labels.append(shard["labels"][:])
    return numpy.concatenate(images), numpy.concatenate(labels)


class Training:
    """One seed's run over data that stay in memory as floats."""

    def __init__(self, torch, recipe, splits, channels_last=False):
        import torch_model
        self.torch, self.recipe, self.batch = torch, recipe, batch_size(recipe)
        self.layout = torch.channels_last if channels_last else torch.contiguous_format
        self.network = torch_model.build_network(recipe).to(memory_format=self.layout)
        self.loss_of = torch_model.build_loss(recipe)
        self.optimizer = torch_model.build_optimizer(recipe, self.network.parameters(), fused=True)
        self.to_input = recipe["data"].get("target") == "input"
        self.splits, self.step = splits, 0
        self.steps_per_epoch = -(-len(splits["train"][0]) // self.batch)
        self.total_steps = recipe["train"]["epochs"] * self.steps_per_epoch

    def samples(self, split, chosen):
        images, labels = self.splits[split]
        x = images[chosen]
        windows = self.recipe["data"].get("augment", {})
        if split == "train" and windows:
            x = augment(self.torch, x, windows.get("crop", 0), windows.get("flip", False))
        x = x.contiguous(memory_format=self.layout)
        return x, x.flatten(1) if self.to_input else labels[chosen]

    def train_epoch(self):
        """Mean loss over the samples, each taken when its batch was trained on."""
        self.network.train()
        total = self.torch.zeros(())
        order = self.torch.randperm(len(self.splits["train"][0]))
        for chosen in order.split(self.batch):
            x, y = self.samples("train", chosen)
            loss = self.loss_of(self.network(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.update()
            total += loss.detach() * len(chosen)
        return total.item() / len(order)

    def update(self):
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.recipe["optimizer"], self.step, self.steps_per_epoch,
                                        self.total_steps)
        self.optimizer.step()
        self.step += 1

    def evaluate(self):
        """(mean loss, fraction of the labels that are right or None)"""
        self.network.eval()
        loss, correct = 0.0, 0
        count = len(self.splits["test"][0])
        with self.torch.no_grad():
            for chosen in self.torch.arange(count).split(EVALUATION_BATCH):
                x, y = self.samples("test", chosen)
                output = self.network(x)
                loss += self.loss_of(output, y).item() * len(chosen)
                if self.recipe["loss"]["type"] == "cross_entropy":
                    correct += (output.argmax(1) == y).sum().item()
        has_labels = self.recipe["loss"]["type"] == "cross_entropy"
        return loss / count, correct / count if has_labels else None


def train(torch, recipe, splits, seed, channels_last=False, each_epoch=None):
    """The results after the last epoch; `each_epoch(number, results)` sees those of each."""
    training = Training(torch, {**recipe, "seed": seed}, splits, channels_last)
    epochs = recipe["train"]["epochs"]
    for epoch in range(1, epochs + 1):
        result = {"seed": seed, "train_loss": training.train_epoch()}
        if epoch < epochs and not each_epoch:
            continue
        result["test_loss"], accuracy = training.evaluate()
        if accuracy is not None:
            result["test_accuracy"] = 100 * accuracy
        if each_epoch:
            each_epoch(epoch, result)
    return result


def row(name, result):
    cells = [f"{result[key]:>18.2f}" if key == "test_accuracy" else f"{result[key]:>18.5f}"
             for key in TITLES if key in result]
    return f"{name:>6}" + "".join(cells)


def print_epoch(epoch, result):
    print(f"  seed {result['seed']}, epoch {epoch}: "
          + ", ".join(f"{TITLES[key]} {result[key]:.5g}" for key in TITLES if key in result),
          flush=True)


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path, help="recipe file; its folders of shards are relative "
                        "to where this is started")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], metavar="N",
                        help="default: 0 1 2 3 4")
    parser.add_argument("--epochs", type=positive, help="other than the recipe's")
    parser.add_argument("--global-batch", type=positive, metavar="N",
                        help="other than the recipe's (one rank's): 6 ranks of 128 are 768")
    parser.add_argument("--every-epoch", action="store_true",
                        help="print the results of every epoch, too")
    parser.add_argument("--channels-last", action="store_true",
                        help="memory format of images and convolutions: faster with many channels")
    parser.add_argument("--threads", type=positive, default=1, help="default: 1")
    add_json(parser)
    return parser.parse_args(words)


def read_recipe(arguments):
    try:
        recipe = tomllib.loads(arguments.recipe.read_text(encoding="utf-8"))
        if arguments.epochs:
            recipe["train"]["epochs"] = arguments.epochs
        if arguments.global_batch:
            recipe["data"]["global_batch"] = arguments.global_batch
        if not recipe["data"].get("test"):
            raise ProblemError(f"{arguments.recipe} names no test set")
        return recipe
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError) as error:
        raise ProblemError(f"cannot use recipe {arguments.recipe}: {error!r}") from error


def run(arguments):
    recipe = read_recipe(arguments)
    try:
        splits = {name: read_split(recipe["data"][name]) for name in ("train", "test")}
        import torch
    except ImportError as error:
        raise ProblemError(f"this Python has no module '{error.name}'; benchmarks/README.md says "
                           "how to install it") from error
    torch.set_num_threads(arguments.threads)
    splits = {name: (torch.from_numpy(images).float() / 255, torch.from_numpy(labels).long())
              for name, (images, labels) in splits.items()}
    results = []
    for seed in dict.fromkeys(arguments.seeds):
        results.append(train(torch, recipe, splits, seed, arguments.channels_last,
                             print_epoch if arguments.every_epoch else None))
        if len(results) == 1:
            print(f"{recipe['name']}, batch {batch_size(recipe)}, {recipe['train']['epochs']} "
                  f"epochs, PyTorch {torch.__version__}\n{'seed':>6}"
                  + "".join(f"{TITLES[key]:>18}" for key in TITLES if key in results[0]))
        print(row(seed, results[-1]), flush=True)
    for name, of in (("mean", statistics.fmean), ("min", min), ("max", max)):
        print(row(name, {key: of([result[key] for result in results])
                         for key in TITLES if key in results[0]}))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


def main(words=None):
    arguments = parse_arguments(words)
    return exit_status("torch_seeds", lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
