# SPDX-License-Identifier: Apache-2.0
"""Folders of images, written by their own library, and single ones."""
import json
import os
import struct
import zlib

import h5py
import numpy as np
import shard_files
from PIL import Image
from format_case import FormatCase

RANDOM = np.random.default_rng(5)


def png_chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_of(width, height, bits, colour, interlace, chunks):
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace))
    return b"\x89PNG\r\n\x1a\n" + header + chunks + png_chunk(b"IEND", b"")


class ImagesTest(FormatCase):
    def image_folder(self, **classes):
        folder = self.folder / "images"
        for name, files in classes.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            for file, array in files.items():
                Image.fromarray(array).save(folder / name / file, **({"quality": 95} if "jp" in file else {}))
        return folder

    def test_folders_of_images(self):
        grey = RANDOM.integers(0, 256, (5, 4, 6)).astype(np.uint8)
        folder = self.image_folder(cat={"b.png": grey[1], "a.png": grey[0]}, dog={"c.PNG": grey[2]})
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
        warnings = (f"'{folder}': images of 16 bits were scaled to 8 bits (a .npy file of uint16 keeps them",
                    f"'{folder}': the transparency of images was left out")
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

    def test_colours_that_stand_for_transparent_pixels(self):
        """In place of a channel of its own: in greys, in colours, and in a palette."""
        grey = np.arange(24, dtype=np.uint8).reshape(4, 6)
        colour = Image.fromarray(np.dstack([grey, grey + 100, 255 - grey]))
        for name, image, transparent in (("grey", Image.fromarray(grey), 7), ("colour", colour, (7, 107, 248)),
                                           ("palette", colour.quantize(16), bytes([255, 255, 0]))):
            file = self.folder / f"{name}.png"
            image.save(file, transparency=transparent)
            left_out = f"'{file}': the transparency of images was left out; a pixel keeps the colour below it"
            found = self.sharded("--images", file, warnings=(left_out,))["images"]
            expected = np.asarray(image.convert("L" if name == "grey" else "RGB")).reshape(4, 6, -1)
            np.testing.assert_array_equal(found[0].transpose(1, 2, 0), expected, name)

    def test_folders_of_classes_one_folder_deeper(self):
        (self.folder / "nest/train/a").mkdir(parents=True)
        Image.fromarray(np.zeros((4, 6), np.uint8)).save(self.folder / "nest/train/a/1.png")
        self.refused("'nest/train/a' is a folder, expected images in the folder of a class (if the folders of the classes "
                     "are in 'nest/train': name that one with --images)", "--images", "nest")
        self.sharded("--images", "nest/train")

    def test_bad_folders_of_images(self):
        grey = RANDOM.integers(0, 256, (4, 6)).astype(np.uint8)
        folder = self.image_folder(a={"1.png": grey, "2.png": grey.T}, b={"3.png": grey})
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
        self.refused("notes.txt' is no image", "--images", folder)
        (folder / "a/notes.txt").unlink()
        (folder / "list.txt").write_text("x")
        self.refused("stands beside folders of classes", "--images", folder)
        self.refused("--sha256 is of one file of samples, not of images", "--images", folder, "--sha256", "0" * 64)
        (self.folder / "empty").mkdir()
        self.refused("is empty", "--images", self.folder / "empty")
        (self.folder / "empty/a").mkdir()
        self.refused("holds no images", "--images", self.folder / "empty")

    def test_grey_images_among_colours(self):
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
                for name, image in zip(names, pixels):
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    Image.fromarray(image).save(folder / name)
                expected = np.stack([np.broadcast_to(p.reshape(16, 24, -1), (16, 24, 3)) for p in pixels]).transpose(0, 3, 1, 2)
                files = [folder / name for name in names]
                for images in ([folder], files, [folder, folder]):
                    found = self.sharded("--images", *images)["images"]
                    wanted = np.concatenate([expected] * (2 if images == [folder, folder] else 1))
                    np.testing.assert_allclose(found.astype(int), wanted, atol=4 if kept else 0)
                for images in (files[:1], files[1:2], files[2:]):
                    found = self.sharded("--images", *images)["images"]
                    self.assertEqual(found.shape[1], 3 if images[0] == files[place] else 1)

    def test_opaque_images_lose_nothing(self):
        pixels = RANDOM.integers(0, 256, (4, 6, 4)).astype(np.uint8)
        pixels[..., 3] = 255
        found = self.sharded("--images", self.image_folder(a={"1.png": pixels}))
        np.testing.assert_array_equal(found["images"][0], pixels[..., :3].transpose(2, 0, 1))

    def test_images_without_classes(self):
        grey = RANDOM.integers(0, 256, (3, 4, 6)).astype(np.uint8)
        folder = self.image_folder(flat={"b.png": grey[1], "a.png": grey[0]}) / "flat"
        np.save(self.folder / "y.npy", np.array([3, 1]))
        found = self.sharded("--images", folder)
        self.assertEqual(set(found), {"images"})
        np.testing.assert_array_equal(found["images"][:, 0], grey[:2])
        found = self.sharded("--images", folder / "b.png", folder / "a.png", "--labels", "y.npy",
                             warnings=("of 4 classes 2 have no sample: 0, 2",))
        np.testing.assert_array_equal(found["images"][:, 0], grey[[1, 0]])
        np.testing.assert_array_equal(found["labels"], [3, 1])
        (folder / "notes.txt").write_text("x")
        self.refused("notes.txt' is no image", "--images", folder)

    def flat(self, name, *files, values=None):
        """A folder of grey images, each of one value."""
        (self.folder / name).mkdir()
        for number, file in enumerate(files):
            Image.fromarray(np.full((4, 6), number if values is None else values[number], np.uint8)).save(self.folder / name / file)
        return self.folder / name

    def test_images_and_masks_are_pairs(self):
        images = self.flat("images", *(f"img_{i:03}.png" for i in range(6)))
        for name, files in (("same", [f"img_{i:03}.png" for i in range(6)]), ("end", [f"img_{i:03}_mask.png" for i in range(6)]),
                            ("begin", [f"mask_{i:03}.png" for i in range(6)])):
            masks = self.flat(name, *files, values=[0, 255] * 3)
            done = self.quern("shard", "--images", images, "--targets", masks, "--out", self.out, "--force")
            self.assertEqual(done.returncode, 0, done)
        lost = self.flat("lost", *(f"{i:03}_mask.png" for i in (0, 1, 2, 4, 5, 999)))
        self.refused(f"'{images}/img_003.png' would be paired with '{lost}/004_mask.png': images and their targets are paired in "
                     "the order of their names, expected the same name for both", "--images", images, "--targets", lost)
        less = self.flat("less", *(f"{i:03}_mask.png" for i in (0, 1, 2, 4, 5)))
        self.refused(f"'{images}/img_003.png' would be paired with '{less}/004_mask.png'", "--images", images, "--targets", less)
        less = self.flat("end_less", *(f"{i:03}_mask.png" for i in range(5)))
        self.refused(f"'{images}' holds 6 images, but '{less}' holds targets of 5", "--images", images, "--targets", less)
        lost = self.flat("first", *(f"img_{i:03}.png" for i in (1, 2, 3, 4, 5, 6)))
        self.refused(f"'{images}/img_000.png' would be paired with '{lost}/img_001.png'", "--images", images, "--targets", lost)
        other = self.flat("other", *"ABCDEF.png AC.png AD.png AE.png AF.png AG.png".split())
        self.refused(f"'{images}/img_000.png' would be paired with '{other}/ABCDEF.png'", "--images", images, "--targets", other)

    def test_names_in_the_order_of_texts(self):
        images = self.flat("images", *(f"img_{i}.png" for i in range(12)))
        np.save(self.folder / "y.npy", np.arange(12))
        expected = f"'{images}': images are taken in the order of their names as texts, 'img_11.png' before 'img_2.png'"
        found = self.sharded("--images", images, "--labels", "y.npy", warnings=(expected,))
        self.assertEqual(found["images"][2, 0, 0, 0], 10)
        self.sharded("--images", images)
        np.save(self.folder / "y.npy", np.arange(3))
        self.sharded("--images", self.flat("padded", "img_01.png", "img_2.png", "img_10x.png"), "--labels", "y.npy",
                     warnings=("'img_10x.png' before 'img_2.png'",))
        self.sharded("--images", self.flat("good", "img_01.png", "img_02_1.png", "img_10.png"), "--labels", "y.npy")

    def test_masks_are_divided_by_255_as_images_are(self):
        names = [f"{i}.png" for i in range(4)]
        images = self.flat("images", *names)
        for name, values, stored, says in (
                ("bytes", [0, 255, 128, 255], [0, 1, 128 / 255, 1], "quern: '{}': the images' bytes are divided by 255"),
                ("bits", [0, 1, 1, 0], [0, 1, 1, 0], ""),
                ("classes", [0, 1, 3, 2], [0, 1 / 255, 3 / 255, 2 / 255], "warning: '{}': images whose largest value is 3 were divided")):
            masks = self.flat(name, *names, values=values)
            done = self.quern("shard", "--images", images, "--targets", masks, "--out", self.out, "--force")
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual((says.format(masks) in done.stderr, done.stderr == ""), (True, says == ""), done)
            with h5py.File(self.out / self.written()[0]) as file:
                np.testing.assert_array_equal(file["targets"][()][:, 0, 0, 0], np.float32(stored))

    def test_a_class_without_images(self):
        """So that a held-out set has the classes of the training set."""
        grey = RANDOM.integers(0, 256, (2, 4, 6)).astype(np.uint8)
        folder = self.image_folder(cat={}, dog={"1.png": grey[0], "2.png": grey[1]})
        empty = f"'{folder / 'cat'}' holds no images: no sample is of this class"
        found = self.sharded("--images", folder, warnings=(empty,))
        np.testing.assert_array_equal(found["labels"], [1, 1])
        train, self.out = self.out, self.folder / "test"
        self.sharded("--images", folder, "--split", "test")
        self.assertEqual((self.attributes["class_names"], self.attributes["classes"]), ("cat\ndog", 2))
        self.out = train
        (folder / "ant").mkdir()
        self.sharded("--images", folder, warnings=(f"'{folder / 'ant'}' holds no images: no sample is of this class",))
        (folder / "ant").rmdir()
        (folder / "cat").rmdir()
        self.refused("--classes 2, but '" + str(folder) + "' has folders for 1 (of 'dog'), expected a folder for each "
                     "class, which may be empty", "--images", folder, "--classes", 2)

    def test_names_touch_no_terminal(self):
        grey = RANDOM.integers(0, 256, (2, 4, 6)).astype(np.uint8)
        folder = self.image_folder(**{"a\x1b[2J": {"1.png": grey[0]}, "b": {"2.png": grey[1]}})
        self.sharded("--images", folder)
        self.assertEqual(self.attributes["class_names"], "a\x1b[2J\nb")
        self.assertRegex(self.shown(), r" 0 +1  50\.00 %  a\\x1b\[2J\n")
        self.assertEqual(json.loads(self.shown("--json"))["class_names"], ["a\x1b[2J", "b"])
        self.refused("(of 'a\\x1b[2J', 'b')", "--images", folder, "--classes", 3)
        self.refused("no file '\\x1b[2J'", "--images", "\x1b[2J")

    def test_names_of_classes_are_utf8(self):
        grey = RANDOM.integers(0, 256, (2, 4, 6)).astype(np.uint8)
        folder = self.image_folder(**{"grün": {"1.png": grey[0]}, os.fsdecode(b"caf\xe9"): {"2.png": grey[1]}})
        self.refused("'caf\\xe9' is no name for a class, expected one line of UTF-8", "--images", folder)
        (folder / os.fsdecode(b"caf\xe9")).rename(folder / "café")
        self.sharded("--images", folder)
        self.assertEqual(self.attributes["class_names"], "café\ngrün")
        with h5py.File(self.out / self.written()[0], "r+") as file:  # as earlier programs wrote it
            file.attrs.create("class_names", b"caf\xe9\ngr\xc3\xbcn", dtype=h5py.string_dtype("utf-8"))
        self.assertEqual(json.loads(self.shown("--json"))["class_names"], ["caf\\xe9", "grün"])
        self.assertIn("%  caf\\xe9\n", self.shown())


if __name__ == "__main__":
    shard_files.main()
