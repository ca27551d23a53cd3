# SPDX-License-Identifier: Apache-2.0
"""The graph that a recipe describes: its layers with names, inputs and shapes.

In plain Python, for PyTorch (torch_model.py), JAX and the arithmetic of benchmarks/. Blocks of a
residual network become the layers that they stand for, with torchvision's names.
"""

import math
from typing import NamedTuple

SHORT_NAMES = {"linear": "fc", "conv2d": "conv", "batch_norm": "bn", "layer_norm": "ln", "group_norm": "gn"}
EXPANSION = {"basic_block": 1, "bottleneck": 4}  # output channels over `channels`


class Layer(NamedTuple):
    name: str
    spec: dict  # as the recipe states it
    inputs: tuple  # names of layers, or "input"
    input_shape: tuple  # of the first
    shape: tuple  # of the output

    @property
    def kind(self):
        return self.spec["type"]

    @property
    def window(self):
        """(size, stride, padding) of a convolution or pool"""
        size = self.spec["kernel"] if self.kind == "conv2d" else self.spec["size"]
        stride = self.spec.get("stride", 1 if self.kind == "conv2d" else size)
        return size, stride, self.spec.get("padding", 0)


def output_shape(spec, shapes):
    """`shapes`: of what the layer reads."""
    kind, shape = spec["type"], shapes[0]
    if kind == "concat":
        return (sum(one[0] for one in shapes), *shape[1:])
    if kind == "upsample":
        return (shape[0], *(size * spec["factor"] for size in shape[1:]))
    if kind == "linear":
        return (spec["features"],)
    if kind in ("flatten", "global_avg_pool"):
        return (math.prod(shape) if kind == "flatten" else shape[0],)
    if kind == "conv2d" or kind.endswith("_pool2d"):
        size, stride, padding = Layer("", spec, (), shape, ()).window
        channels = spec["channels"] if kind == "conv2d" else shape[0]
        return (channels, *((s + 2 * padding - size) // stride + 1 for s in shape[1:]))
    return shape


def block_layers(spec, prefix, before, channels_in, stride):
    """The layers of one block that reads `before`, named and with their inputs."""
    channels, kind = spec["channels"], spec["type"]
    outputs = channels * EXPANSION[kind]
    norm = {"type": "group_norm", "groups": spec["groups"]} if "groups" in spec else {"type": "batch_norm"}
    if "statistics" in spec:
        norm["statistics"] = spec["statistics"]
    windows = [(channels, 3, stride), (channels, 3, 1)] if kind == "basic_block" else \
        [(channels, 1, 1), (channels, 3, stride), (outputs, 1, 1)]
    layers, last = [], before

    def append(name, spec, reads):
        layers.append({**spec, "name": f"{prefix}.{name}",
                       **({"inputs": reads} if spec["type"] == "add" else {"input": reads})})
        return layers[-1]["name"]

    for number, (width, kernel, step) in enumerate(windows, start=1):
        last = append(f"conv{number}", {"type": "conv2d", "channels": width, "kernel": kernel,
                                        "stride": step, "padding": kernel // 2, "bias": False}, last)
        last = append(f"bn{number}", norm, last)
        if number < len(windows):
            last = append(f"relu{number}", {"type": "relu"}, last)
    beside = before
    if stride != 1 or channels_in != outputs:
        beside = append("downsample.0", {"type": "conv2d", "channels": outputs, "kernel": 1,
                                         "stride": stride, "bias": False}, before)
        beside = append("downsample.1", norm, beside)
    append("relu", {"type": "relu"}, append("add", {"type": "add"}, [last, beside]))
    return layers


def layers_of(recipe):
    """[Layer], each after those that it reads."""
    layers, counts, shapes = [], {}, {"input": tuple(recipe["network"]["input"])}
    stands_for, before = {}, "input"  # a block's name stands for its last layer

    def append(spec, name, inputs):
        inputs = tuple(stands_for.get(one, one) for one in inputs)
        read = [shapes[one] for one in inputs]
        layers.append(Layer(name, spec, inputs, read[0], output_shape(spec, read)))
        shapes[name] = layers[-1].shape

    for spec in recipe["network"]["layers"]:
        kind = spec["type"]
        stem = "layer" if kind in EXPANSION else SHORT_NAMES.get(kind, kind)
        counts[stem] = counts.get(stem, 0) + 1
        name = spec.get("name", f"{stem}{counts[stem]}")
        inputs = spec.get("inputs", [spec.get("input", before)])
        if kind not in EXPANSION:
            append(spec, name, inputs)
        else:
            last = stands_for.get(inputs[0], inputs[0])
            for i in range(spec.get("repeat", 1)):
                stride = spec.get("stride", 1) if i == 0 else 1
                for part in block_layers(spec, f"{name}.{i}", last, shapes[last][0], stride):
                    append(part, part["name"], part.get("inputs", [part.get("input")]))
                last = layers[-1].name
            stands_for[name] = last
        before = layers[-1].name
    return layers


def has_parameters(layer):
    return layer.kind in ("linear", "conv2d", "batch_norm", "layer_norm", "group_norm")


def wants_gradient(layers):
    """Names of the layers in front of whose output, or in which, something is trained."""
    names = set()
    for layer in layers:
        if has_parameters(layer) or names.intersection(layer.inputs):
            names.add(layer.name)
    return names
