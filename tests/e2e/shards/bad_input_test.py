# SPDX-License-Identifier: Apache-2.0
"""Bad input of the shard command: exit status 2, one message, nothing written."""
import gzip
import os
import socket
import subprocess

import idx
import shard_files
from shard_files import images, labels


class BadInputTest(shard_files.ShardTest):
    def refused(self, message, *options):
        run = self.shard(*options)
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertIn(message, run.stderr)
        self.assertEqual(run.stderr.count("error:"), 1, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertEqual(self.written(), [])

    def test_missing_file(self):
        self.images.unlink()
        self.refused("no file")

    def test_wrong_magic(self):
        self.images.write_bytes(b"GIF89a" + bytes(100))
        self.refused("wrong IDX magic number 47494638", "--from", "idx")
        self.refused("of no format that is known here (its first bytes are 47494638")
        self.images.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
        self.refused("is no whole PNG file")

    def test_swapped_files(self):
        self.images, self.labels = self.labels, self.images
        self.refused("expected 00000801")

    def test_truncated(self):
        whole = self.images.read_bytes()
        self.images.write_bytes(whole[:-9])
        self.refused("truncated")

    def test_trailing_bytes(self):
        self.images.write_bytes(gzip.compress(idx.to_bytes(images()) + b"x"))
        self.refused("trailing bytes")

    def test_oversized_extents(self):
        self.images.write_bytes(b"\0\0\x08\x03" + b"\xff" * 12)
        self.refused("truncated: its shape is [4294967295, 4294967295, 4294967295]")

    def test_different_counts(self):
        self.labels.write_bytes(idx.to_bytes(labels(24)))
        self.refused("holds 25 images, but")

    def test_labels_out_of_range(self):
        self.refused("label 5 of sample 5 is out of range, expected 0 to 4", "--classes", 5)

    def test_wrong_sha256(self):
        self.refused("expected " + "0" * 64, "--sha256", "0" * 64)
        self.refused("'xyz' is not a SHA-256", "--sha256-labels", "xyz")

    def test_more_shards_than_samples(self):
        self.refused("25 samples cannot fill 26 shards", "--shards", 26)

    def test_name_that_is_a_path(self):
        self.refused("'../x' is not a name", "--name", "../x")
        self.refused("is not a name for shards, expected at most 120 letters", "--name", "x" * 121)

    def test_folder_that_cannot_be_made(self):
        self.out = self.labels / "below" / "a-file"
        self.refused("cannot make folder")

    def test_overwriting_is_refused(self):
        self.assertEqual(self.shard("--shards", 2).returncode, 0)
        before = self.written()
        run = self.shard("--shards", 3)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--force", run.stderr)
        self.assertEqual(self.written(), before)

    def test_what_an_interruption_left(self):
        """The next run removes it: of this set alone, and of dead processes."""
        self.out.mkdir(parents=True)
        names = ["toy-train-00000-of-00002.h5", "toy-train-00001-of-00008.h5", "toy-test-00000-of-00002.h5",
                 "other-train-00000-of-00002.h5"]
        dead = subprocess.Popen(["true"])
        dead.wait()
        for name in names:
            for pid in (dead.pid, os.getpid()):
                (self.out / f"{name}.tmp.{socket.gethostname()}.{pid}").touch()
        run = self.shard("--name", "toy", "--shards", 2)
        self.assertEqual(run.returncode, 0, run.stderr)
        left = sorted(path.name.split(".tmp.")[0] for path in self.out.glob(f"*.tmp.*.{dead.pid}"))
        self.assertEqual(left, sorted(names[2:]))
        self.assertEqual(len(list(self.out.glob(f"*.tmp.*.{os.getpid()}"))), 4)

    def test_bad_usage(self):
        for options in (["--shards", "0"], ["--split", "dev"], ["--nonsense"]):
            self.assertEqual(self.shard(*options).returncode, 2, options)
            self.assertEqual(self.written(), [])


if __name__ == "__main__":
    shard_files.main()
