#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden files NAME.h5 from NAME.toml with PyTorch.

The committed files were made with PyTorch 2.13.0, NumPy 2.4, h5py 3 (Python 3.11, x86-64):

    python make_golden.py --fashion-mnist /usr/share/datasets/fashion-mnist

in an environment from `pip install torch==2.13.0 h5py numpy`. README.md describes the layout.
"""

import argparse
import copy
import gzip
import math
import tomllib
from pathlib import Path

import h5py
import numpy as np
import torch

from recipe_graph import layers_of
from torch_model import build_loss, build_network, build_optimizer

HERE = Path(__file__).resolve().parent
FULL_UP_TO = 4096  # larger gradients and later weights are stored as a strided sample
SAMPLE_SIZE = 2048

# steps: training steps; outputs: samples whose step-0 outputs are stored; after: steps after which
# the weights are stored; order_seed: of the shuffle (mlp-mnist: see conditioning.py).
PLANS = {
    "mlp-mnist": dict(steps=20, outputs=8, after=(3,), order_seed=12),
    "lenet-fashion": dict(steps=20, outputs=8, after=(3,), order_seed=1),
    "autoencoder-mnist": dict(steps=20, outputs=8, after=(3,), order_seed=1),
    "ddp-toy": dict(steps=3, outputs=20, after=(1, 3)),
    "conv-odd": dict(steps=5, outputs=13, after=(1, 3, 5)),
    "residual": dict(steps=5, outputs=11, after=(1, 3, 5)),
    "small-resnet": dict(steps=3, outputs=22, after=(1, 3)),
    "layer-norm": dict(steps=5, outputs=11, after=(1, 3, 5)),
    "group-norm": dict(steps=5, outputs=11, after=(1, 3, 5)),
    "activations": dict(steps=5, outputs=13, after=(1, 3, 5)),
    "unet": dict(steps=5, outputs=11, after=(1, 3, 5)),
    "adamw-clip": dict(steps=5, outputs=24, after=(1, 3, 5)),
    "label-smoothing": dict(steps=5, outputs=13, after=(1, 3, 5)),
    "class-weights": dict(steps=5, outputs=13, after=(1, 3, 5)),
    "l1": dict(steps=5, outputs=13, after=(1, 3, 5)),
    "huber": dict(steps=5, outputs=13, after=(1, 3, 5)),
    "binary-cross-entropy": dict(steps=5, outputs=13, after=(1, 3, 5)),
    "lars": dict(steps=5, outputs=14, after=(1, 3, 5)),
    "lamb": dict(steps=5, outputs=14, after=(1, 3, 5)),
}


def read_idx(path):
    data = gzip.decompress(path.read_bytes())
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def fashion_mnist(folder):
    """(images float32 [60000, 1, 28, 28] = pixels / 255, labels int64)."""
    images = torch.tensor(read_idx(folder / "train-images-idx3-ubyte.gz")).unsqueeze(1)
    labels = torch.tensor(read_idx(folder / "train-labels-idx1-ubyte.gz")).long()
    return images.float() / 255, labels


def random_samples(recipe):
    """Inputs U(-1, 1) and targets U(-1, 1), probabilities or classes, of the sizes in the recipe."""
    generator = torch.Generator().manual_seed(1)
    count = recipe["data"]["global_batch"]
    inputs = torch.rand(count, *recipe["network"]["input"], generator=generator) * 2 - 1
    shape = layers_of(recipe)[-1].shape
    if recipe["data"].get("target", "label") == "label":
        return inputs, torch.randint(shape[0], (count,), generator=generator)
    shares = torch.rand(count, *shape, generator=generator)
    return inputs, shares if recipe["loss"]["type"] == "binary_cross_entropy" else shares * 2 - 1


def image_batches(recipe, steps, folder, order_seed):
    """([(x, y) per step], sample indices in order): the first `steps` batches of a shuffle."""
    images, labels = fashion_mnist(folder)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(order_seed))
    order = order[:steps * recipe["data"]["global_batch"]]
    to_input = recipe["data"].get("target") == "input"
    batches = [(images[i], images[i].flatten(1) if to_input else labels[i])
               for i in order.split(recipe["data"]["global_batch"])]
    return batches, order


def make_batches(recipe, plan, folder):
    """([(x, y) per step], what the file stores about them)."""
    if "order_seed" not in plan:
        x, y = random_samples(recipe)
        return [(x, y)] * plan["steps"], {"inputs": x.numpy(), "targets": y.numpy()}
    batches, order = image_batches(recipe, plan["steps"], folder, plan["order_seed"])
    return batches, {"order": order.numpy()}


def snapshot(network):
    """Parameters and running statistics."""
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()
            if not name.endswith("num_batches_tracked")}


def train(network, recipe, plan, batches):
    """Runs the steps; returns what step 0 gave, the losses and the later weights."""
    loss_of = build_loss(recipe)
    optimizer = build_optimizer(recipe, network.parameters())
    clip = recipe["optimizer"].get("clip_norm", 0)
    result = {"losses": [], "gradient_norms": [], "after": {}}
    for step, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        outputs = network(x)
        loss = loss_of(outputs, y)
        loss.backward()
        if step == 0:
            result["outputs"] = outputs.detach()[:plan["outputs"]].clone()
            result["gradients"] = {n: p.grad.clone() for n, p in network.named_parameters()}
        if clip:
            norm = torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
            result["gradient_norms"].append(norm.item())
        optimizer.step()
        result["losses"].append(loss.item())
        if step + 1 in plan["after"]:
            result["after"][step + 1] = snapshot(network)
    return result


def sample_stride(shape):
    """About SAMPLE_SIZE elements; coprime to the row length, so that all columns are visited."""
    count, row = math.prod(shape), math.prod(shape[1:])
    if count <= FULL_UP_TO:
        return 1
    stride = count // SAMPLE_SIZE
    while math.gcd(stride, row) != 1:
        stride += 1
    return stride


def write_tensors(file, folder, tensors, full):
    """Tensors by name; large ones as a strided sample unless `full`."""
    for name, tensor in tensors.items():
        values = tensor.numpy()
        stride = 1 if full else sample_stride(values.shape)
        dataset = file.create_dataset(
            f"{folder}/{name}", data=values if stride == 1 else values.reshape(-1)[::stride])
        exact = values.astype(np.float64)
        dataset.attrs.update(stride=stride, shape=values.shape, sum=exact.sum(),
                             norm=np.sqrt((exact * exact).sum()))


def relative_difference(a, b):
    """Largest |a - b| over the tensors, each relative to its own largest |b|."""
    return max(((a[n].double() - b[n]).abs().max() / b[n].abs().max()).item() for n in a)


def make(name, folder):
    recipe_text = (HERE / f"{name}.toml").read_text()
    recipe, plan = tomllib.loads(recipe_text), PLANS[name]
    batches, stored = make_batches(recipe, plan, folder)
    network = build_network(recipe)
    exact_network = copy.deepcopy(network).double()
    initial = snapshot(network)
    got = train(network, recipe, plan, batches)
    exact_batches = [(x.double(), y.double() if y.is_floating_point() else y) for x, y in batches]
    exact = train(exact_network, recipe, plan, exact_batches)
    with h5py.File(HERE / f"{name}.h5", "w", libver=("v108", "v108")) as file:
        file.attrs.update(format="quern-golden", format_version=1, name=name, recipe=recipe_text,
                          steps=plan["steps"], batch=recipe["data"]["global_batch"],
                          made_with=f"PyTorch {torch.__version__.split('+')[0]}")
        for key, array in stored.items():
            file[key] = array
        file["losses"] = np.float32(got["losses"])
        file["losses_exact"] = np.float32(exact["losses"])
        if got["gradient_norms"]:
            file["gradient_norms"] = np.float32(got["gradient_norms"])
        file["outputs"] = got["outputs"].numpy()
        write_tensors(file, "initial", initial, full=True)
        write_tensors(file, "gradients", got["gradients"], full=False)
        for steps, weights in got["after"].items():
            write_tensors(file, f"after_steps/{steps}", weights, full=False)
    losses = np.array([got["losses"], exact["losses"]])
    last = max(plan["after"])
    print(f"{name:18} loss {losses[0, 0]:.6f} -> {losses[0, -1]:.6f}   float32 against float64: "
          f"losses {np.max(np.abs(losses[0] / losses[1] - 1)):.1e}, "
          f"gradients {relative_difference(got['gradients'], exact['gradients']):.1e}, "
          f"weights after {last} steps "
          f"{relative_difference(got['after'][last], exact['after'][last]):.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fashion-mnist", type=Path, required=True,
                        help="folder of train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz")
    parser.add_argument("--only", nargs="*", choices=PLANS, help="files to make (default: all)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in arguments.only or PLANS:
        make(name, arguments.fashion_mnist)


if __name__ == "__main__":
    main()
