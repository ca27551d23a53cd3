# SPDX-License-Identifier: Apache-2.0
"""quern shard on several ranks: the files that one rank writes, or one message and nothing."""
import gzip
import hashlib
import sys
import unittest

import h5py
import idx
import numpy as np
from folder import FolderTest
from PIL import Image
from program import Run, quern

# Runs a rank, and notes its exit status and the most memory that it took, in bytes.
MEASURED = """exec python3 -c '
import os, resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
with open(f"peak{rank}", "w") as file: file.write(str(peak))
with open(os.environ["QUERN_TEST_STATUS"] + "/" + rank, "w") as file: file.write(str(code))
sys.exit(code)' "$@" """
RANDOM = np.random.default_rng(4)


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


class ParallelTest(FolderTest):
    def setUp(self):
        super().setUp()
        images, labels = idx.blobs(200)
        for part, images_of_part in enumerate(np.split(images, [70, 71])):
            (self.folder / f"images{part}").write_bytes(idx.to_bytes(images_of_part))
        (self.folder / "images").write_bytes(idx.to_bytes(images))
        (self.folder / "labels").write_bytes(idx.to_bytes(labels))
        np.save(self.folder / "x.npy", RANDOM.standard_normal((120, 3, 5, 4)).astype(np.float16))
        np.save(self.folder / "y.npy", RANDOM.standard_normal((120, 2)).astype(np.float32))
        for name, count in (("bird", 9), ("cat", 14), ("dog", 5)):
            (self.folder / "photos" / name).mkdir(parents=True)
            for number in range(count):
                shape = (8, 6) if number % 3 else (8, 6, 3)
                pixels = RANDOM.integers(0, 255, shape).astype(np.uint8)
                Image.fromarray(pixels).save(self.folder / "photos" / name / f"{number:02}.png")
        Image.fromarray(RANDOM.integers(0, 255, (8, 6)).astype(np.uint8)).save(
            self.folder / "photos/bird/00.png")

    def more_formats(self):
        x, y = np.load(self.folder / "x.npy"), np.load(self.folder / "y.npy")
        with h5py.File(self.folder / "set.h5", "w") as file:
            file["a/x"] = x
            file["y"] = np.arange(120) % 7
            file["many"] = np.arange(120) * 5  # the last rank alone sees the largest
            file["one"] = 3
            file.create_dataset("a/chunks", data=x[:, 0], chunks=(11, 5, 3), compression="gzip")
        np.savez_compressed(self.folder / "set.npz", x=x, y=y)
        np.save(self.folder / "fortran.npy", np.asfortranarray(x))
        (self.folder / "packed.npy.gz").write_bytes(gzip.compress((self.folder / "x.npy").read_bytes()))
        records = RANDOM.integers(0, 256, (45, 3073)).astype(np.uint8)
        records[:, 0] %= 10
        (self.folder / "batch.bin").write_bytes(records.tobytes())
        (self.folder / "batch.bin.gz").write_bytes(gzip.compress(records.tobytes()))
        np.savetxt(self.folder / "set.csv", y, delimiter=",")
        np.save(self.folder / "fortran32.npy", np.asfortranarray(y))
        # Longer than what is read at once, and than the way from mark to mark.
        lines = [f"{number};{number % 7};{'x' * (number % 90)};{number / 8}" for number in range(30000)]
        (self.folder / "long.csv").write_text("\r\n".join(["id;class;\"a note\";value", *lines, "", " ", ""]))
        (self.folder / "packed.csv.gz").write_bytes(gzip.compress((self.folder / "long.csv").read_bytes()))

    def test_a_file_that_is_cut(self):
        """Also where the samples of a rank are whole."""
        self.more_formats()
        (self.folder / "cut.bin.gz").write_bytes(gzip.compress((self.folder / "batch.bin").read_bytes()[:-9]))
        for ranks in (1, 4):
            error = self.refused("--images", "cut.bin.gz", "--from", "cifar10", "--shards", 4, ranks=ranks)
            self.assertIn("truncated: record 44 has 3064 bytes", error)
        for name, options in (("x.npy", ()), ("images", ()), ("batch.bin", ("--from", "cifar10"))):
            file = self.folder / name
            whole = file.read_bytes()
            for content, message in ((whole[:-1], "truncated"), (whole + b"x", "trailing bytes|truncated")):
                file.write_bytes(content)
                for ranks in (1, 4):
                    error = self.refused("--images", name, "--shards", 4, *options, ranks=ranks)
                    self.assertRegex(error, message)
                    self.assertFalse((self.folder / "new").exists())

    def test_a_line_that_one_rank_reads(self):
        """Its number is that of the file, whoever finds it; and of several files it is the second."""
        self.more_formats()
        lines = (self.folder / "long.csv").read_text().split("\n")
        for change, message in (("1;2;3", "line 20007 has 3 fields, expected 4 as the first line"),
                                ("1;2;;y", "'y' in line 20007, column 4"), ("", "line 20007 is empty")):
            lines[20006] = change
            (self.folder / "bad.csv").write_text("\n".join(lines))
            for files in (("bad.csv:value",), ("long.csv:value", "bad.csv:value")):
                for ranks in (1, 2, 3):
                    error = self.refused("--images", *files, "--shards", 5, ranks=ranks)
                    self.assertIn(f"'bad.csv': {message}", error)
                    self.assertFalse((self.folder / "new").exists())
        (self.folder / "names.csv").write_text("a,b\n\n")
        for files, message in ((("names.csv",), "a line of names without numbers"),
                               (("set.csv", "long.csv:value"), "expected samples like those of 'set.csv': floats [120, 2]")):
            self.assertIn(message, self.refused("--images", *files, "--shards", 2, ranks=2))
        np.save(self.folder / "few.npy", np.ones((119, 2), np.float32))
        error = self.refused("--images", "set.csv", "--targets", "few.npy", ranks=2)
        self.assertIn("'set.csv' holds 120 samples, but 'few.npy' holds targets of 119 samples", error)
        whole = (self.folder / "fortran.npy").read_bytes()
        for content, message in ((whole[:-1], "truncated"), (whole + b"x", "trailing bytes")):
            (self.folder / "fortran.npy").write_bytes(content)
            for ranks in (1, 4):
                self.assertIn(message, self.refused("--images", "fortran.npy", "--shards", 3, ranks=ranks))

    def test_one_warning_about_an_image_that_the_last_rank_reads(self):
        pixels = RANDOM.integers(0, 65536, (8, 6)).astype(np.uint16)
        Image.fromarray(pixels).save(self.folder / "photos/dog/99.png")
        for ranks in (1, 4):
            done = quern("shard", "--images", "photos", "--out", f"new{ranks}", "--shards", 4, ranks=ranks, cwd=self.folder)
            self.assertEqual(set(done.codes), {0}, done)
            self.assertEqual(done.err.count("quern: warning: 'photos': images of 16 bits were scaled to 8 bits"), 1, done)

    def peak(self, *options, ranks):
        """Bytes of the rank that took the most."""
        done = Run("shard", *options, "--out", "new", "--shards", 4, "--force", "--name", "toy", ranks=ranks,
                   each_rank=MEASURED, cwd=self.folder).wait()
        self.assertEqual(set(done.codes), {0}, done)
        return max(int((self.folder / f"peak{rank}").read_text()) for rank in range(ranks))

    def test_one_warning_about_pixels_that_are_no_bytes(self):
        values = np.zeros((4, 8, 8), np.float32)
        for number, count in ((2, 1), (300, 0)):
            values[3, 4, 5] = number  # only the last rank sees it
            np.save(self.folder / "pixels.npy", values)
            done = quern("shard", "--images", "pixels.npy", "--out", f"new{number}", "--shards", 4, ranks=4, cwd=self.folder)
            self.assertEqual((set(done.codes), done.err.count("'pixels.npy': all values are whole numbers")), ({0}, count), done)

    def test_a_rank_holds_its_own_samples(self):
        count = 480_000
        size = 4 * 24 * count  # 46 MB
        values = RANDOM.standard_normal((count, 24)).astype(np.float32)
        np.save(self.folder / "fortran.npy", np.asfortranarray(values))
        for part, some in enumerate(np.split(values, 3)):
            np.save(self.folder / f"part{part}.npy", some)
        np.save(self.folder / "small.npy", values[:100])
        np.savetxt(self.folder / "block.csv", values[:1000], delimiter=",", fmt="%.3f")
        (self.folder / "table.csv").write_bytes(count // 1000 * (self.folder / "block.csv").read_bytes())
        few = self.peak("--images", "small.npy", ranks=4)
        for files in (("table.csv",), ("fortran.npy",), ("part0.npy", "part1.npy", "part2.npy")):
            with self.subTest(files):
                self.assertGreater(self.peak("--images", *files, ranks=1) - few, 0.9 * size)
                self.assertLess(self.peak("--images", *files, ranks=4) - few, 0.7 * size)
        self.assertLess(self.peak("--images", "part0.npy", "part1.npy", "part2.npy", "--targets", "table.csv", ranks=4) - few,
                        1.0 * size)
        records = np.zeros((2 * size // 3073, 3073), np.uint8)
        (self.folder / "batch.bin.gz").write_bytes(gzip.compress(records.tobytes(), 1))
        np.save(self.folder / "many.npy", values.astype(np.uint8).ravel())
        np.save(self.folder / "classes.npy", np.arange(values.size) % 5)
        for options, least, most in ((("batch.bin.gz", "--from", "cifar10"), 1.3, 1),
                                     (("many.npy", "--labels", "classes.npy"), 2.5, 1.5)):
            with self.subTest(options):
                self.assertGreater(self.peak("--images", *options, ranks=1) - few, least * size)
                self.assertLess(self.peak("--images", *options, ranks=4) - few, most * size)

    def shard(self, out, *options, ranks):
        return quern("shard", *options, "--out", out, ranks=ranks, cwd=self.folder)

    def files(self, out):
        return {path.name: path.read_bytes() for path in (self.folder / out).iterdir()}

    def test_same_bytes_as_from_one_rank(self):
        sets = {"idx": ("--images", "images", "--labels", "labels"),
                "files": ("--images", "images0", "images1", "images2", "--labels", "labels"),
                "values": ("--images", "x.npy", "--targets", "y.npy"),
                "unlabelled": ("--images", "x.npy"),
                "photos": ("--images", "photos")}
        self.check_same_bytes(sets, {1: (3,), 3: (1, 2, 3, 4), 8: (3,)})
        self.assertEqual(self.files("idx8/alone"), self.files("files8/alone"))  # seconds later

    def test_same_bytes_of_every_format(self):
        """With more ranks than shards, one reads nothing."""
        self.more_formats()
        sets = {"hdf5": ("--images", "set.h5:/a/x", "--labels", "set.h5:/y"),
                "chunks": ("--images", "set.h5:/a/chunks"),
                "classes": ("--images", "x.npy", "--labels", "set.h5:/many"),
                "more-classes": ("--images", "x.npy", "--labels", "set.h5:/y", "--classes", 300),
                "archive": ("--images", "set.npz:x", "--targets", "set.npz:y"),
                "fortran": ("--images", "fortran.npy"),
                "packed": ("--images", "packed.npy.gz"),
                "cifar": ("--images", "batch.bin", "--from", "cifar10"),
                "packed-cifar": ("--images", "batch.bin.gz", "--from", "cifar10"),
                "summed-cifar": ("--images", "batch.bin", "--from", "cifar10", "--sha256",
                                 sha256(self.folder / "batch.bin")),
                "table": ("--images", "set.csv"),
                "tables": ("--images", "set.csv", "y.npy", "fortran32.npy"),
                "columns": ("--images", "long.csv:id,value", "--labels", "long.csv:class"),
                "packed-table": ("--images", "packed.csv.gz:value", "--targets", "packed.csv.gz:1-2", "--sha256",
                                 sha256(self.folder / "packed.csv.gz")),
                "folders": ("--images", "photos", "photos"),
                "batches": ("--images", "batch.bin", "batch.bin.gz", "--from", "cifar10"),
                "summed": ("--images", "x.npy", "--sha256", sha256(self.folder / "x.npy"))}
        self.check_same_bytes(sets, {3: (2, 4)})

    def check_same_bytes(self, sets, ranks_of_shards):
        for name, options in sets.items():
            for shards, all_ranks in ranks_of_shards.items():
                options_of_set = (*options, "--shards", shards, "--name", "toy")
                alone = self.shard(f"{name}{shards}/alone", *options_of_set, ranks=0)
                self.assertEqual(alone.code, 0, alone)
                files = self.files(f"{name}{shards}/alone")
                self.assertEqual(len(files), shards)
                for ranks in all_ranks:
                    with self.subTest(name, shards=shards, ranks=ranks):
                        out = f"{name}{shards}/{ranks}"
                        done = self.shard(out, *options_of_set, ranks=ranks)
                        self.assertEqual((set(done.codes), done.err), ({0}, alone.err), done)
                        self.assertEqual(done.out, alone.out.replace(f"{shards}/alone", f"{shards}/{ranks}"))
                        self.assertEqual(self.files(out), files)

    def refused(self, *options, ranks, out="new", code=2):
        """-> the one error line."""
        done = self.shard(out, *options, ranks=ranks)
        self.assertEqual(set(done.codes), {code}, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertEqual(done.out, "")
        return done.errors()[0]

    def test_an_image_that_one_rank_reads(self):
        for name, change in (("07", lambda file: file.write_bytes(file.read_bytes()[:60])),
                             ("11", lambda file: Image.new("L", (5, 5)).save(file))):
            bad = self.folder / f"photos/cat/{name}.png"
            good = bad.read_bytes()
            change(bad)
            for ranks in (1, 3, 4):
                error = self.refused("--images", "photos", "--shards", 4, ranks=ranks)
                self.assertIn(f"cat/{name}.png", error)
                self.assertFalse((self.folder / "new").exists())
            bad.write_bytes(good)

    def test_pairs_that_no_rank_reads_together(self):
        """With a shard for each image: names are compared with those of all."""
        for folder, names in (("numbers", ("1", "2", "10")), ("masks", ("1_m", "2_m", "10_m")), ("agree", ("m1", "m2", "m10"))):
            (self.folder / folder).mkdir()
            for name in names:
                Image.new("L", (4, 4)).save(self.folder / folder / f"{name}.png")
        for ranks in (1, 3, 4):
            error = self.refused("--images", "numbers", "--targets", "masks", "--shards", 3, ranks=ranks)
            self.assertIn("'numbers/1.png' would be paired with 'masks/10_m.png'", error)
            self.assertIn("leading zeros", error)
            done = self.shard(f"agree{ranks}", "--images", "numbers", "--targets", "agree", "--shards", 3, ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)

    def test_labels_that_one_rank_reads(self):
        """The sample has its number in the file, whoever finds it."""
        self.more_formats()
        labels = np.arange(120)
        labels[77] = -2
        np.save(self.folder / "labels.npy", labels)
        np.save(self.folder / "wide.npy", np.zeros((120, 3), int))
        for name, message in (("labels.npy", "label -2 of sample 77 is out of range"),
                              ("wide.npy", "integers [120, 3] are no labels"),
                              ("y.npy", "floats [120, 2] are no labels"), ("set.h5:/one", "is no array [n, ...]")):
            for ranks in (1, 4):
                error = self.refused("--images", "x.npy", "--labels", name, "--shards", 4, ranks=ranks)
                self.assertIn(message, error)
                self.assertFalse((self.folder / "new").exists())

    def test_samples_that_one_rank_has(self):
        values = np.load(self.folder / "x.npy")
        values[77, 1, 2, 3] = np.nan
        np.save(self.folder / "x.npy", values)
        for ranks in (1, 4):
            error = self.refused("--images", "x.npy", "--shards", 4, ranks=ranks)
            self.assertIn("the values of sample 77 hold nan", error)
        error = self.refused("--images", "images", "--labels", "labels", "--classes", 9, ranks=3)
        self.assertRegex(error, r"label 9 of sample \d+ is out of range")
        error = self.refused("--images", "images", "--shuffle", 1, "--shards", 4, ranks=3)
        self.assertIn("--shuffle needs all samples on one rank, found 3 ranks", error)
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
    unittest.main(verbosity=2, argv=[__file__, *sys.argv[3:]])
