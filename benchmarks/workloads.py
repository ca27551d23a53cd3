# SPDX-License-Identifier: Apache-2.0
"""The workloads of the benchmarks: recipes, batches, and the matrix products of a training step."""

import math
import tomllib
from typing import NamedTuple

RECIPES = {"W1": "mlp-mnist", "W2": "lenet-fashion", "W7": "autoencoder-mnist"}
TRAIN_SAMPLES = 60000


class ProblemError(Exception):
    """Something the user has to put right."""


class Gemm(NamedTuple):
    """C [m, n] = A B over k; row major, as PyTorch keeps weights [out, in]."""

    layer: str
    what: str  # forward, weight_gradient or input_gradient
    form: str  # nn: A [m, k], B [k, n]; nt: B is given as [n, k]; tn: A is given as [k, m]
    m: int
    n: int
    k: int

    @property
    def flop(self):
        return 2 * self.m * self.n * self.k

    @property
    def shape(self):
        return f"{self.form} {self.m} {self.n} {self.k}"


def read_recipe(folder, workload):
    """(path, content)"""
    path = folder / f"{RECIPES[workload]}.toml"
    try:
        return path, tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ProblemError(f"cannot read recipe {path}: {error}") from error


def batch_size(recipe):
    """Samples per step of one rank alone."""
    data = recipe["data"]
    return data.get("global_batch") or data["batch_per_rank"]


def has_convolutions(recipe):
    return any(layer["type"] == "conv2d" for layer in recipe["network"]["layers"])


def window_output(size, layer, kernel):
    padding = layer.get("padding", 0)
    stride = layer.get("stride", 1 if layer["type"] == "conv2d" else kernel)
    return (size + 2 * padding - kernel) // stride + 1


def layer_products(recipe):
    """(name, rows, outputs, inputs) of each layer with weights; convolutions as im2col."""
    shape, batch = list(recipe["network"]["input"]), batch_size(recipe)
    products, counts = [], {"linear": 0, "conv2d": 0}
    for layer in recipe["network"]["layers"]:
        kind = layer["type"]
        if kind in counts:
            counts[kind] += 1
        if kind == "linear":
            inputs, shape = math.prod(shape), [layer["features"]]
            products.append((f"fc{counts[kind]}", batch, layer["features"], inputs))
        elif kind == "conv2d":
            kernel = layer["kernel"]
            inputs = shape[0] * kernel * kernel
            shape = [layer["channels"], *(window_output(s, layer, kernel) for s in shape[1:])]
            products.append((f"conv{counts[kind]}", batch * shape[1] * shape[2],
                             layer["channels"], inputs))
        elif kind.endswith("_pool2d"):
            shape = [shape[0], *(window_output(s, layer, layer["size"]) for s in shape[1:])]
    return products


def step_gemms(recipe):
    """Every matrix product of a training step; the first layer needs no input gradient."""
    gemms = []
    for name, rows, outputs, inputs in layer_products(recipe):
        first = not gemms
        gemms.append(Gemm(name, "forward", "nt", rows, outputs, inputs))
        gemms.append(Gemm(name, "weight_gradient", "tn", outputs, inputs, rows))
        if not first:
            gemms.append(Gemm(name, "input_gradient", "nn", rows, inputs, outputs))
    return gemms
