# SPDX-License-Identifier: Apache-2.0
"""The workloads of the benchmarks: recipes, batches, and the matrix products of a training step."""

import json
import math
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "golden"))
from recipe_graph import layers_of, wants_gradient  # noqa: E402

RECIPES = {"W1": "mlp-mnist", "W2": "lenet-fashion", "W7": "autoencoder-mnist"}
RESIDUAL = {"resnet20": "resnet20-fashion", "resnet50": "resnet50"}  # for those who ask for them
SETTINGS = {"resnet50": ["data.global_batch=32", "train.micro_block=16"]}
STEPS = {"W1": 468, "W2": 20, "W7": 468, "resnet20": 20, "resnet50": 3}  # of a round
PLAIN = ["data.augment.crop=0", "data.augment.flip=false"]
TRAIN_SAMPLES = 60000
MAX_BYTES = 2**27


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


def recipe_path(folder, workload):
    return folder / f"{(RECIPES | RESIDUAL)[workload]}.toml"


def read_recipe(folder, workload):
    """(path, content with the settings of the workload)"""
    path = recipe_path(folder, workload)
    try:
        return path, load_recipe(path, settings_of(folder, workload))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ProblemError(f"cannot read recipe {path}: {error}") from error


def settings_of(folder, workload, precision="fp32"):
    """What is other than in the recipe, as words for --set: contenders train on whole images."""
    windows = load_recipe(recipe_path(folder, workload))["data"].get("augment")
    rounded = [] if precision == "fp32" else [f"train.precision={json.dumps(precision)}"]
    return [*SETTINGS.get(workload, ()), *(PLAIN if windows else ()), *rounded]


def load_recipe(path, settings=()):
    """`settings`: KEY=VALUE as of --set, keys of tables and values of TOML."""
    recipe = tomllib.loads(path.read_text())
    for setting in settings:
        keys, _, value = setting.partition("=")
        *tables, key = keys.split(".")
        table = recipe
        for name in tables:
            table = table.setdefault(name, {})
        table[key] = tomllib.loads(f"value = {value}")["value"]
    return recipe


def batch_size(recipe):
    """Samples per step of one rank alone."""
    data = recipe["data"]
    return data.get("global_batch") or data["batch_per_rank"]


def has_values(recipe):
    """Are floats made up, instead of images of bytes?"""
    return recipe["data"].get("source") == "random"


def sample_count(recipe):
    """Of the data set in memory: as many as `quern bench step` makes."""
    units = math.prod(recipe["network"]["input"])
    sample_bytes = 4 * (units + output_count(recipe)) if has_values(recipe) else units
    fitting = MAX_BYTES // sample_bytes
    return max(min(TRAIN_SAMPLES, fitting), 2 * batch_size(recipe))


def output_count(recipe):
    """Units that the network puts out: classes, where the target is one."""
    return math.prod(layers_of(recipe)[-1].shape)


def has_convolutions(recipe):
    return any(layer.kind == "conv2d" for layer in layers_of(recipe))


def has_batch_norm(recipe):
    return any(layer.kind == "batch_norm" for layer in layers_of(recipe))


def product_of(layer, batch):
    """(rows, outputs, inputs); a convolution as im2col."""
    if layer.kind == "linear":
        return batch, layer.shape[0], math.prod(layer.input_shape)
    channels, height, width = layer.shape
    return batch * height * width, channels, layer.input_shape[0] * layer.spec["kernel"] ** 2


def step_gemms(recipe):
    """Every matrix product of a training step; nobody wants the gradient of the batch."""
    layers, gemms = layers_of(recipe), []
    trained = wants_gradient(layers)
    for layer in layers:
        if layer.kind not in ("linear", "conv2d"):
            continue
        rows, outputs, inputs = product_of(layer, batch_size(recipe))
        gemms.append(Gemm(layer.name, "forward", "nt", rows, outputs, inputs))
        gemms.append(Gemm(layer.name, "weight_gradient", "tn", outputs, inputs, rows))
        if layer.inputs[0] in trained:
            gemms.append(Gemm(layer.name, "input_gradient", "nn", rows, inputs, outputs))
    return gemms
