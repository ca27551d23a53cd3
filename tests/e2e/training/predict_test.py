# SPDX-License-Identifier: Apache-2.0
"""What quern predict and quern evaluate refuse, and what predict prints of images."""
import csv
import json
import resource
import shutil

import h5py
import idx
import numpy as np
import refusal
import training
from class_names import name_classes, names_of
from PIL import Image
from training import checkpoint_file


class PredictTest(refusal.RefusalTest):
    def test_numbers_that_are_not_finite(self):
        """As quern shard: no network has an answer to them."""
        self.train("mlp", "run", "train.epochs=1")
        values = np.random.default_rng(2).random((7, 12, 12)).astype(np.float32)
        np.save(self.folder / "good.npy", values)
        done = self.quern("predict", "run", "--images", "good.npy")
        self.assertEqual((done.code, len(done.out.splitlines())), (0, 8), done)
        for bad in ("nan", "inf or a number too large for float32"):
            values[5, 3, 4] = float(bad.split()[0])
            np.save(self.folder / "bad.npy", values)
            self.refused(["predict", "run", "--images", "bad.npy"],
                         f"'bad.npy': the values of sample 5 hold {bad}, expected finite float32 numbers")

    def test_probabilities_of_all_classes(self):
        self.train("mlp", "run", "train.epochs=1", "loss.label_smoothing=0.1")
        plain = list(csv.reader(self.quern("predict", "run", "--data", "test").out.splitlines()))
        losses = []
        for ranks in (0, 2, 3):
            done = self.quern("predict", "run", "--data", "test", "--probabilities", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            table = list(csv.reader(done.out.splitlines()))
            self.assertEqual([row[:len(plain[0])] for row in table], plain)
            self.assertEqual(table[0][len(plain[0]):], [f"probability{v}" for v in range(10)])
            numbers = np.array([row[len(plain[0]):] for row in table[1:]], np.float32)
            np.testing.assert_allclose(numbers.sum(axis=1), 1, atol=1e-6)
            for name in ("all.npy", "all.h5"):
                done = self.quern("predict", "run", "--data", "test", "--out", name, ranks=ranks)
                self.assertEqual((set(done.codes), done.out), ({0}, ""), done)
                if name == "all.npy":
                    array = np.load(self.folder / name)
                else:
                    with h5py.File(self.folder / name) as file:
                        self.assertEqual(file.attrs["format"], "quern-predictions")
                        array = file["probabilities"][()]
                self.assertEqual((array.shape, array.dtype), ((151, 10), np.float32))
                self.assertEqual(array.tobytes(), numbers.tobytes())
                (self.folder / name).unlink()
            for row, probabilities in zip(table[1:], numbers.astype(float)):
                self.assertEqual(int(row[1]), probabilities.argmax())
                self.assertEqual(np.float32(row[3]), np.float32(probabilities.max()))
                logs = np.log(probabilities)
                losses.append(float(row[4]))
                self.assertAlmostEqual(losses[-1], -0.9 * logs[int(row[2])] - 0.1 * logs.mean(), places=4)
        done = self.quern("evaluate", "run", "--data", "test", "--json")
        self.assertAlmostEqual(json.loads(done.out)["loss"], np.mean(losses), places=5)

    def test_an_array_appears_only_when_it_is_complete(self):
        self.train("mlp", "run", "train.epochs=1")
        values = np.random.default_rng(2).random((7, 12, 12)).astype(np.float32)
        np.save(self.folder / "good.npy", values)
        values[6, 3, 4] = np.nan
        np.save(self.folder / "bad.npy", values)
        before = sorted(self.folder.iterdir())
        for name in ("out.npy", "out.h5"):
            self.refused(["predict", "run", "--images", "bad.npy", "--out", name], "sample 6 hold nan")
            self.refused(["predict", "run", "--images", "good.npy", "--out", f"missing/{name}"], "No such file")
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_endings_of_other_formats(self):
        """Each promises what is not written."""
        self.train("mlp", "run", "train.epochs=1")
        before = sorted(self.folder.iterdir())
        for name in ("out.json", "out.npz", "out.pt", "out.v2", "folder.csv/out.json"):
            self.refused(["predict", "run", "--data", "test", "--out", name],
                         f"'{name}' ends in .{name.split('.')[-1]}, which is no format of predictions (expected .csv or no ending")
        self.assertEqual(sorted(self.folder.iterdir()), before)
        for name, start in (("out.csv", b"index,"), ("OUT.CSV", b"index,"), ("out", b"index,"), ("OUT.NPY", b"\x93NUMPY"),
                            ("out.HDF5", b"\x89HDF")):
            done = self.quern("predict", "run", "--data", "test", "--out", name)
            self.assertEqual((done.code, (self.folder / name).read_bytes()[:len(start)]), (0, start), done)

    def test_a_batch_larger_than_the_set(self):
        """It takes no more memory than one of all samples."""
        self.write_recipe("wide", training.RECIPE, training.MLP_LAYERS.replace("19", "1024"))
        self.train("wide", "run", "train.epochs=1")
        np.save(self.folder / "few.npy", np.random.default_rng(3).random((7, 12, 12)).astype(np.float32))
        expected = self.quern("predict", "run", "--images", "few.npy").out
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, before[1]))  # a million rows would take 4 GB
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, before)
        done = self.quern("predict", "run", "--images", "few.npy", "--batch", 1 << 20)
        self.assertEqual((done.code, done.out), (0, expected), done)

    def test_classes_of_other_names(self):
        self.own_data()
        for split in ("train", "test"):
            name_classes(self.folder / split, "abcdefghij")
        self.train("mlp", "run", "train.epochs=1")
        self.assertEqual(names_of(checkpoint_file(self.folder / "run", 13)), list("abcdefghij"))
        for command in ("evaluate", "predict"):
            done = self.quern(command, "run", "--data", "test", ranks=2)
            self.assertEqual(set(done.codes), {0}, done)
        name_classes(self.folder / "test", "abcedfghij")
        for command in ("evaluate", "predict"):
            self.refused([command, "run", "--data", "test"], "the classes of the two sets differ: class 3 is 'd' in the "
                         "training data and 'e' in 'test'")
        shutil.rmtree(self.folder / "test")
        shutil.copytree(training.data_folder() / "test", self.folder / "test")  # without names
        self.assertEqual(self.quern("evaluate", "run", "--data", "test").code, 0)

    def test_bytes_after_values_and_the_other_way_round(self):
        """A network that was trained on the one seldom knows the other."""
        self.train("mlp", "run", "train.epochs=1")
        chance = np.random.default_rng(2)
        np.save(self.folder / "bytes.npy", chance.integers(0, 256, (4, 12, 12), np.uint8))
        np.save(self.folder / "values.npy", chance.random((4, 12, 12), np.float32))
        np.save(self.folder / "labels.npy", np.arange(4))
        for kind in ("bytes", "values"):
            for split in ("train", "test"):
                self.quern("shard", "--images", f"{kind}.npy", "--labels", "labels.npy", "--classes", 10, "--split", split,
                           "--out", f"{kind}-{split}")
        warning = "warning: the network was trained on bytes, which it read divided by 255, but 'values"
        for command in (["evaluate", "run", "--data", "{}-test"], ["predict", "run", "--data", "{}-test"],
                        ["predict", "run", "--images", "{}.npy"],
                        ["train", "mlp.toml", "--run-dir", "other", "--set", "train.epochs=1", "--set", "data.test={}-test"]):
            for kind, count in (("bytes", 0), ("values", 1)):
                done = self.quern(*(word.format(kind) for word in command))
                self.assertEqual((done.code, done.err.count(warning)), (0, count), done)
        self.train("mlp", "values", "train.epochs=1", "data.train=values-train", "data.test=values-test")
        done = self.quern("predict", "values", "--images", "bytes.npy")
        self.assertIn("was trained on values, which it read as they are, but 'bytes.npy' holds bytes", done.err)
        done = self.quern("predict", "values", "--images", "bytes.npy", "--as-values")
        self.assertEqual((done.code, done.err), (0, ""), done)
        self.refused(["predict", "values", "--data", "values-test", "--as-values"], "--as-values is of files")
        init = f'network.init={{type="checkpoint", file="{self.folder / "run"}"}}'
        sets = ("train.epochs=1", "data.train=values-train", "data.test=values-test")
        self.assertEqual(self.train("mlp", "begun", init, *sets).err.count(warning), 1)
        self.quern("import", "run", "--recipe", "mlp.toml", "--out", "start.h5")
        done = self.quern(*self.train_arguments("mlp", "resumed", sets), "--resume", "start.h5")
        self.assertEqual((done.code, done.err.count(warning)), (0, 1), done)

    def test_names_change_no_hash(self):
        self.train("mlp", "run", "train.epochs=1")
        self.assertIsNone(names_of(checkpoint_file(self.folder / "run", 13)))
        self.own_data()
        name_classes(self.folder / "train", "abcdefghij")
        self.train("mlp", "named", "train.epochs=1")
        self.assertEqual(self.hash("named"), self.hash("run"))
        self.assertEqual(self.quern("checkpoint", "verify", "named").code, 0)
        self.train("mlp", "named", "train.epochs=2")

    def test_images_without_labels(self):
        self.own_data()
        names = ["a,b", 'c"', *"defghijk"]
        name_classes(self.folder / "train", names)
        self.train("mlp", "run", "train.epochs=1", "data.test=\"\"")
        images, _ = idx.blobs(5, seed=11)
        (self.folder / "images").write_bytes(idx.to_bytes(images))
        (self.folder / "flat").mkdir()
        for number, image in enumerate(images):
            Image.fromarray(image.reshape(12, 12)).save(self.folder / f"flat/{number}.png")
        for ranks in (0, 2):
            done = self.quern("predict", "run", "--images", "images", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            plain = list(csv.reader(done.out.splitlines()))
            self.assertEqual(plain[0], ["index", "class", "probability", "class_name"])
            for index, row in enumerate(plain[1:]):
                self.assertEqual((row[0], row[3]), (str(index), names[int(row[1])]))
                self.assertTrue(0.1 <= float(row[2]) <= 1)
            done = self.quern("predict", "run", "--images", "flat", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            table = list(csv.reader(done.out.splitlines()))
            self.assertEqual(table[0], ["index", "class", "probability", "file", "class_name"])
            self.assertEqual([row[:3] + row[4:] for row in table], plain)
            self.assertEqual([row[3] for row in table[1:]], [f"flat/{number}.png" for number in range(5)])
        done = self.quern("predict", "run", "--images", "flat/3.png")
        self.assertEqual(list(csv.reader(done.out.splitlines()))[1], ["0", *table[4][1:]], done)
        done = self.quern("predict", "run", "--images", "flat/3.png", "flat/1.png")
        self.assertEqual([row[3] for row in csv.reader(done.out.splitlines())], ["file", "flat/3.png", "flat/1.png"], done)
        done = self.quern("predict", "run", "--data", "test")
        self.assertEqual(done.out.splitlines()[0], "index,class,label,probability,loss,class_name", done)

    def test_grey_images_of_a_network_of_colours(self):
        """They have three equal channels, alone as among others."""
        chance = np.random.default_rng(2)
        grey = chance.integers(0, 256, (3, 8, 6), np.uint8)
        (self.folder / "mixed").mkdir()
        for number in range(2):
            Image.fromarray(grey[number]).save(self.folder / f"mixed/{number}.png")
        Image.fromarray(chance.integers(0, 256, (8, 6, 3), np.uint8)).save(self.folder / "mixed/2.png")
        np.save(self.folder / "labels.npy", np.arange(3))
        done = self.quern("shard", "--images", "mixed", "--labels", "labels.npy", "--out", "coloured")
        self.assertEqual(done.code, 0, done)
        recipe = training.RECIPE.replace("input = [1, 12, 12]", "input = [3, 8, 6]")
        self.write_recipe("colour", recipe, training.MLP_LAYERS.replace("features = 10", "features = 3"))
        self.train("colour", "run", "train.epochs=1", "data.train=coloured", "data.test=\"\"", "data.global_batch=3",
                   "train.micro_block=1")
        table = self.quern("predict", "run", "--images", "mixed").out.splitlines()
        self.assertEqual(len(table), 4)
        for ranks in (0, 2):
            for files in (["mixed/0.png"], ["mixed/0.png", "mixed/1.png"], ["mixed/0.png", "mixed/1.png", "mixed/2.png"]):
                done = self.quern("predict", "run", "--images", *files, ranks=ranks)
                self.assertEqual((set(done.codes), done.out.splitlines()), ({0}, table[:len(files) + 1]), done)
        np.save(self.folder / "grey.npy", grey)
        self.refused(["predict", "run", "--images", "grey.npy"], "network.input is [3, 8, 6], but")


if __name__ == "__main__":
    training.main()
