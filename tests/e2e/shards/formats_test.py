# SPDX-License-Identifier: Apache-2.0
"""Every format that quern shard reads, written by its own library, and what quern data show says of it."""
import json
import os
import pickle
import struct
import subprocess
import unittest
import zlib

import h5py
import numpy as np
import shard_files
from PIL import Image

RANDOM = np.random.default_rng(5)


def png_chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_of(width, height, bits, colour, interlace, chunks):
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace))
    return b"\x89PNG\r\n\x1a\n" + header + chunks + png_chunk(b"IEND", b"")


class FormatsTest(shard_files.ShardTest):
    def quern(self, *arguments):
        command = [shard_files.PROGRAM, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)

    def sharded(self, *options, warnings=()):
        """The arrays of the shards. `warnings`: what each of them says."""
        done = self.quern("shard", *options, "--out", self.out, "--force")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (0, len(warnings)), done)
        for line, words in zip(done.stderr.splitlines(), warnings):
            self.assertTrue(line.startswith("quern: warning: "), line)
            self.assertIn(words, line)
        self.said = done.stdout
        arrays = {}
        for name in self.written():
            with h5py.File(self.out / name) as file:
                for key in set(file) - {"blocks"}:
                    arrays.setdefault(key, []).append(file[key][()])
                self.attributes = dict(file.attrs)
        return {key: np.concatenate(parts) for key, parts in arrays.items()}

    def shown(self, *options):
        done = self.quern("data", "show", self.out, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refused(self, message, *options):
        done = self.quern("shard", *options, "--out", self.folder / "new")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("error:"), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.folder / "new").exists())

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
        """Of no pictures: features of 0 and 1, of whole numbers."""
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
                              ([0, 2, 9, 9], "of 10 classes 7 have no sample: 1, 3 to 8"), ([0, 1, 1, 0], None)):
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

    def pictures(self, **classes):
        folder = self.folder / "pictures"
        for name, files in classes.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            for file, array in files.items():
                Image.fromarray(array).save(folder / name / file, **({"quality": 95} if "jp" in file else {}))
        return folder

    def test_folders_of_pictures(self):
        grey = RANDOM.integers(0, 256, (5, 4, 6)).astype(np.uint8)
        folder = self.pictures(cat={"b.png": grey[1], "a.png": grey[0]}, dog={"c.PNG": grey[2]})
        (folder / "cat" / ".hidden").write_text("x")
        found = self.sharded("--images", folder)
        np.testing.assert_array_equal(found["images"], grey[:3, None])
        np.testing.assert_array_equal(found["labels"], [0, 0, 1])
        self.assertEqual(self.attributes["class_names"], "cat\ndog")
        self.assertEqual(self.attributes["format_version"], 1)
        shown = json.loads(self.shown("--json"))
        self.assertEqual((shown["class_names"], shown["class_counts"]), (["cat", "dog"], [2, 1]))
        self.assertRegex(self.shown(), r" 0 +2  66\.67 %  cat\n")

        colour = RANDOM.integers(0, 256, (3, 16, 16, 3)).astype(np.uint8)
        smooth = np.broadcast_to(np.arange(0, 160, 10)[:, None, None], (16, 16, 3)).astype(np.uint8)
        alpha = np.concatenate([colour[1], np.full((16, 16, 1), 77, np.uint8)], axis=2)
        folder = self.folder / "colour"
        for name in "xy":
            (folder / name).mkdir(parents=True)
        Image.fromarray(colour[0]).save(folder / "x/1.png")
        Image.fromarray(alpha).save(folder / "x/2.png")
        Image.fromarray(colour[2]).quantize(16).save(folder / "x/3.png")
        Image.fromarray(smooth).save(folder / "x/4.jpg", quality=95)
        Image.fromarray(smooth[:, :, 0]).save(folder / "y/5.jpeg", quality=95)
        Image.fromarray(colour[0, :, :, 0].astype(np.uint16) * 257).save(folder / "y/6.png")
        warnings = (f"'{folder}': pictures of 16 bits were scaled to 8 bits (a .npy file of uint16 keeps them",
                    f"'{folder}': the transparency of pictures was left out")
        found = self.sharded("--images", folder, warnings=warnings)["images"].transpose(0, 2, 3, 1)
        palette = np.asarray(Image.open(folder / "x/3.png").convert("RGB"))
        for index, expected in enumerate((colour[0], colour[1], palette)):
            np.testing.assert_array_equal(found[index], expected)
        for index in (3, 4):
            np.testing.assert_allclose(found[index].astype(int), smooth, atol=3)
        np.testing.assert_array_equal(found[5], np.repeat(colour[0, :, :, :1], 3, axis=2))
        sheet = self.folder / "sheet.png"
        self.shown("--contact-sheet", sheet)
        self.assertEqual(np.asarray(Image.open(sheet)).shape, (2 * 34 + 2, 4 * 34 + 2, 3))
        np.testing.assert_array_equal(np.asarray(Image.open(sheet))[2:34:2, 2:34:2], colour[0])

    def test_pixels_of_png_files_are_those_that_are_stored(self):
        """Whatever a file says of gamma and colours, and in whatever order and how many bits it has them."""
        grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
        colour = np.dstack([grey, grey.T, 255 - grey])
        gamma = png_chunk(b"gAMA", struct.pack(">I", 55556))
        colours = png_chunk(b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000))
        folder = self.folder / "png"
        folder.mkdir()
        for number, (pixels, extra) in enumerate(((colour, gamma), (colour, gamma + colours), (grey, gamma), (grey, b""))):
            file = folder / f"{number}.png"
            Image.fromarray(pixels).save(file)
            content = file.read_bytes()
            file.write_bytes(content[:33] + extra + content[33:])  # behind the header
        rows = zlib.compress(b"".join(b"\0" + bytes([0xa5, 0x0f]) for _ in range(16)))
        (folder / "4.png").write_bytes(png_of(16, 16, 1, 0, 0, gamma + png_chunk(b"IDAT", rows)))
        interlaced = b"".join(b"\0" + grey[y::height, x::width][row].tobytes()
                              for x, y, width, height in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
                                                          (1, 0, 2, 2), (0, 1, 1, 2)) for row in range(len(grey[y::height])))
        (folder / "5.png").write_bytes(png_of(16, 16, 8, 0, 1, gamma + png_chunk(b"IDAT", zlib.compress(interlaced))))
        found = self.sharded("--images", folder)["images"].transpose(0, 2, 3, 1)
        as_colour = np.repeat(grey[:, :, None], 3, axis=2)
        bits = np.broadcast_to(np.unpackbits(np.uint8([0xa5, 0x0f]))[None, :, None] * 255, (16, 16, 3))
        for index, expected in enumerate((colour, colour, as_colour, as_colour, bits, as_colour)):
            np.testing.assert_array_equal(found[index], expected, str(index))

    def test_folders_of_classes_one_folder_deeper(self):
        (self.folder / "nest/train/a").mkdir(parents=True)
        Image.fromarray(np.zeros((4, 6), np.uint8)).save(self.folder / "nest/train/a/1.png")
        self.refused("'nest/train/a' is a folder, expected pictures in the folder of a class (if the folders of the classes "
                     "are in 'nest/train': name that one with --images)", "--images", "nest")
        self.sharded("--images", "nest/train")

    def test_bad_folders_of_pictures(self):
        grey = RANDOM.integers(0, 256, (4, 6)).astype(np.uint8)
        folder = self.pictures(a={"1.png": grey, "2.png": grey.T}, b={"3.png": grey})
        self.refused("2.png' has 4 x 6 pixels, expected 6 x 4 pixels as '", "--images", folder)
        Image.fromarray(np.dstack([grey] * 3)).save(folder / "a/1.png")
        self.refused("2.png' has 4 x 6 pixels, expected 6 x 4 pixels as '", "--images", folder)
        self.refused("2.png' has 4 x 6 pixels, expected 6 x 4 pixels as '", "--images", folder / "a/1.png", folder / "a/2.png")
        whole = (folder / "a/1.png").read_bytes()
        for bad, message in ((whole[:-5], "does not end with IEND"), (whole[:40] + b"x" + whole[41:], "no whole PNG file"),
                             (b"GIF89a", "neither a PNG nor a JPEG file"), (b"", "neither a PNG")):
            (folder / "a/2.png").write_bytes(bad)
            self.refused(message, "--images", folder)
        Image.fromarray(grey).save(folder / "a/2.png", "JPEG")
        jpeg = (folder / "a/2.png").read_bytes()
        (folder / "a/2.png").write_bytes(jpeg[:-40])
        self.refused("no whole JPEG file", "--images", folder)
        Image.new("CMYK", (6, 4)).save(folder / "a/2.png", "JPEG")
        self.refused("2.png' has the four colours of print (CMYK)", "--images", folder)
        (folder / "a/2.png").unlink()
        (folder / "a/notes.txt").write_text("x")
        self.refused("notes.txt' is no picture", "--images", folder)
        (folder / "a/notes.txt").unlink()
        (folder / "list.txt").write_text("x")
        self.refused("stands beside folders of classes", "--images", folder)
        self.refused("--sha256 is of one file of samples, not of pictures", "--images", folder, "--sha256", "0" * 64)
        (self.folder / "empty").mkdir()
        self.refused("is empty", "--images", self.folder / "empty")
        (self.folder / "empty/a").mkdir()
        self.refused("holds no pictures", "--images", self.folder / "empty")

    def test_grey_pictures_among_colours(self):
        """All have colours where one has, whichever comes first; without, all are grey."""
        grey = RANDOM.integers(0, 256, (4, 16, 24)).astype(np.uint8)
        colour = np.stack([grey, 255 - grey, grey // 2], axis=3)
        for ending, kept in (("png", 0), ("jpg", 60)):  # a lossy format
            smooth = np.broadcast_to(np.arange(0, 160, 10)[:, None, None], (16, 24, 3)).astype(np.uint8)
            one = smooth if kept else colour[3]
            names = [f"a/1.{ending}", f"a/2.{ending}", f"b/3.{ending}"]
            for place in range(3):
                folder = self.folder / f"{ending}{place}"
                pixels = [one[:, :, 0] if kept else grey[i] for i in range(3)]
                pixels[place] = one
                for name, picture in zip(names, pixels):
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    Image.fromarray(picture).save(folder / name)
                expected = np.stack([np.broadcast_to(p.reshape(16, 24, -1), (16, 24, 3)) for p in pixels]).transpose(0, 3, 1, 2)
                files = [folder / name for name in names]
                for images in ([folder], files, [folder, folder]):
                    found = self.sharded("--images", *images)["images"]
                    wanted = np.concatenate([expected] * (2 if images == [folder, folder] else 1))
                    np.testing.assert_allclose(found.astype(int), wanted, atol=4 if kept else 0)
                for images in (files[:1], files[1:2], files[2:]):
                    found = self.sharded("--images", *images)["images"]
                    self.assertEqual(found.shape[1], 3 if images[0] == files[place] else 1)

    def test_opaque_pictures_lose_nothing(self):
        pixels = RANDOM.integers(0, 256, (4, 6, 4)).astype(np.uint8)
        pixels[..., 3] = 255
        found = self.sharded("--images", self.pictures(a={"1.png": pixels}))
        np.testing.assert_array_equal(found["images"][0], pixels[..., :3].transpose(2, 0, 1))

    def test_pictures_without_classes(self):
        grey = RANDOM.integers(0, 256, (3, 4, 6)).astype(np.uint8)
        folder = self.pictures(flat={"b.png": grey[1], "a.png": grey[0]}) / "flat"
        np.save(self.folder / "y.npy", np.array([3, 1]))
        found = self.sharded("--images", folder)
        self.assertEqual(set(found), {"images"})
        np.testing.assert_array_equal(found["images"][:, 0], grey[:2])
        found = self.sharded("--images", folder / "b.png", folder / "a.png", "--labels", "y.npy",
                             warnings=("of 4 classes 2 have no sample: 0, 2",))
        np.testing.assert_array_equal(found["images"][:, 0], grey[[1, 0]])
        np.testing.assert_array_equal(found["labels"], [3, 1])
        (folder / "notes.txt").write_text("x")
        self.refused("notes.txt' is no picture", "--images", folder)

    def test_channels_at_the_end(self):
        words = "'x.npy': samples [{}] look like [height, width, channels], but are taken as [channels, height, width]"
        for shape, warns in (((8, 7, 3), True), ((8, 7, 1), True), ((8, 7, 4), True), ((3, 8, 7), False),
                             ((8, 7, 2), False), ((1, 8, 3), False), ((3, 3, 3), False)):
            np.save(self.folder / "x.npy", RANDOM.integers(0, 256, (5, *shape)).astype(np.uint8))
            self.sharded("--images", "x.npy", warnings=(words.format(", ".join(map(str, shape))),) if warns else ())
        np.save(self.folder / "x.npy", RANDOM.integers(0, 256, (5, 30)).astype(np.uint8))
        self.sharded("--images", "x.npy", "--as-values")

    def test_a_class_without_pictures(self):
        """So that a held-out set has the classes of the training set."""
        grey = RANDOM.integers(0, 256, (2, 4, 6)).astype(np.uint8)
        folder = self.pictures(cat={}, dog={"1.png": grey[0], "2.png": grey[1]})
        empty = f"'{folder / 'cat'}' holds no pictures: no sample is of this class"
        found = self.sharded("--images", folder, warnings=(empty,))
        np.testing.assert_array_equal(found["labels"], [1, 1])
        self.out = self.folder / "test"
        self.sharded("--images", folder, "--split", "test")
        self.assertEqual((self.attributes["class_names"], self.attributes["classes"]), ("cat\ndog", 2))
        (folder / "cat").rmdir()
        self.refused("--classes 2, but '" + str(folder) + "' has folders for 1 (of 'dog'), expected a folder for each "
                     "class, which may be empty", "--images", folder, "--classes", 2)

    def test_names_touch_no_terminal(self):
        grey = RANDOM.integers(0, 256, (2, 4, 6)).astype(np.uint8)
        folder = self.pictures(**{"a\x1b[2J": {"1.png": grey[0]}, "b": {"2.png": grey[1]}})
        self.sharded("--images", folder)
        self.assertEqual(self.attributes["class_names"], "a\x1b[2J\nb")
        self.assertRegex(self.shown(), r" 0 +1  50\.00 %  a\\x1b\[2J\n")
        self.assertEqual(json.loads(self.shown("--json"))["class_names"], ["a\x1b[2J", "b"])
        self.refused("(of 'a\\x1b[2J', 'b')", "--images", folder, "--classes", 3)
        self.refused("no file '\\x1b[2J'", "--images", "\x1b[2J")

    def test_names_of_classes_are_utf8(self):
        grey = RANDOM.integers(0, 256, (2, 4, 6)).astype(np.uint8)
        folder = self.pictures(**{"grün": {"1.png": grey[0]}, os.fsdecode(b"caf\xe9"): {"2.png": grey[1]}})
        self.refused("'caf\\xe9' is no name for a class, expected one line of UTF-8", "--images", folder)
        (folder / os.fsdecode(b"caf\xe9")).rename(folder / "café")
        self.sharded("--images", folder)
        self.assertEqual(self.attributes["class_names"], "café\ngrün")
        with h5py.File(self.out / self.written()[0], "r+") as file:  # as earlier programs wrote it
            file.attrs.create("class_names", b"caf\xe9\ngr\xc3\xbcn", dtype=h5py.string_dtype("utf-8"))
        self.assertEqual(json.loads(self.shown("--json"))["class_names"], ["caf\\xe9", "grün"])
        self.assertIn("%  caf\\xe9\n", self.shown())

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
