# SPDX-License-Identifier: Apache-2.0
"""h5py reads shards: names, types, attributes, and the data itself."""
import hashlib

import h5py
import idx
import numpy as np
import shard_files
import xxhash


class H5pyTest(shard_files.ShardTest):
    def test_shards_are_as_the_format_says(self):
        run = self.shard("--shards", 3, "--split", "train")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("toy train: 25 images [1, 4, 3], 10 classes, 3 shards", run.stdout)
        names = [f"toy-train-{i:05}-of-00003.h5" for i in range(3)]
        self.assertEqual(self.written(), names)
        first = 0
        all_images, all_labels = [], []
        for index, name in enumerate(names):
            with h5py.File(self.out / name, "r") as file:
                self.assertEqual(set(file), {"images", "labels", "blocks"})
                for dataset in file.values():
                    self.assertEqual(dataset.dtype, np.uint8)
                    self.assertIsNone(dataset.chunks)
                attributes = dict(file.attrs)
                data, target = file["images"][()], file["labels"][()]
                sums = file["blocks"][()]
            self.assertEqual(attributes, {
                "format": "quern-shard", "format_version": 1, "split": "train",
                "shard_index": index, "shard_count": 3, "first_index": first, "total": 25,
                "classes": 10, "sha256_images": hashlib.sha256(data.tobytes()).hexdigest(),
                "sha256_labels": hashlib.sha256(target.tobytes()).hexdigest(),
                "sha256_blocks": hashlib.sha256(sums.tobytes()).hexdigest(),
                "block_samples": len(target)})
            self.assertEqual(sums.tobytes().decode(),
                             xxhash.xxh3_128(data.tobytes() + target.tobytes()).hexdigest())
            for key in ("format", "split", "sha256_images", "sha256_labels", "sha256_blocks"):
                self.assertIs(type(attributes[key]), str)
            first += len(target)
            all_images.append(data)
            all_labels.append(target)
        np.testing.assert_array_equal(np.concatenate(all_images), shard_files.images()[:, None])
        np.testing.assert_array_equal(np.concatenate(all_labels), shard_files.labels())

    def test_channels_name_classes_and_split(self):
        self.images.write_bytes(idx.to_bytes(shard_files.images(shape=(3, 4, 2))))
        run = self.shard("--split", "test", "--name", "colour", "--classes", 12)
        self.assertEqual(run.returncode, 0, run.stderr)
        with h5py.File(self.out / "colour-test-00000-of-00001.h5", "r") as file:
            self.assertEqual(file["images"].shape, (25, 3, 4, 2))
            self.assertEqual(file.attrs["classes"], 12)
            self.assertEqual(file.attrs["split"], "test")

    def test_sha256_of_file_or_content(self):
        of_file = hashlib.sha256(self.images.read_bytes()).hexdigest()
        of_content = hashlib.sha256(idx.to_bytes(shard_files.images())).hexdigest()
        run = self.shard("--sha256", of_file)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("SHA-256 of the file as expected", run.stdout)
        of_labels = hashlib.sha256(self.labels.read_bytes()).hexdigest()
        run = self.shard("--sha256", of_content, "--sha256-labels", of_labels, "--force")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("SHA-256 of the unpacked content as expected", run.stdout)

    def test_force_replaces_the_whole_set(self):
        self.assertEqual(self.shard("--shards", 4).returncode, 0)
        self.assertEqual(self.shard("--shards", 2, "--force").returncode, 0)
        self.assertEqual(self.written(), [f"toy-train-{i:05}-of-00002.h5" for i in range(2)])


if __name__ == "__main__":
    shard_files.main()
