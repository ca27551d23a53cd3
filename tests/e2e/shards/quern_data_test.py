# SPDX-License-Identifier: Apache-2.0
"""analysis/quern_data.py: what it writes, quern reads; what quern refuses, it refuses."""
import hashlib
import json
import subprocess
import sys
import unittest
import unittest.mock
import warnings
from pathlib import Path

import h5py
import numpy as np
import shard_files

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))
import quern_data  # noqa: E402


class Pairs:
    """As a PyTorch Dataset."""

    def __init__(self, samples, answers, classes=None):
        self.samples, self.answers = samples, answers
        if classes:
            self.classes = classes

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index], self.answers[index]


class QuernDataTest(shard_files.ShardTest):
    def shown(self):
        done = subprocess.run([shard_files.PROGRAM, "data", "show", self.out, "--json"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_same_hash_as_from_quern_shard(self):
        self.assertEqual(self.shard("--shards", 3).returncode, 0)
        own = self.shown()
        quern_data.write_shards(self.out, shard_files.images(), shard_files.labels(), shards=3, overwrite=True)
        self.assertEqual(self.shown(), own)
        pairs = Pairs(shard_files.images(), [int(label) for label in shard_files.labels()])
        quern_data.write_dataset(self.out, pairs, shards=3, classes=10, overwrite=True)
        self.assertEqual(self.shown(), own)
        self.assertEqual(len(self.written()), 3)

    def test_what_pytorch_users_give(self):
        class Tensor:
            """As of PyTorch: NumPy takes it, and is not asked for its largest value in other ways."""

            def __init__(self, array):
                self.array = array
                self.shape = array.shape

            def __array__(self, dtype=None, copy=None):
                return self.array if dtype is None else self.array.astype(dtype)

            def __len__(self):
                return len(self.array)

            def max(self, axis=None, out=None):
                raise TypeError("max() received an invalid combination of arguments")

        quern_data.write_shards(self.out, shard_files.images(), Tensor(shard_files.labels().astype(np.int64)))
        self.assertEqual(self.shown()["class_counts"][0], int((shard_files.labels() == 0).sum()))
        for labels, said in ((np.eye(3), "one-hot: labels.argmax\\(1\\)"), (np.arange(3.0), "labels.astype\\(int\\)"),
                             (np.arange(3) / 2, "numbers to be predicted: targets"), (np.zeros((3, 4, 4), int), "is not supported")):
            with self.assertRaisesRegex(ValueError, said):
                quern_data.write_shards(self.out, np.zeros((3, 2)), labels, overwrite=True)
        pairs = [(np.zeros(3), 0), (np.zeros(3), 1)]

        class Loader:
            batch_sampler = None

        class Stream:
            def __iter__(self):
                return iter(pairs)

        expected = "expected a Dataset with len\\(\\) and pairs \\(sample, answer\\) by index"
        for dataset, said in ((Loader(), f"a Loader gives batches, {expected}: give its .dataset"), (Stream(), f"a Stream, {expected}"),
                              ({"x": pairs}, f"a dict, {expected}"), ([(1, 2, 3)], f"sample 0 is a tuple of 3, {expected}"),
                              ([{"image": 1, "label": 2}], f"sample 0 is a dict of 2, {expected}"),
                              (np.zeros((3, 4)), f"sample 0 is a ndarray, {expected}")):
            with self.assertRaisesRegex(ValueError, said):
                quern_data.write_dataset(self.out, dataset, classes=2, overwrite=True)

    def test_names_of_features(self):
        class Frame:
            columns = ["time", "u"]

            def __array__(self, dtype=None, copy=None):
                return np.zeros((5, 2), np.float32)

        quern_data.write_shards(self.out, Frame())
        self.assertEqual(self.shown()["feature_names"], ["time", "u"])
        quern_data.write_shards(self.out, np.zeros((5, 2), np.float32), feature_names=["a", "b"], overwrite=True)
        self.assertEqual(self.shown()["feature_names"], ["a", "b"])
        for names, said in ((["a"], "1 feature_names for samples of 2 numbers"), (["a", "b\nc"], "is no name for a feature")):
            with self.assertRaisesRegex(ValueError, said):
                quern_data.write_shards(self.out, np.zeros((5, 2), np.float32), feature_names=names, overwrite=True)

    def blocks(self):
        with h5py.File(self.out / self.written()[0]) as file:
            return [bytes(row).decode() for row in file["blocks"][()]]

    def test_same_checksums_of_blocks_as_from_quern_shard(self):
        self.assertEqual(self.shard().returncode, 0)
        own = self.blocks()
        arrays = shard_files.images(), shard_files.labels()
        quern_data.write_shards(self.out, *arrays, overwrite=True)
        self.assertEqual(self.blocks(), own)
        # Without the module xxhash.
        with unittest.mock.patch.object(quern_data, "block_sum", hashlib.sha256):
            quern_data.write_shards(self.out, *arrays, overwrite=True)
        self.assertEqual(self.blocks(), [hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()])
        self.shown()

    def test_values_targets_and_many_classes(self):
        random = np.random.default_rng(1)
        for dtype in (np.float16, np.float32, np.float64, np.int16):
            values = (random.standard_normal((20, 3, 4, 5)) * 100).astype(dtype)
            targets = random.standard_normal((20, 2))
            quern_data.write_shards(self.out, values, targets=targets, shards=4, overwrite=True)
            shown = self.shown()
            self.assertEqual(shown["input"], {"kind": "values", "shape": [3, 4, 5],
                                              "type": "float16" if dtype == np.float16 else "float32"})
            np.testing.assert_allclose([one["mean"] for one in shown["channels"]],
                                       values.astype(np.float32).astype(float).mean((0, 2, 3)), rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose([one["std"] for one in shown["targets"]], targets.std(0), rtol=1e-5)
        labels = np.arange(20) * 30
        quern_data.write_shards(self.out, values, labels, overwrite=True)
        self.assertEqual(len(self.shown()["class_counts"]), 571)

    def test_names_of_classes_from_a_dataset(self):
        pairs = Pairs(np.ones((4, 8), np.float32), [0, 1, 1, 0], ["cat", "dog"])
        quern_data.write_dataset(self.out, pairs)
        self.assertEqual(self.shown()["class_names"], ["cat", "dog"])

    def test_warns_as_quern_shard_does(self):
        images = np.arange(5 * 8 * 9 * 3).reshape(5, 8, 9, 3)
        pixels = images % 256
        first = (pixels.transpose(0, 3, 1, 2) + 0.5).astype(np.float32)
        for inputs, words in ((pixels.astype(np.uint8), "samples [8, 9, 3] look like [height, width, channels]"),
                              (pixels + 0.5, "samples [8, 9, 3] look like"), (first, None), (first[:, :, :, 0], None),
                              (pixels.transpose(0, 3, 1, 2), "all values are whole numbers from 0 to 255"),
                              (pixels.transpose(0, 3, 1, 2) > 99, None), (pixels.reshape(5, -1)[:, :63], None)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                quern_data.write_shards(self.out, inputs, shards=2, overwrite=True)
            with warnings.catch_warnings(record=True) as again:
                warnings.simplefilter("always")
                quern_data.write_dataset(self.out, Pairs(inputs, np.zeros(5, int)), classes=1, shards=2, overwrite=True)
            for found in (caught, again):
                self.assertEqual(len(found), 1 if words else 0, [str(one.message) for one in found])
                for one in found:
                    self.assertIn(words, str(one.message))
                    self.assertEqual(one.filename, __file__)

    def test_refusals_write_nothing(self):
        good = np.ones((5, 3), np.float32)
        bad = good.copy()
        bad[3, 1] = np.nan
        cases = (((bad,), {}, "sample 3 are not finite"),
                 ((np.full((5, 3), np.inf, np.float16),), {}, "not finite float16"),
                 ((good, np.arange(4)), {}, "5 samples but 4 labels"),
                 ((good, np.arange(5)), {"classes": 4}, "label 4 of sample 4 is out of range, expected 0 to 3"),
                 ((good, np.arange(5) * 0.5), {}, "expected whole numbers"),
                 ((good,), {"targets": np.ones((4, 1))}, "5 samples but 4 targets"),
                 ((good, np.arange(5)), {"targets": good}, "both labels and targets"),
                 ((good.astype("c8"),), {}, "expected numbers"),
                 ((good[:0],), {}, "expected samples"),
                 ((good,), {"shards": 6}, "cannot fill 6 shards"),
                 ((good,), {"split": "dev"}, "unknown split"),
                 ((good, np.arange(5) % 2), {"classes": 2, "class_names": ["a", "caf\udce9"]},
                  r"'caf\\udce9' is no name for a class, expected one line of UTF-8"),
                 ((good,), {"name": "a/b"}, "not a name"))
        for arguments, options, message in cases:
            with self.assertRaisesRegex(ValueError, message):
                quern_data.write_shards(self.out, *arguments, **options)
            self.assertFalse(self.out.exists(), message)
        ragged = Pairs([np.ones(3), np.ones(3), np.ones(4)], [0, 0, 0])
        with self.assertRaises(ValueError):
            quern_data.write_dataset(self.out, ragged, classes=1, shards=3)
        self.assertEqual(self.written(), [])
        for samples, answers, message in (
                ([np.ones(3), np.ones(4)], [0, 0], r"sample 1 has the shape \[4\], expected \[3\] as that of sample 0"),
                ([np.ones(3), np.ones(3)], [np.ones(2), np.ones(1)],
                 r"the answer of sample 1 has the shape \[1\], expected \[2\] as that of sample 0"),
                ([np.ones(3), np.ones(3)], ["cat", "dog"], r"the answer of sample 0 is 'cat', expected numbers \(number the classes"),
                (["a", "b"], [0, 1], "sample 0 is 'a', expected numbers")):
            with self.assertRaisesRegex(ValueError, message):
                quern_data.write_dataset(self.out, Pairs(samples, answers), classes=2)
            self.assertEqual(self.written(), [])
        for arguments, options, message in ((([[1, 2], [3]],), {}, "inputs of different shapes, expected an array"),
                                            ((good, ["a"] * 5), {"classes": 1}, r"labels of <U1 \[5\].*\(number the classes"),
                                            ((good,), {"targets": ["a"] * 5}, "targets of <U1, expected numbers")):
            with self.assertRaisesRegex(ValueError, message):
                quern_data.write_shards(self.out, *arguments, **options)
            self.assertEqual(self.written(), [])
        quern_data.write_shards(self.out, good)
        with self.assertRaisesRegex(ValueError, "exists already"):
            quern_data.write_shards(self.out, good)
        with self.assertRaisesRegex(ValueError, "another data set, 'toy'"):
            quern_data.write_shards(self.out, good, name="other", overwrite=True)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1])
