# SPDX-License-Identifier: Apache-2.0
"""IDX files, and a small synthetic data set that a network can learn."""
import gzip
import struct

import numpy as np


def to_bytes(array):
    """An IDX file of uint8."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return head + array.astype(np.uint8).tobytes()


def first_images(file, count):
    """The first images or labels of a gzip-compressed IDX file."""
    with gzip.open(file, "rb") as stream:
        axes = struct.unpack(">BBBB", stream.read(4))[3]
        shape = struct.unpack(f">{axes}I", stream.read(4 * axes))
        size = int(np.prod(shape[1:], dtype=np.int64))
        return np.frombuffer(stream.read(count * size), np.uint8).reshape(count, *shape[1:])


def blobs(count, seed=7, size=12, classes=10):
    """Noisy pictures of `classes` prototypes: (images [count, size, size], labels [count])."""
    prototypes = np.random.default_rng(1).integers(0, 200, (classes, size, size))
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, count)
    noise = random.integers(0, 120, (count, size, size))
    pictures = np.clip(prototypes[labels] + noise - 60, 0, 255)
    return pictures.astype(np.uint8), labels.astype(np.uint8)
