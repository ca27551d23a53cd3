# SPDX-License-Identifier: Apache-2.0
"""A recipe as PyTorch sees it: the network, the loss and the optimizer, with Quern's names."""

import math

import torch
from torch import nn

SHORT_NAMES = {"linear": "fc", "conv2d": "conv"}


def make_layer(spec, shape):
    """One layer of the recipe for samples of `shape`."""
    kind = spec["type"]
    if kind == "linear":
        return nn.Linear(shape[0], spec["features"])
    if kind == "conv2d":
        return nn.Conv2d(shape[0], spec["channels"], spec["kernel"], stride=spec.get("stride", 1),
                         padding=spec.get("padding", 0))
    if kind == "max_pool2d":
        return nn.MaxPool2d(spec["size"], spec.get("stride", spec["size"]))
    if kind == "avg_pool2d":
        return nn.AvgPool2d(spec["size"], spec.get("stride", spec["size"]))
    plain = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU,
             "flatten": nn.Flatten}
    return plain[kind]()


class Branches(nn.Module):
    """Layers that read the outputs of other layers by name; an add has no module."""

    def __init__(self):
        super().__init__()
        self.steps = []  # (name, module or None, names of the inputs)

    def append(self, name, module, inputs):
        self.steps.append((name, module, inputs))
        if module is not None:
            self.add_module(name, module)

    def forward(self, x):
        values = {"input": x}
        for name, module, inputs in self.steps:
            if module is None:
                values[name] = sum((values[i] for i in inputs[1:]), values[inputs[0]])
            else:
                values[name] = module(values[inputs[0]])
        return values[self.steps[-1][0]]


def build_network(recipe):
    """The layers in order, named conv1, fc1, relu1, ...; initialised from the recipe's seed.

    The generator is seeded once, then the layers are built in order with PyTorch's defaults; with
    init.type = "normal" all weights are then drawn again, in order, and biases are zeroed.
    """
    torch.manual_seed(recipe["seed"])
    network, counts = Branches(), {}
    before, shapes = "input", {"input": tuple(recipe["network"]["input"])}
    for spec in recipe["network"]["layers"]:
        kind = spec["type"]
        counts[kind] = counts.get(kind, 0) + 1
        name = spec.get("name", f"{SHORT_NAMES.get(kind, kind)}{counts[kind]}")
        inputs = spec.get("inputs", [spec.get("input", before)])
        shape = shapes[inputs[0]]
        if kind == "linear" and len(shape) > 1:
            network.append("flatten", nn.Flatten(), inputs)
            inputs, shape = ["flatten"], (math.prod(shape),)
        layer = None if kind == "add" else make_layer(spec, shape)
        network.append(name, layer, inputs)
        if layer is not None:
            with torch.random.fork_rng():
                shape = tuple(layer(torch.zeros(1, *shape)).shape[1:])
        before, shapes[name] = name, shape
    init = recipe["network"].get("init", {"type": "pytorch"})
    if init["type"] == "normal":
        for name, tensor in network.named_parameters():
            if name.endswith("weight"):
                nn.init.normal_(tensor, 0.0, init["std"])
            else:
                nn.init.zeros_(tensor)
    return network


def build_loss(recipe):
    return {"cross_entropy": nn.CrossEntropyLoss, "mse": nn.MSELoss}[recipe["loss"]["type"]]()


def build_optimizer(recipe, parameters, **how):
    """`how`: PyTorch's own switches of the implementation (fused, foreach)."""
    settings = recipe["optimizer"]
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    keys = ("lr", "momentum", "nesterov", "weight_decay", "eps")
    chosen = {key: settings[key] for key in keys if key in settings}
    if settings["type"] != "sgd":
        chosen["betas"] = tuple(settings.get("betas", (0.9, 0.999)))
        chosen.setdefault("weight_decay", 0.0)
    if settings.get("decay", "all") == "weights":
        tensors = list(parameters)  # weights have two axes or more, biases one
        parameters = [{"params": [p for p in tensors if p.dim() > 1]},
                      {"params": [p for p in tensors if p.dim() == 1], "weight_decay": 0.0}]
    return kind[settings["type"]](parameters, **chosen, **how)
