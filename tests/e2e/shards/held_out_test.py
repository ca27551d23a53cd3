# SPDX-License-Identifier: Apache-2.0
"""quern shard --shuffle and --hold-out: the same samples in another order, and a part of them as a test set."""
import subprocess
import unittest

import h5py
import numpy as np
import shard_files

COUNT = 40


class HeldOutTest(shard_files.ShardTest):
    def setUp(self):
        super().setUp()
        np.save(self.folder / "x.npy", np.arange(COUNT * 6, dtype=np.float32).reshape(COUNT, 1, 2, 3))
        np.save(self.folder / "y.npy", np.arange(COUNT) % 4)
        np.save(self.folder / "t.npy", np.arange(COUNT * 2, dtype=np.float32).reshape(COUNT, 2))
        self.test = self.folder / "data" / "toy" / "test"

    def quern(self, *options, answers=("--labels", "y.npy"), out=None):
        command = [shard_files.PROGRAM, "shard", "--images", "x.npy", *answers, "--out", out or self.out, *options]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=self.folder)

    def arrays(self, folder, *options, **more):
        done = self.quern(*options, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.said = done.stdout
        return self.read(folder)

    @staticmethod
    def read(folder):
        arrays = {}
        for name in sorted(folder.iterdir()):
            with h5py.File(name) as file:
                for key in ("values", "labels", "targets"):
                    if key in file:
                        arrays.setdefault(key, []).append(file[key][()])
        return {key: np.concatenate(parts) for key, parts in arrays.items()}

    def numbers(self, arrays):
        """Of the samples, in their files."""
        return arrays["values"][:, 0, 0, 0].astype(int) // 6

    def test_an_order_of_the_seed(self):
        first = self.arrays(self.out, "--shuffle", 3, "--shards", 3)
        order = self.numbers(first)
        self.assertEqual(sorted(order), list(range(COUNT)))
        self.assertNotEqual(list(order), list(range(COUNT)))
        np.testing.assert_array_equal(first["values"].reshape(COUNT, 6), np.arange(COUNT * 6).reshape(COUNT, 6)[order])
        np.testing.assert_array_equal(first["labels"], order % 4)
        again = self.arrays(self.out, "--shuffle", 3, "--force")
        np.testing.assert_array_equal(self.numbers(again), order)
        other = self.arrays(self.out, "--shuffle", 4, "--force")
        self.assertNotEqual(list(self.numbers(other)), list(order))

    def test_targets_and_images_go_with_their_samples(self):
        found = self.arrays(self.out, "--shuffle", 0, answers=("--targets", "t.npy"))
        np.testing.assert_array_equal(found["targets"][:, 0], 2 * self.numbers(found))
        done = self.shard("--shuffle", 8, "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.out / self.written()[0]) as file:
            images, labels = file["images"][()], file["labels"][()]
        for image, label in zip(images[:, 0], labels):
            at = [i for i, known in enumerate(shard_files.images()) if (known == image).all()]
            self.assertIn(label, shard_files.labels()[at])

    def test_held_out(self):
        whole = self.numbers(self.arrays(self.out, "--shuffle", 3))
        train = self.arrays(self.out, "--shuffle", 3, "--hold-out", 0.1, "--hold-out-to", self.test, "--force",
                            "--shards", 5)
        test = self.read(self.test)
        self.assertEqual(len(list(self.out.iterdir())), 5)
        self.assertEqual(len(list(self.test.iterdir())), 4)  # no shard without samples
        np.testing.assert_array_equal(self.numbers(train), whole[:36])
        np.testing.assert_array_equal(self.numbers(test), whole[36:])
        np.testing.assert_array_equal(test["labels"], whole[36:] % 4)
        self.assertIn("toy train: 36 samples of float32 [1, 2, 3], 4 classes, 5 shards", self.said)
        self.assertIn("toy test: 4 samples of float32 [1, 2, 3], 4 classes, 4 shards", self.said)
        for split, count in ((self.out, 36), (self.test, 4)):
            done = subprocess.run([shard_files.PROGRAM, "data", "show", split], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(str(count), done.stdout)

    def test_a_set_for_validation_and_one_for_tests(self):
        whole = self.numbers(self.arrays(self.out, "--shuffle", 3))
        valid = self.folder / "data" / "toy" / "valid"
        train = self.arrays(self.out, "--shuffle", 3, "--hold-out", 0.1, "--hold-out-to", self.test, "--hold-out", 0.2,
                            "--hold-out-to", valid, "--force")
        np.testing.assert_array_equal(self.numbers(train), whole[:28])
        np.testing.assert_array_equal(self.numbers(self.read(valid)), whole[28:36])
        np.testing.assert_array_equal(self.numbers(self.read(self.test)), whole[36:])
        self.assertIn(f"toy test: 8 samples of float32 [1, 2, 3], 4 classes, 1 shard in {valid}", self.said)

    def refused(self, message, *options):
        done = self.quern(*options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("error:"), 1, done.stderr)
        self.assertEqual(self.written(), [])

    def test_refused(self):
        to = ("--hold-out-to", self.test)
        for share in ("0", "1", "-0.5", "1.5", "nan"):
            self.refused("between 0 and 1", "--shuffle", 1, "--hold-out", share, *to)
        self.refused("0 of 40 samples", "--shuffle", 1, "--hold-out", "0.01", *to)
        self.refused("40 of 40 samples", "--shuffle", 1, "--hold-out", "0.999", *to)
        self.refused("--hold-out-to", "--shuffle", 1, "--hold-out", "0.1")
        self.refused("--hold-out", "--shuffle", 1, *to)
        self.refused("--shuffle", "--hold-out", "0.1", *to)
        self.refused("folder of --out", "--shuffle", 1, "--hold-out", "0.1", "--hold-out-to", f"{self.out}/../train/")
        twice = ("--shuffle", 1, "--hold-out", "0.1", *to, "--hold-out")
        self.refused("--hold-out is given 2 times, --hold-out-to 1 time, expected", *twice, "0.1")
        self.refused("folder of another --hold-out-to", *twice, "0.1", "--hold-out-to", f"{self.test}/")
        self.refused("the shares of --hold-out add up to 1, expected less than 1", *twice, "0.9", "--hold-out-to", self.folder / "v")
        self.refused("nothing of 40 samples is left", *twice, "0.899", "--hold-out-to", self.folder / "v")
        self.refused("--split train", "--shuffle", 1, "--hold-out", "0.1", *to, "--split", "test")
        self.refused("--shuffle", "--shuffle", -1)

    def test_nothing_is_written_where_a_test_set_is_already(self):
        self.test.mkdir(parents=True)
        done = self.quern("--split", "test", "--name", "toy", out=self.test)
        self.assertEqual(done.returncode, 0, done.stderr)
        before = {file: file.read_bytes() for file in self.test.iterdir()}
        self.refused("exists already", "--shuffle", 1, "--hold-out", "0.1", "--hold-out-to", self.test)
        self.assertEqual({file: file.read_bytes() for file in self.test.iterdir()}, before)

    def test_messages_count_the_samples_of_the_files(self):
        values = np.load(self.folder / "x.npy")
        values[17, 0, 1, 1] = np.nan
        np.save(self.folder / "x.npy", values)
        self.refused("the values of sample 17 hold", "--shuffle", 1)


if __name__ == "__main__":
    shard_files.main()
