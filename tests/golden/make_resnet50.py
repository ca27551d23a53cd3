#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes resnet50.h5: what torchvision's ResNet-50 puts out in PyTorch for drawn weights and images.

    python make_resnet50.py

The network is written out here with torchvision's names, so that torchvision is not needed. Weights,
running statistics and images are not stored: drawn() makes them, here and in resnet50_test.cpp.
"""

from pathlib import Path

import h5py
import numpy as np
import torch
from torch import nn

IMAGES, SIZE = 4, 64
SEED = "quern"  # in front of each name


def drawn(name, shape, low, high):
    """Element i: a hash of name and i (FNV-1a of the name plus i times the golden ratio, through
    MurmurHash3's finalizer) as a number in [low, high), in double precision, rounded to float."""
    start = 2166136261
    for byte in (SEED + name).encode():
        start = (start ^ byte) * 16777619 % 2**32
    h = np.arange(np.prod(shape), dtype=np.uint64) * 0x9E3779B1 + start & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ h >> shift) * factor & 0xFFFFFFFF
    h ^= h >> 16
    values = low + (high - low) * (h.astype(np.float64) / 2**32)
    return torch.tensor(values.astype(np.float32).reshape(shape))


def range_of(name, shape):
    """(low, high) of the elements of a tensor"""
    if name.endswith("running_mean") or name.endswith("bias"):
        return -0.2, 0.2
    if name.endswith("running_var"):
        return 0.5, 1.5
    if len(shape) == 1:
        return 0.6, 1.2
    bound = (6 / np.prod(shape[1:])) ** 0.5
    return -bound, bound


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                            nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + (self.downsample(x) if self.downsample else x))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for number, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
            layer = []
            for block in range(blocks):
                layer.append(Bottleneck(inputs, width, 2 if number > 1 and block == 0 else 1))
                inputs = 4 * width
            self.add_module(f"layer{number}", nn.Sequential(*layer))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(2048, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def main():
    torch.set_num_threads(1)
    network = ResNet50()
    tensors = {name: tensor for name, tensor in network.state_dict().items()
               if not name.endswith("num_batches_tracked")}
    for name, tensor in tensors.items():
        tensor.copy_(drawn(name, tensor.shape, *range_of(name, tensor.shape)))
    images = drawn("images", (IMAGES, 3, SIZE, SIZE), 0, 1)
    with torch.no_grad():
        outputs = network.eval()(images)
        exact = network.double()(images.double())
    with h5py.File(Path(__file__).with_name("resnet50.h5"), "w", libver=("v108", "v108")) as file:
        file.attrs.update(format="quern-golden-outputs", format_version=1,
                          made_with=f"PyTorch {torch.__version__.split('+')[0]}")
        # "NAME OUT IN KERNEL KERNEL": torchvision's state_dict, in its order
        file.attrs["tensors"] = "\n".join(
            " ".join([name, *map(str, tensor.shape)]) for name, tensor in tensors.items())
        file["outputs"] = outputs.numpy()
    print(f"{len(tensors)} tensors, outputs of magnitude {outputs.abs().max():.3g}, float32 against "
          f"float64 {(outputs - exact).abs().max() / exact.abs().max():.1e}")


if __name__ == "__main__":
    main()
