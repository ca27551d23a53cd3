# SPDX-License-Identifier: Apache-2.0
"""A recipe as PyTorch sees it: the network, the loss and the optimizer, with Quern's names."""

import math

import torch
from torch import nn

from recipe_graph import layers_of


# Layers that read several outputs, as functions of these.
JOINS = {"add": lambda values: sum(values[1:], values[0]), "concat": lambda values: torch.cat(values, 1)}


def make_layer(layer):
    """The module of one layer; those that read several have none."""
    spec, kind = layer.spec, layer.kind
    if kind == "linear":
        return nn.Linear(math.prod(layer.input_shape), spec["features"], bias=spec.get("bias", True))
    if kind == "conv2d":
        size, stride, padding = layer.window
        return nn.Conv2d(layer.input_shape[0], spec["channels"], size, stride=stride,
                         padding=padding, bias=spec.get("bias", True))
    if kind in ("max_pool2d", "avg_pool2d"):
        size, stride, padding = layer.window
        return (nn.MaxPool2d if kind == "max_pool2d" else nn.AvgPool2d)(size, stride, padding)
    if kind == "batch_norm":
        of = nn.BatchNorm2d if len(layer.input_shape) == 3 else nn.BatchNorm1d
        return of(layer.input_shape[0], eps=spec.get("eps", 1e-5), momentum=spec.get("momentum", 0.1))
    if kind == "layer_norm":
        return nn.LayerNorm(layer.input_shape, eps=spec.get("eps", 1e-5))
    if kind == "group_norm":
        return nn.GroupNorm(spec["groups"], layer.input_shape[0], eps=spec.get("eps", 1e-5))
    if kind == "global_avg_pool":
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    if kind == "upsample":
        return nn.Upsample(scale_factor=spec["factor"], mode="nearest")
    if kind == "leaky_relu":
        return nn.LeakyReLU(spec.get("negative_slope", 0.01))
    plain = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU,
             "silu": nn.SiLU, "flatten": nn.Flatten}
    return plain[kind]() if kind not in JOINS else None


class Branches(nn.Module):
    """Layers that read the outputs of other layers by name."""

    def __init__(self, layers):
        super().__init__()
        self.steps = []  # (name, function of a value, or of several in a list; names of the inputs)
        for layer in layers:
            module, inputs = make_layer(layer), layer.inputs
            if layer.kind == "linear" and len(layer.input_shape) > 1:
                self.steps.append((f"flat {layer.name}", nn.Flatten(), inputs))
                inputs = (f"flat {layer.name}",)
            self.steps.append((layer.name, module or JOINS[layer.kind], inputs))
            if module is not None:
                self.add_below(layer.name, module)

    def add_below(self, name, module):
        """"layer1.0.conv1" becomes conv1 of 0 of layer1, as in torchvision."""
        *folders, last = name.split(".")
        owner = self
        for folder in folders:
            if folder not in owner._modules:
                owner.add_module(folder, nn.Module())
            owner = owner._modules[folder]
        owner.add_module(last, module)

    def forward(self, x):
        values = {"input": x}
        for name, compute, inputs in self.steps:
            read = [values[i] for i in inputs]
            values[name] = compute(read[0] if isinstance(compute, nn.Module) else read)
        return values[self.steps[-1][0]]


def initialize(network, init):
    for name, tensor in network.named_parameters():
        if init["type"] == "normal":
            if name.endswith("weight"):
                nn.init.normal_(tensor, 0.0, init.get("std", 0.01))
            else:
                nn.init.zeros_(tensor)
        elif init["type"] == "kaiming" and tensor.dim() == 4:
            nn.init.kaiming_normal_(tensor, mode="fan_out", nonlinearity="relu")


def build_network(recipe):
    """The layers in order, with the recipe's names; initialised from the recipe's seed.

    The generator is seeded once, then the layers are built in order with PyTorch's defaults. With
    init.type = "normal" all weights are then drawn again, in order, and biases are zeroed; with
    "kaiming" the weights of convolutions are, as torchvision does for its ResNets.
    """
    torch.manual_seed(recipe["seed"])
    network = Branches(layers_of(recipe))
    init = recipe["network"].get("init", "pytorch")
    initialize(network, {"type": init} if isinstance(init, str) else init)
    return network


def build_loss(recipe):
    loss = recipe["loss"]
    if loss["type"] == "mse":
        return nn.MSELoss()
    if loss["type"] == "l1":
        return nn.L1Loss()
    if loss["type"] == "binary_cross_entropy":
        return nn.BCEWithLogitsLoss(pos_weight=torch.tensor(loss.get("pos_weight", 1.0)))
    if loss["type"] == "huber":
        return nn.HuberLoss(delta=loss.get("delta", 1.0))
    smoothing = loss.get("label_smoothing", 0.0)
    if "class_weights" not in loss:
        return nn.CrossEntropyLoss(label_smoothing=smoothing)

    def mean_over_samples(outputs, labels):  # and not over their weights
        weights = torch.tensor(loss["class_weights"]["values"], dtype=outputs.dtype)
        return nn.functional.cross_entropy(outputs, labels, weight=weights, label_smoothing=smoothing,
                                           reduction="none").mean()
    return mean_over_samples


def decays(tensor):
    """Weights have two axes or four; biases one, scale and shift of normalisations one or three."""
    return tensor.dim() in (2, 4)


def build_optimizer(recipe, parameters, **how):
    """`how`: PyTorch's own switches of the implementation (fused, foreach)."""
    settings = recipe["optimizer"]
    if settings["type"] in ("lars", "lamb"):
        return build_large_batch_optimizer(settings, parameters)
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    keys = ("lr", "momentum", "nesterov", "weight_decay", "eps")
    chosen = {key: settings[key] for key in keys if key in settings}
    if settings["type"] != "sgd":
        chosen["betas"] = tuple(settings.get("betas", (0.9, 0.999)))
        chosen.setdefault("weight_decay", 0.0)
    if settings.get("decay", "all") == "weights":
        tensors = list(parameters)
        parameters = [{"params": [p for p in tensors if decays(p)]},
                      {"params": [p for p in tensors if not decays(p)], "weight_decay": 0.0}]
    return kind[settings["type"]](parameters, **chosen, **how)


def build_large_batch_optimizer(settings, parameters):
    from large_batch_optimizers import Lamb, Lars
    chosen = {key: value for key, value in settings.items() if key not in ("type", "decay", "clip_norm")}
    tensors = list(parameters)
    others = {"params": [p for p in tensors if not decays(p)], "adapts": False}
    if settings.get("decay", "all") == "weights":
        others["weight_decay"] = 0.0
    groups = [{"params": [p for p in tensors if decays(p)]}, others]
    return (Lars if settings["type"] == "lars" else Lamb)(groups, **chosen)
