#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far two correct float32 programs may drift apart on a golden recipe, per batch order.

For each order seed: the exact (float64) losses against float32 runs whose rounding differs (the
samples inside each batch in another order, each initial weight moved to a neighbouring float or
left). Prints the largest relative difference of the losses per run. README.md says what it is for.

    python conditioning.py --fashion-mnist DIR [--recipe NAME] [--seeds 1 2 3] [--runs N]
"""

import argparse
import copy
import tomllib
from pathlib import Path

import torch

from make_golden import HERE, PLANS, image_batches, train
from torch_model import build_network


def reround(network, generator):
    """A copy with every weight moved one float up, down or not at all."""
    moved = copy.deepcopy(network)
    with torch.no_grad():
        for tensor in moved.parameters():
            towards = torch.randint(-1, 2, tensor.shape, generator=generator).float() * torch.inf
            towards = torch.where(towards.isnan(), tensor, towards)
            tensor.copy_(torch.nextafter(tensor, towards))
    return moved


def reorder(batches, generator):
    orders = [torch.randperm(len(x), generator=generator) for x, _ in batches]
    return [(x[i], y[i]) for (x, y), i in zip(batches, orders)]


def drifts(recipe, plan, folder, seed, runs):
    batches, _ = image_batches(recipe, plan["steps"], folder, seed)
    network = build_network(recipe)
    exact_batches = [(x.double(), y.double() if y.is_floating_point() else y) for x, y in batches]
    exact = train(copy.deepcopy(network).double(), recipe, plan, exact_batches)["losses"]
    generator = torch.Generator().manual_seed(0)
    for run in range(runs):
        start, order = copy.deepcopy(network), batches
        if run > 0:
            start, order = reround(network, generator), reorder(batches, generator)
        losses = train(start, recipe, plan, order)["losses"]
        yield max(abs(a / b - 1) for a, b in zip(losses, exact))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fashion-mnist", type=Path, required=True)
    parser.add_argument("--recipe", default="mlp-mnist",
                        choices=["mlp-mnist", "lenet-fashion", "autoencoder-mnist"])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(1, 11)))
    parser.add_argument("--runs", type=int, default=6, help="float32 runs per seed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    recipe = tomllib.loads((HERE / f"{arguments.recipe}.toml").read_text())
    for seed in arguments.seeds:
        found = drifts(recipe, PLANS[arguments.recipe], arguments.fashion_mnist, seed,
                       arguments.runs)
        print(f"order seed {seed:2}: " + "  ".join(f"{value:.1e}" for value in found), flush=True)


if __name__ == "__main__":
    main()
