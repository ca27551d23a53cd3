# SPDX-License-Identifier: Apache-2.0
"""h5py reads a checkpoint as docs/formats.md describes it: check_with_h5py.py WRITE_SAMPLE."""

import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py or numpy is missing: skipped")
    sys.exit(77)

WRITE_SAMPLE = ""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class CheckpointTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        lines = subprocess.run([WRITE_SAMPLE, cls.folder.name], check=True, text=True,
                               capture_output=True).stdout.split("\n")
        cls.path, cls.model_hash = lines[0], lines[1]
        cls.file = h5py.File(cls.path, "r")

    @classmethod
    def tearDownClass(cls):
        cls.file.close()
        cls.folder.cleanup()

    def test_root_attributes(self):
        self.assertEqual(self.file.attrs["format"], "quern-checkpoint")
        self.assertEqual(self.file.attrs["format_version"], 1)
        self.assertEqual(self.file.attrs["manifest_sha256"],
                         sha256(self.file.attrs["manifest"].encode()))

    def test_train_attributes(self):
        train = dict(self.file["train"].attrs)
        self.assertEqual(train["step"], 123)
        self.assertEqual(train["epoch"], 2)
        self.assertEqual(train["cursor"], 96)
        self.assertEqual(train["epoch_loss_sum"], 0.1)
        self.assertEqual(train["epoch_correct"], 61)
        self.assertEqual(train["epoch_samples"], 96)
        self.assertEqual(int(train["seed"]), 2**64 - 1)
        self.assertEqual(train["global_batch"], 32)
        self.assertEqual(train["ranks"], 3)
        self.assertEqual(train["recipe"], 'name = "grüße"\n[train]\nepochs = 3\n')
        for name in ("recipe", "git_commit", "version", "data_sha256", "created"):
            self.assertIsInstance(train[name], str, name)
        self.assertEqual(len(train), 14)

    def test_tensors(self):
        names = []
        self.file.visititems(
            lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        self.assertEqual(sorted(names), [
            "model/fc1/bias", "model/fc1/weight",
            "optimizer/exp_avg/fc1/bias", "optimizer/exp_avg/fc1/weight",
            "optimizer/exp_avg_sq/fc1/bias", "optimizer/exp_avg_sq/fc1/weight"])
        for name in names:
            dataset = self.file[name]
            self.assertEqual(dataset.dtype, np.dtype("<f4"), name)
            self.assertEqual(dataset.shape, (4, 6) if name.endswith("weight") else (4,), name)
            self.assertEqual(dataset.attrs["sha256"], sha256(dataset[...].tobytes()), name)
        bits = self.file["model/fc1/weight"][...].view("<u4").ravel()
        self.assertEqual(list(bits[:4]), [0, 0x80000000, 0x7FC00123, 0xFF812345])

    def test_manifest_lists_every_dataset(self):
        manifest = json.loads(self.file.attrs["manifest"])
        self.assertEqual(len(manifest["datasets"]), 6)
        self.assertEqual(manifest["datasets"][0]["path"], "/model/fc1/weight")
        for entry in manifest["datasets"]:
            dataset = self.file[entry["path"]]
            self.assertEqual(list(dataset.shape), entry["shape"])
            self.assertEqual(entry["type"], "float32")
            self.assertEqual(entry["sha256"], dataset.attrs["sha256"])

    def test_model_hash_as_documented(self):
        digest = hashlib.sha256()
        for name in sorted(("fc1.weight", "fc1.bias")):
            values = self.file["model/" + name.replace(".", "/")][...]
            digest.update(name.encode() + b"\0")
            digest.update(struct.pack("<q", values.ndim))
            digest.update(struct.pack(f"<{values.ndim}q", *values.shape))
            digest.update(values.astype("<f4").tobytes())
        self.assertEqual(digest.hexdigest(), self.model_hash)

    def test_seal_as_documented(self):
        with open(self.path, "rb") as file:
            data = file.read()
        self.assertEqual(data[-16:], b"quern-seal-0001\n")
        length = int(data[-32:-16])
        text = data[-96 - length:-96]
        self.assertEqual(data[-96:-32].decode(), sha256(text))
        seal = json.loads(text)
        self.assertEqual(seal["file_bytes"], len(data) - 96 - length)
        rest, position = b"", 0
        for offset, count in seal["tensors"]:
            rest += data[position:offset]
            position = offset + count
        rest += data[position:seal["file_bytes"]]
        self.assertEqual(seal["sha256"], sha256(rest))


if __name__ == "__main__":
    WRITE_SAMPLE = sys.argv.pop(1)
    unittest.main(verbosity=2)
