# SPDX-License-Identifier: Apache-2.0
"""quern shard on several ranks: the files that one rank writes, or one message and nothing."""
import gzip
import hashlib
import tempfile
import unittest
from pathlib import Path

import h5py
import idx
import numpy as np
from PIL import Image
from program import quern

RANDOM = np.random.default_rng(4)


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


class ParallelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        images, labels = idx.blobs(200)
        for part, images_of_part in enumerate(np.split(images, [70, 71])):
            (self.folder / f"images{part}").write_bytes(idx.to_bytes(images_of_part))
        (self.folder / "images").write_bytes(idx.to_bytes(images))
        (self.folder / "labels").write_bytes(idx.to_bytes(labels))
        np.save(self.folder / "x.npy", RANDOM.standard_normal((120, 3, 5, 4)).astype(np.float16))
        np.save(self.folder / "y.npy", RANDOM.standard_normal((120, 2)).astype(np.float32))
        for name, count in (("bird", 9), ("cat", 14), ("dog", 5)):
            (self.folder / "pictures" / name).mkdir(parents=True)
            for number in range(count):
                shape = (8, 6) if number % 3 else (8, 6, 3)
                pixels = RANDOM.integers(0, 255, shape).astype(np.uint8)
                Image.fromarray(pixels).save(self.folder / "pictures" / name / f"{number:02}.png")
        Image.fromarray(RANDOM.integers(0, 255, (8, 6, 3)).astype(np.uint8)).save(
            self.folder / "pictures/bird/00.png")

    def more_formats(self):
        x, y = np.load(self.folder / "x.npy"), np.load(self.folder / "y.npy")
        with h5py.File(self.folder / "set.h5", "w") as file:
            file["a/x"] = x
            file["y"] = np.arange(120) % 7
            file.create_dataset("a/chunks", data=x[:, 0], chunks=(11, 5, 3), compression="gzip")
        np.savez_compressed(self.folder / "set.npz", x=x, y=y)
        np.save(self.folder / "fortran.npy", np.asfortranarray(x))
        (self.folder / "packed.npy.gz").write_bytes(gzip.compress((self.folder / "x.npy").read_bytes()))
        records = RANDOM.integers(0, 256, (45, 3073)).astype(np.uint8)
        records[:, 0] %= 10
        (self.folder / "batch.bin").write_bytes(records.tobytes())
        np.savetxt(self.folder / "set.csv", y, delimiter=",")

    def test_a_file_that_is_cut(self):
        """Also where the samples of a rank are whole."""
        self.more_formats()
        for name, options in (("x.npy", ()), ("images", ()), ("batch.bin", ("--from", "cifar10"))):
            file = self.folder / name
            whole = file.read_bytes()
            for content, message in ((whole[:-1], "truncated"), (whole + b"x", "trailing bytes|truncated")):
                file.write_bytes(content)
                for ranks in (1, 4):
                    error = self.refused("--images", name, "--shards", 4, *options, ranks=ranks)
                    self.assertRegex(error, message)
                    self.assertFalse((self.folder / "new").exists())

    def shard(self, out, *options, ranks):
        return quern("shard", *options, "--out", out, ranks=ranks, cwd=self.folder)

    def files(self, out):
        return {path.name: path.read_bytes() for path in (self.folder / out).iterdir()}

    def test_same_bytes_as_from_one_rank(self):
        sets = {"idx": ("--images", "images", "--labels", "labels"),
                "files": ("--images", "images0", "images1", "images2", "--labels", "labels"),
                "values": ("--images", "x.npy", "--targets", "y.npy"),
                "unlabelled": ("--images", "x.npy"),
                "pictures": ("--images", "pictures")}
        self.check_same_bytes(sets, shards_of_sets=(1, 3, 8), ranks_of_sets=(1, 2, 3, 4))
        self.assertEqual(self.files("idx8/alone"), self.files("files8/alone"))  # seconds later

    def test_same_bytes_of_every_format(self):
        """With more ranks than shards, one reads nothing."""
        self.more_formats()
        sets = {"hdf5": ("--images", "set.h5:/a/x", "--labels", "set.h5:/y"),
                "chunks": ("--images", "set.h5:/a/chunks"),
                "archive": ("--images", "set.npz:x", "--targets", "set.npz:y"),
                "fortran": ("--images", "fortran.npy"),
                "packed": ("--images", "packed.npy.gz"),
                "cifar": ("--images", "batch.bin", "--from", "cifar10"),
                "table": ("--images", "set.csv"),
                "summed": ("--images", "x.npy", "--sha256", sha256(self.folder / "x.npy"))}
        self.check_same_bytes(sets, shards_of_sets=(3,), ranks_of_sets=(2, 4))

    def check_same_bytes(self, sets, shards_of_sets, ranks_of_sets):
        for name, options in sets.items():
            for shards in shards_of_sets:
                options_of_set = (*options, "--shards", shards, "--name", "toy")
                alone = self.shard(f"{name}{shards}/alone", *options_of_set, ranks=0)
                self.assertEqual(alone.code, 0, alone)
                files = self.files(f"{name}{shards}/alone")
                self.assertEqual(len(files), shards)
                for ranks in ranks_of_sets:
                    with self.subTest(name, shards=shards, ranks=ranks):
                        out = f"{name}{shards}/{ranks}"
                        done = self.shard(out, *options_of_set, ranks=ranks)
                        self.assertEqual((set(done.codes), done.err), ({0}, ""), done)
                        self.assertEqual(done.out, alone.out.replace(f"{shards}/alone", f"{shards}/{ranks}"))
                        self.assertEqual(self.files(out), files)

    def refused(self, *options, ranks, out="new", code=2):
        """-> the one error line."""
        done = self.shard(out, *options, ranks=ranks)
        self.assertEqual(set(done.codes), {code}, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertEqual(done.out, "")
        return done.errors()[0]

    def test_a_picture_that_one_rank_reads(self):
        for name, change in (("07", lambda file: file.write_bytes(file.read_bytes()[:60])),
                             ("11", lambda file: Image.new("L", (5, 5)).save(file))):
            bad = self.folder / f"pictures/cat/{name}.png"
            good = bad.read_bytes()
            change(bad)
            for ranks in (1, 3, 4):
                error = self.refused("--images", "pictures", "--shards", 4, ranks=ranks)
                self.assertIn(f"cat/{name}.png", error)
                self.assertFalse((self.folder / "new").exists())
            bad.write_bytes(good)

    def test_samples_that_one_rank_has(self):
        values = np.load(self.folder / "x.npy")
        values[77, 1, 2, 3] = np.nan
        np.save(self.folder / "x.npy", values)
        for ranks in (1, 4):
            error = self.refused("--images", "x.npy", "--shards", 4, ranks=ranks)
            self.assertIn("the values of sample 77 hold nan", error)
        error = self.refused("--images", "images", "--labels", "labels", "--classes", 9, ranks=3)
        self.assertRegex(error, r"label 9 of sample \d+ is out of range")
        error = self.refused("--images", "images", "--shards", 201, ranks=3)
        self.assertIn("200 samples cannot fill 201 shards", error)
        self.assertFalse((self.folder / "new").exists())

    def test_old_shards(self):
        options = ("--images", "images", "--labels", "labels", "--name", "toy")
        self.assertEqual(self.shard("set", *options, "--shards", 5, ranks=2).code, 0)
        before = self.files("set")
        error = self.refused(*options, "--shards", 3, ranks=3, out="set")
        self.assertIn("exists already; --force replaces the whole set", error)
        self.assertEqual(self.files("set"), before)
        done = self.shard("set", *options, "--shards", 3, "--force", ranks=3)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertEqual(len(self.files("set")), 3)

    def test_a_file_that_cannot_get_its_name(self):
        out = self.folder / "set"
        out.mkdir()
        (out / "toy-train-00002-of-00004.h5").mkdir()
        (out / "toy-train-00002-of-00004.h5" / "kept").touch()
        for ranks in (1, 3):
            error = self.refused("--images", "images", "--shards", 4, "--name", "toy", "--force", ranks=ranks,
                                 out="set", code=1)
            self.assertIn("toy-train-00002-of-00004.h5", error)
            self.assertEqual([path.name for path in out.iterdir()], ["toy-train-00002-of-00004.h5"])


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=[__file__])
