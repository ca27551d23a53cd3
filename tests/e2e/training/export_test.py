# SPDX-License-Identifier: Apache-2.0
"""What `checkpoint export` writes, as others read it: by the published description of safetensors, and
by the package `safetensors` where Python has it."""
import json
import struct
import unittest

import h5py
import numpy as np
import training
from training import checkpoint_file

try:
    from safetensors.numpy import load_file
except ImportError:
    load_file = None


def read_safetensors(file):
    """({name: array}, metadata), strict: 8 bytes of header length, JSON, and data without gaps."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    if not content[8:9] == b"{":
        raise ValueError("the header does not begin with {")
    metadata, arrays, end_of_last = header.pop("__metadata__", {}), {}, 0
    if not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("metadata other than texts")
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        if begin != end_of_last or entry["dtype"] != "F32" or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"{name}: {entry} behind {end_of_last}")
        arrays[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
        end_of_last = end
    if end_of_last != len(data):
        raise ValueError(f"{len(data)} bytes of data, {end_of_last} in use")
    return arrays, metadata


class ExportTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.train("conv", "run", "train.epochs=1")
        self.file = self.folder / "model.safetensors"
        done = self.quern("checkpoint", "export", "run", "--out", self.file)
        self.assertEqual(done.code, 0, done)
        with h5py.File(checkpoint_file(self.folder / "run", 13), "r") as checkpoint:
            self.weights = {f"{layer}.{kind}": values[()]
                            for layer, tensors in checkpoint["model"].items() for kind, values in tensors.items()}

    def assert_weights(self, arrays):
        self.assertEqual(set(arrays), set(self.weights))
        for name, values in self.weights.items():
            self.assertEqual(arrays[name].shape, values.shape)
            self.assertEqual(arrays[name].tobytes(), values.tobytes(), name)

    def test_by_the_description_of_the_format(self):
        arrays, metadata = read_safetensors(self.file)
        self.assertEqual(set(arrays), {"conv1.weight", "conv1.bias", "fc1.weight", "fc1.bias"})
        self.assert_weights(arrays)
        self.assertEqual(metadata["step"], "13")

    @unittest.skipUnless(load_file, "no Python package safetensors")
    def test_by_the_package_of_others(self):
        self.assert_weights(load_file(self.file))


if __name__ == "__main__":
    training.main()
