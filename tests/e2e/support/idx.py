# SPDX-License-Identifier: Apache-2.0
"""IDX files, and a small synthetic data set that a network can learn."""
import struct

import numpy as np


def to_bytes(array):
    """An IDX file of uint8."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return head + array.astype(np.uint8).tobytes()


def blobs(count, seed=7, size=12, classes=10):
    """Noisy images of `classes` prototypes: (images [count, size, size], labels [count])."""
    prototypes = np.random.default_rng(1).integers(0, 200, (classes, size, size))
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, count)
    noise = random.integers(0, 120, (count, size, size))
    images = np.clip(prototypes[labels] + noise - 60, 0, 255)
    return images.astype(np.uint8), labels.astype(np.uint8)
