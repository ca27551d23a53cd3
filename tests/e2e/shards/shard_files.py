# SPDX-License-Identifier: Apache-2.0
"""What the shard tests share: IDX files, and running the program."""
import gzip
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

PROGRAM = sys.argv[1]


def idx(array):
    """An IDX file of uint8."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return head + array.astype(np.uint8).tobytes()


def images(count=25, shape=(4, 3)):
    size = count * int(np.prod(shape))
    return (np.arange(size) * 7 % 256).astype(np.uint8).reshape(count, *shape)


def labels(count=25, classes=10):
    return (np.arange(count) % classes).astype(np.uint8)


class ShardTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.images = self.folder / "images.gz"
        self.labels = self.folder / "labels"
        self.images.write_bytes(gzip.compress(idx(images())))
        self.labels.write_bytes(idx(labels()))
        self.out = self.folder / "data" / "toy" / "train"

    def tearDown(self):
        self._folder.cleanup()

    def shard(self, *options):
        command = [PROGRAM, "shard", "--images", self.images, "--labels", self.labels,
                   "--out", self.out, *options]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)

    def written(self):
        return sorted(p.name for p in self.out.iterdir()) if self.out.exists() else []


def main():
    unittest.main(verbosity=2, argv=sys.argv[:1])
