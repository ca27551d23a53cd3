# SPDX-License-Identifier: Apache-2.0
"""What the shard tests share: IDX files, and running the program."""
import gzip
import subprocess
import sys
import unittest

import idx
import numpy as np
from folder import FolderTest

PROGRAM = sys.argv[1]


def images(count=25, shape=(4, 3)):
    size = count * int(np.prod(shape))
    return (np.arange(size) * 7 % 256).astype(np.uint8).reshape(count, *shape)


def labels(count=25, classes=10):
    return (np.arange(count) % classes).astype(np.uint8)


class ShardTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.images = self.folder / "images.gz"
        self.labels = self.folder / "labels"
        self.images.write_bytes(gzip.compress(idx.to_bytes(images())))
        self.labels.write_bytes(idx.to_bytes(labels()))
        self.out = self.folder / "data" / "toy" / "train"

    def shard(self, *options):
        command = [PROGRAM, "shard", "--images", self.images, "--labels", self.labels,
                   "--out", self.out, *options]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)

    def written(self):
        return sorted(p.name for p in self.out.iterdir()) if self.out.exists() else []


def main():
    unittest.main(verbosity=2, argv=sys.argv[:1])
