# SPDX-License-Identifier: Apache-2.0
"""Every format that quern shard reads, written by its own library, and what quern data show says of it."""
import json
import pickle

import h5py
import numpy as np
import shard_files
from PIL import Image
from format_case import FormatCase

RANDOM = np.random.default_rng(5)


class FormatsTest(FormatCase):
    def test_numpy(self):
        values = RANDOM.standard_normal((7, 3, 2)).astype(np.float32)
        np.save(self.folder / "x.npy", np.asfortranarray(values))
        np.savez_compressed(self.folder / "set.npz", x=values.astype(">f8"), y=np.arange(7) * 50)
        found = self.sharded("--images", "x.npy")
        self.assertEqual(set(found), {"values"})
        np.testing.assert_array_equal(found["values"], values[:, None])
        found = self.sharded("--images", "set.npz:x", "--labels", "set.npz:y", "--shards", 3, warnings=("294 have no sample",))
        np.testing.assert_array_equal(found["values"], values[:, None])
        np.testing.assert_array_equal(found["labels"], np.arange(7) * 50)
        self.assertEqual(found["labels"].dtype, np.int32)

    def test_bytes_and_bools_as_values(self):
        """Of no images: features of 0 and 1, of whole numbers."""
        rows = RANDOM.integers(0, 256, (6, 5)).astype(np.uint8)
        np.save(self.folder / "x.npy", rows)
        as_pixels = "'x.npy': rows of bytes are taken as pixels, which networks read divided by 255 (--as-values"
        np.testing.assert_array_equal(self.sharded("--images", "x.npy", warnings=(as_pixels,))["images"][:, :, 0, 0], rows)
        found = self.sharded("--images", "x.npy", "--as-values")
        self.assertEqual((set(found), found["values"].dtype), ({"values"}, np.float32))
        np.testing.assert_array_equal(found["values"].reshape(6, 5), rows)
        np.save(self.folder / "x.npy", rows > 100)
        np.testing.assert_array_equal(self.sharded("--images", "x.npy")["values"].reshape(6, 5), rows > 100)
        with h5py.File(self.folder / "x.h5", "w") as file:
            file["x"] = rows > 100
        np.testing.assert_array_equal(self.sharded("--images", "x.h5:/x")["values"].reshape(6, 5), rows > 100)
        np.save(self.folder / "y.npy", np.array([True, False] * 3))
        found = self.sharded("--images", "x.npy", "--labels", "y.npy")
        np.testing.assert_array_equal(found["labels"], [1, 0] * 3)

    def test_numbers_of_one(self):
        for inputs, label, words in ((np.zeros((1, 3), np.float32), 0, "toy train: 1 sample of float32 [3], 1 class, 1 shard in"),
                                     (np.zeros((1, 3, 3), np.uint8), 1, "toy train: 1 image [1, 3, 3], 2 classes, 1 shard in")):
            np.save(self.folder / "x.npy", inputs)
            np.save(self.folder / "y.npy", np.array([label]))
            self.sharded("--images", "x.npy", "--labels", "y.npy", warnings=("of 2 classes 1 has no sample",) if label else ())
            self.assertIn(words, self.said)
        np.save(self.folder / "y.npy", np.zeros(2, int))
        self.refused("'x.npy' holds 1 image, but 'y.npy' holds 2 labels", "--images", "x.npy", "--labels", "y.npy")

    def test_pixels_that_are_no_bytes(self):
        """As other libraries leave them: a network gets numbers up to 255."""
        words = "'{}': all values are whole numbers from 0 to 255, which looks like pixels: save them as uint8"
        pixels = RANDOM.integers(0, 256, (6, 8, 8))
        for dtype in (np.int64, np.float32, np.float16, np.uint16):
            np.save(self.folder / "x.npy", pixels.astype(dtype))
            self.sharded("--images", "x.npy", "--shards", 2, warnings=(words.format("x.npy"),))
            self.sharded("--images", "x.npy", "--as-values")
        np.savetxt(self.folder / "x.csv", pixels.reshape(6, 64), "%d", ",")
        self.sharded("--images", "x.csv", warnings=(words.format("x.csv"),))
        others = {"floats": pixels / 255, "larger": pixels + 1000, "negative": pixels - 1, "halves": pixels + 0.5,
                  "bits": pixels > 100, "few": pixels[:, :7].astype(np.int64)}
        for name, values in others.items():
            np.save(self.folder / f"{name}.npy", values)
            self.sharded("--images", f"{name}.npy")

    def test_classes_without_samples(self):
        np.save(self.folder / "x.npy", np.zeros((4, 2), np.float32))
        for labels, words in (([1, 2, 3, 3], "of 4 classes 1 has no sample: 0"),
                              ([0, 2, 9, 9], "of 10 classes 7 have no sample: 1, 3 to 8"),
                              ([0, 3, 6, 6], "of 7 classes 4 have no sample: 1, 2, 4, 5"), ([0, 1, 1, 0], None)):
            np.save(self.folder / "y.npy", np.array(labels))
            source = ("--images", "x.npy", "--labels", "y.npy")
            self.sharded(*source, warnings=(words,) if words else ())
            self.sharded(*source, "--split", "test")

    def test_names_of_the_classes_of_an_array(self):
        np.save(self.folder / "x.npy", np.zeros((4, 2), np.float32))
        np.save(self.folder / "y.npy", np.array([0, 2, 1, 0]))
        source = ("--images", "x.npy", "--labels", "y.npy", "--class-names", "names.txt")
        self.refused("names.txt", *source)
        (self.folder / "names.txt").write_text("ant\r\nbee\ncat\ngrüße\n", encoding="utf-8")
        self.sharded(*source, warnings=("of 4 classes 1 has no sample: 3",))
        self.assertEqual((self.attributes["class_names"], self.attributes["classes"]), ("ant\nbee\ncat\ngrüße", 4))
        (self.folder / "names.txt").write_text("ant\nbee\n")
        self.refused("'names.txt' names 2 classes, but there are 3 (expected a line for each)", *source)
        (self.folder / "names.txt").write_text("ant\n\nbee\n")
        self.refused("'names.txt': line 2 is empty, expected the name of class 1", *source)
        (self.folder / "names.txt").write_bytes(b"ant\nb\xe9e\ncat\n")
        self.refused("'names.txt': line 2 is no UTF-8, expected the name of class 1", *source)
        (self.folder / "names.txt").write_text("ant\nbee\ncat\n")
        self.refused("names 3 classes, but there are 4", *source, "--classes", 4)
        self.refused("--class-names without --labels", "--images", "x.npy", "--class-names", "names.txt")
        np.save(self.folder / "t.npy", np.zeros((4, 1), np.float32))
        for targets in ((), ("--targets", "t.npy")):
            self.refused("--classes without --labels", "--images", "x.npy", "--classes", 3, *targets)

    def test_hdf5(self):
        values = RANDOM.integers(0, 255, (9, 1, 4, 3)).astype(np.uint8)
        with h5py.File(self.folder / "other.h5", "w") as file:
            file.create_dataset("group/x", data=values, chunks=(2, 1, 4, 3), compression="gzip", shuffle=True)
            file.create_dataset("y", data=np.arange(9, dtype=">i2"))
            file.create_dataset("half", data=values.astype(np.float16) / 7)
            file.create_dataset("flags", data=values > 100)
            file.create_dataset("text", data=["a", "b"])
            file.create_dataset("nothing", shape=(10 ** 12, 10), dtype="f8", chunks=(1000, 10))
            file.create_dataset("none", shape=(0, 3), dtype="f4")
            file.create_dataset("one", data=3.5)
            file["link"] = h5py.ExternalLink("elsewhere.h5", "/x")
        found = self.sharded("--images", "other.h5:/group/x", "--labels", "other.h5:/y")
        np.testing.assert_array_equal(found["images"], values)
        np.testing.assert_array_equal(found["labels"], np.arange(9))
        found = self.sharded("--images", "other.h5:/half")
        np.testing.assert_array_equal(found["values"], values.astype(np.float16) / 7)
        self.assertEqual(found["values"].dtype, np.float16)
        np.testing.assert_array_equal(self.sharded("--images", "other.h5:/flags")["values"], values > 100)
        self.refused("with one of its datasets (", "--images", "other.h5")
        self.refused("no dataset '/z', expected one of /flags, /group/x, /half", "--images", "other.h5:/z")
        self.refused("no dataset '/link'", "--images", "other.h5:/link")
        self.refused("holds no numbers", "--images", "other.h5:/text")
        self.refused("truncated: its shape is [1000000000000, 10]", "--images", "other.h5:/nothing")
        self.refused("empty", "--images", "other.h5:/none")
        self.refused("no array", "--images", "other.h5:/one")
        whole = (self.folder / "other.h5").read_bytes()
        (self.folder / "cut.h5").write_bytes(whole[:len(whole) // 2])
        self.refused("'cut.h5'", "--images", "cut.h5:/group/x")

    def test_hdf5_of_a_newer_form(self):
        """h5py writes it with libver="latest": the library reads it, though what Quern writes is older."""
        values = RANDOM.standard_normal((20, 3)).astype(np.float32)
        with h5py.File(self.folder / "new.h5", "w", libver="latest") as file:
            file["x"] = values
            file.create_dataset("packed", data=values, chunks=(7, 3), compression="gzip")
        for name in ("x", "packed"):
            np.testing.assert_array_equal(self.sharded("--images", f"new.h5:/{name}")["values"], values)
        shard = self.out / self.written()[0]
        with h5py.File(shard) as file:
            arrays, attributes = {key: file[key][()] for key in file}, dict(file.attrs)
        with h5py.File(shard, "w", libver="latest") as file:
            file.attrs.update(attributes)
            for key, values in arrays.items():
                file[key] = values
        self.assertEqual(self.quern("data", "show", self.out).returncode, 0)

    def test_damaged_groups_of_hdf5(self):
        """Whatever byte is another one: read or refused, and the library, which sorts names of many links, does not abort."""
        with h5py.File(self.folder / "many.h5", "w", libver="latest") as file:
            file.create_dataset("x", data=np.zeros((40, 6), np.float32), chunks=(8, 6), compression="gzip")
            for number in range(15):
                file.create_group(f"g{number}")
        whole = (self.folder / "many.h5").read_bytes()
        draw = np.random.default_rng(4)
        for place in draw.integers(0, len(whole), 150):
            damaged = bytearray(whole)
            damaged[place] ^= int(draw.integers(1, 256))
            (self.folder / "damaged.h5").write_bytes(damaged)
            done = self.quern("shard", "--images", "damaged.h5:/x", "--out", self.out, "--force")
            self.assertIn(done.returncode, (0, 2), f"byte {place} is {damaged[place]}: {done.stderr}")

    def test_cifar(self):
        pixels = RANDOM.integers(0, 256, (12, 3072)).astype(np.uint8)
        labels = RANDOM.integers(0, 10, (12, 1)).astype(np.uint8)
        ten = np.concatenate([labels, pixels], axis=1)
        (self.folder / "a.bin").write_bytes(ten[:5].tobytes())
        (self.folder / "b.bin").write_bytes(ten[5:].tobytes())
        found = self.sharded("--images", "a.bin", "b.bin", "--shards", 2, warnings=("have no sample",))
        np.testing.assert_array_equal(found["images"], pixels.reshape(12, 3, 32, 32))
        np.testing.assert_array_equal(found["labels"], labels[:, 0])
        self.assertEqual(self.attributes["classes"], 10)
        fine = RANDOM.integers(0, 100, (12, 1)).astype(np.uint8)
        (self.folder / "train.bin").write_bytes(np.concatenate([labels, fine, pixels], axis=1).tobytes())
        found = self.sharded("--images", "train.bin", warnings=("of 100 classes",))
        np.testing.assert_array_equal(found["labels"], fine[:, 0])
        self.assertEqual(self.attributes["classes"], 100)
        (self.folder / "cut.bin").write_bytes(ten.tobytes()[:-1])
        self.refused("truncated: record 11 has 3072 bytes", "--images", "cut.bin", "--from", "cifar10")
        ten[7, 0] = 10
        (self.folder / "bad.bin").write_bytes(ten.tobytes())
        self.refused("label 10 of record 7 is out of range", "--images", "bad.bin")
        self.refused("'train.bin' holds uint8 [12, 3, 32, 32] of 100 classes, expected samples like those of 'a.bin': "
                     "uint8 [5, 3, 32, 32] of 10 classes", "--images", "a.bin", "train.bin")
        self.refused("labels of its own", "--images", "a.bin", "--labels", self.labels)
        (self.folder / "pickle").write_bytes(pickle.dumps({"data": pixels}))  # CIFAR for Python
        self.refused("of no format that is known here", "--images", "pickle")

    def test_csv(self):
        text = 'id,"width, mm",height,kind\n1,0.5,-2,0\n2,1e3,+4,1\r\n3, .25 ,7,1\n\n'
        (self.folder / "t.csv").write_text(text)
        found = self.sharded("--images", "t.csv:2,height", "--labels", "t.csv:kind")
        np.testing.assert_array_equal(found["values"], np.float32([[0.5, -2], [1000, 4], [0.25, 7]]))
        np.testing.assert_array_equal(found["labels"], [0, 1, 1])
        found = self.sharded("--images", "t.csv:2-3", "--targets", "t.csv:4")
        np.testing.assert_array_equal(found["targets"], [[0], [1], [1]])
        (self.folder / "PLAIN.CSV").write_text("1,2\n3,4")
        np.testing.assert_array_equal(self.sharded("--images", "PLAIN.CSV")["values"], [[1, 2], [3, 4]])
        (self.folder / "plain.data").write_text("1,2\n3,4")
        self.refused("--from csv for a table of any ending", "--images", "plain.data")
        np.testing.assert_array_equal(self.sharded("--images", "plain.data", "--from", "csv")["values"], [[1, 2], [3, 4]])
        np.savetxt(self.folder / "spaced.txt", RANDOM.standard_normal((3, 4)))
        for columns in "", ":1-3":
            self.refused("the numbers of line 1 are separated by spaces, expected commas, semicolons or tabs "
                         '(numpy.savetxt: delimiter=",")', "--images", f"spaced.txt{columns}")
        (self.folder / "plain.tsv").write_text("1\t2\n3\t4")
        np.testing.assert_array_equal(self.sharded("--images", "plain.tsv")["values"], [[1, 2], [3, 4]])
        for bad, message in (("1,2\n3\n", "line 2 has 1 fields, expected 2"), ("1,2\n3,x\n", "'x' in line 2, column 2"),
                             ("1,2\n3,\n", "'' in line 2, column 2"), ("", "empty"), ("a,b\n", "without numbers"),
                             ("1,2\n\n3,4\n", "line 2 is empty"), ("1,nan\n", "'bad.csv': the values of sample 0 hold nan"),
                             ("1,1e99\n", "'1e99' in line 1, column 2")):
            (self.folder / "bad.csv").write_text(bad)
            self.refused(message, "--images", "bad.csv")
        self.refused("no column 'depth', expected numbers from 1 to 4 or names (id, width, mm", "--images", "t.csv:depth")
        self.refused("no column '3-9'", "--images", "t.csv:3-9")
        self.refused("'0.5' in line 2", "--images", "t.csv:1", "--labels", "t.csv:width, mm")
        self.refused("are no labels", "--images", "t.csv:2", "--labels", "t.csv:1,4")

    def test_answers_that_are_no_labels(self):
        np.save(self.folder / "x.npy", RANDOM.standard_normal((6, 3)).astype(np.float32))
        for answers, remedy in (
                (np.eye(3)[[0, 1, 2, 0, 1, 2]], "floats [6, 3] are no labels, expected whole numbers [n] (one-hot: in NumPy, "
                 "y.argmax(1); several yes and no for each sample: --targets, with loss.type = \"binary_cross_entropy\")"),
                (np.eye(3, dtype=int)[[0, 1, 2, 0, 1, 2]], "(one-hot: in NumPy, y.argmax(1); several"),
                (np.arange(6.0), "(they are whole: in NumPy, y.astype(int))"),
                (np.arange(6) / 2, "(numbers to be predicted: --targets)"),
                (np.arange(18).reshape(6, 3), "(numbers to be predicted: --targets)"),
                (np.zeros((6, 4, 4), int), "(a class for each pixel is not supported; a mask of 0 and 1 for each class: --targets "
                 "[n, classes, height, width], with")):
            np.save(self.folder / "y.npy", answers)
            self.refused(remedy, "--images", "x.npy", "--labels", "y.npy")

    def test_first_line_of_a_table(self):
        table = self.folder / "t.csv"
        table.write_text("NA,2,0\n3,4,1\n5,6,1\n")
        self.refused("'t.csv': 'NA' in line 1, column 1, beside the number '2' in column 2, expected numbers alone, "
                     "or names alone", "--images", "t.csv:1,2", "--labels", "t.csv:3")
        table.write_text("1,2,0\n3,4,1\n", encoding="utf-8-sig")
        found = self.sharded("--images", "t.csv:1,2", "--labels", "t.csv:3")
        np.testing.assert_array_equal(found["values"], [[1, 2], [3, 4]])
        table.write_text("a,1st,y\n1,2,0\n3,4,1\n", encoding="utf-8-sig")
        found = self.sharded("--images", "t.csv:a,1st", "--labels", "t.csv:y")
        np.testing.assert_array_equal(found["values"], [[1, 2], [3, 4]])

    def test_answers_among_the_inputs(self):
        (self.folder / "t.csv").write_text("a,y,b,c\n1,0,2,.5\n3,1,4,.5\n")
        (self.folder / "plain.csv").write_text("0\n1\n")
        (self.folder / "link.csv").symlink_to("t.csv")
        message = "'t.csv': column 2 ('y') is among the inputs and among the labels, expected inputs without it, as "
        self.refused(message + "--images t.csv:1,3-4", "--images", "t.csv", "--labels", "t.csv:y")
        self.refused(message + "--images t.csv:1,3", "--images", "t.csv:1-3", "--labels", "link.csv:2")
        self.refused("column 4 ('c') is among the inputs and among the targets", "--images", "t.csv:c,a", "--targets", "t.csv:c")
        self.refused("'t.csv': column 2 ('y')", "--images", "plain.csv", "t.csv:y", "--labels", self.folder / "t.csv:y")
        self.refused("'plain.csv': column 1 is among the inputs and among the labels, expected inputs of other columns",
                     "--images", "plain.csv", "--labels", "plain.csv")
        found = self.sharded("--images", "t.csv:1,3-4", "--labels", "t.csv:y")
        np.testing.assert_array_equal(found["values"], np.float32([[1, 2, .5], [3, 4, .5]]))
        found = self.sharded("--images", "t.csv", "--labels", "plain.csv")
        self.assertEqual(found["values"].shape, (2, 4))

    def test_messages_name_the_file(self):
        (self.folder / "t.csv").write_text("x,animal\n1,dog\n2,cat\n")
        self.refused("'t.csv': 'dog' in line 2, column 2, expected a whole number (number the classes from 0 on; a file with a "
                     "name in each line, for --class-names, keeps", "--images", "t.csv:1", "--labels", "t.csv:2")
        self.refused("'t.csv': 'dog' in line 2, column 2, expected a number\n", "--images", "t.csv")
        (self.folder / "t.csv").write_text("1,0.5\n")
        self.refused("'0.5' in line 1, column 2, expected a whole number\n", "--images", "t.csv:1", "--labels", "t.csv:2")
        (self.folder / "t.csv").write_text("1,0\n2,9\nnan,1\n")
        self.refused("'t.csv:2': label 9 of sample 1 is out of range", "--images", "t.csv:1", "--labels", "t.csv:2", "--classes", 3)
        self.refused("'t.csv:1': the values of sample 2 hold nan", "--images", "t.csv:1", "--labels", "t.csv:2")
        self.refused("'t.csv:1': the targets of sample 2 hold nan", "--images", "t.csv:2", "--targets", "t.csv:1")

    def test_channels_at_the_end(self):
        words = "'x.npy': samples [{}] look like [height, width, channels], but are taken as [channels, height, width]"
        for shape, warns in (((8, 7, 3), True), ((8, 7, 1), True), ((8, 7, 4), True), ((3, 8, 7), False),
                             ((8, 7, 2), False), ((1, 8, 3), False), ((3, 3, 3), False)):
            np.save(self.folder / "x.npy", RANDOM.integers(0, 256, (5, *shape)).astype(np.uint8))
            self.sharded("--images", "x.npy", warnings=(words.format(", ".join(map(str, shape))),) if warns else ())
        np.save(self.folder / "x.npy", RANDOM.integers(0, 256, (5, 30)).astype(np.uint8))
        self.sharded("--images", "x.npy", "--as-values")

    def test_shown(self):
        values = RANDOM.standard_normal((50, 2, 8, 8)).astype(np.float32) * [[[[3]], [[0.1]]]] + 1000
        targets = RANDOM.standard_normal((50, 3)).astype(np.float32)
        np.save(self.folder / "x.npy", values.astype(np.float32))
        np.save(self.folder / "t.npy", targets)
        self.sharded("--images", "x.npy", "--targets", "t.npy", "--shards", 4)
        shown = json.loads(self.shown("--json"))
        stored = values.astype(np.float32).astype(float)
        self.assertEqual((shown["samples"], shown["shards"], shown["target_shape"]), (50, 4, [3]))
        for key, statistic in (("mean", np.mean), ("std", np.std), ("min", np.min), ("max", np.max)):
            np.testing.assert_allclose([one[key] for one in shown["channels"]],
                                       [statistic(stored[:, c]) for c in range(2)], rtol=1e-9)
            np.testing.assert_allclose([one[key] for one in shown["targets"]],
                                       [statistic(targets.astype(float)[:, c]) for c in range(3)], rtol=1e-9)
        text = self.shown("--contact-sheet", self.folder / "sheet.png")
        self.assertRegex(text, r"toy train\nsamples +50 in 4 shards, .*\neach +float32 values \[2, 8, 8\] with float32 targets")
        self.assertRegex(text, r"\nchannel 1 +\S+ to \S+, mean (999|1000)")
        self.assertEqual(np.asarray(Image.open(self.folder / "sheet.png")).ndim, 2)
        name = self.written()[2]
        data = bytearray((self.out / name).read_bytes())
        data[len(data) // 2] ^= 1
        (self.out / name).write_bytes(data)
        done = self.quern("data", "show", self.out)
        self.assertIn(done.returncode, (2, 93), done)
        self.assertIn(name, done.stderr)
        np.save(self.folder / "flat.npy", targets)
        self.sharded("--images", "flat.npy", "--name", "toy")
        done = self.quern("data", "show", self.out, "--contact-sheet", self.folder / "no.png")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected images", done.stderr)
        self.assertFalse((self.folder / "no.png").exists())


if __name__ == "__main__":
    shard_files.main()
