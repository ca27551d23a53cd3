# SPDX-License-Identifier: Apache-2.0
"""`quern import`: weights from elsewhere become a checkpoint, or are refused and nothing is written."""
import json
import random
import shutil
import struct

import numpy as np
import training
from class_names import name_classes, names_of
from training import tree

SHAPES = {"conv1.weight": (5, 1, 3, 3), "conv1.bias": (5,), "fc1.weight": (10, 125), "fc1.bias": (10,)}


def to_bytes(tensors, types=None):
    """A safetensors file of these arrays; `types`: what they are called there."""
    header, data = {}, b""
    for name, values in tensors.items():
        kind = (types or {}).get(name) or {"f4": "F32", "f2": "F16", "u2": "BF16", "i8": "I64"}[
            values.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def weights(seed=1):
    generator = np.random.default_rng(seed)
    return {name: generator.normal(0, 0.1, shape).astype("f4") for name, shape in SHAPES.items()}


class ImportTest(training.TrainingTest):
    def write(self, tensors, name="w.safetensors"):
        (self.folder / name).write_bytes(to_bytes(tensors))
        return name

    def bring_in(self, name, *options, expected=0, out="start.h5"):
        done = self.quern("import", name, "--recipe", "conv.toml", "--out", out, *options)
        self.assertEqual(done.code, expected, done)
        return done

    def exported(self, checkpoint):
        done = self.quern("checkpoint", "export", checkpoint, "--out", "back.safetensors", "--force")
        self.assertEqual(done.code, 0, done)
        content = (self.folder / "back.safetensors").read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8:8 + length])
        return {name: np.frombuffer(content[8 + length:], "<f4")[
                    entry["data_offsets"][0] // 4:entry["data_offsets"][1] // 4].reshape(entry["shape"])
                for name, entry in header.items() if name != "__metadata__"}

    def test_what_comes_in_is_what_goes_out(self):
        given = weights()
        self.bring_in(self.write(dict(reversed(given.items()))))
        self.assertEqual(self.quern("checkpoint", "verify", "start.h5").code, 0)
        back = self.exported("start.h5")
        self.assertEqual(list(back), list(SHAPES))
        for name, values in given.items():
            self.assertEqual(back[name].tobytes(), values.tobytes(), name)
        predicted = self.quern("predict", "start.h5", "--images", training.data_folder() / "test-images")
        self.assertEqual(predicted.code, 0, predicted)
        self.assertEqual(len(predicted.out.split()), 152)

    def test_outputs_that_are_not_finite_are_told_of(self):
        huge = {name: np.full_like(values, 1e38) for name, values in weights().items()}
        self.bring_in(self.write(huge))
        for ranks in (0, 2):
            done = self.quern("predict", "start.h5", "--data", "test", "--out", "out.csv", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            self.assertEqual(done.err.count("outputs of 151 of 151 samples are not finite\n"), 1, done)
            done = self.quern("evaluate", "start.h5", "--data", "test", ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            self.assertEqual(done.err.count("the loss is not finite: outputs of the network are not, or are too large for it\n"), 1, done)
        self.bring_in(self.write(weights()), "--force")
        for command in ("predict", "evaluate"):
            self.assertEqual(self.quern(command, "start.h5", "--data", "test").err, "")

    def test_links_stay(self):
        """A file is written where a link leads to, there or not."""
        self.write(weights())
        (self.folder / "disk").mkdir()
        names = ("start.h5", "back.safetensors")
        for name in names:
            (self.folder / name).symlink_to(f"disk/{name}")
        for options in ((), ("--force",)):
            self.bring_in("w.safetensors", *options)
            self.exported("start.h5")
            for name in names:
                self.assertTrue((self.folder / name).is_symlink(), name)
                self.assertGreater((self.folder / "disk" / name).stat().st_size, 0)
        (self.folder / "lost.h5").symlink_to("none/lost.h5")
        done = self.bring_in("w.safetensors", out="lost.h5", expected=2)
        self.assertIn("there is no folder 'none'", done.err)
        (self.folder / "one.h5").symlink_to("two.h5")
        (self.folder / "two.h5").symlink_to("one.h5")
        done = self.bring_in("w.safetensors", "--force", out="one.h5", expected=2)
        self.assertIn("cannot write 'one.h5': Too many levels of symbolic links", done.err)
        self.assertTrue((self.folder / "two.h5").is_symlink())

    def test_short_floats_and_other_names(self):
        given = weights()
        halves = given["fc1.weight"].astype("f2")
        bits = (given["conv1.weight"].view("u4") >> 16).astype("u2")
        self.write({"module.conv1.weight": bits, "module.conv1.bias": given["conv1.bias"],
                    "module.head.weight": halves, "module.head.bias": given["fc1.bias"],
                    "module.bn.num_batches_tracked": np.array(3, "i8"),
                    "extra.weight": given["fc1.bias"]})
        self.bring_in("w.safetensors", "--rename", "module.=", "--rename", "head=fc1", "--skip", "extra")
        back = self.exported("start.h5")
        np.testing.assert_array_equal(back["fc1.weight"], halves.astype("f4"))
        np.testing.assert_array_equal(back["conv1.weight"].view("u4") >> 16, bits)
        np.testing.assert_array_equal(back["conv1.bias"], given["conv1.bias"])

    def test_names_of_a_bare_sequential(self):
        """They begin with numbers, which names of layers may not."""
        text = training.RECIPE.replace("{layers}", """[
          {type = "conv2d", name = "net.0", channels = 5, kernel = 3}, {type = "relu"},
          {type = "max_pool2d", size = 2}, {type = "flatten"}, {type = "linear", name = "net.4", features = 10}]""")
        (self.folder / "conv.toml").write_text(text)
        given = weights()
        self.write({name.replace("conv1", "0").replace("fc1", "4"): values for name, values in given.items()})
        done = self.bring_in("w.safetensors", expected=2)
        self.assertIn("--rename '=net.' makes 'net.0.weight' of '0.weight'", done.err)
        self.assertEqual(done.err.count("4.bias, "), 0, done)
        self.assertEqual(done.err.count("(names in the file: 0.weight, 0.bias, 4.weight, 4.bias)"), 1, done)
        self.bring_in("w.safetensors", "--rename", "=net.")
        back = self.exported("start.h5")
        for name, values in given.items():
            self.assertEqual(back[name.replace("conv1", "net.0").replace("fc1", "net.4")].tobytes(), values.tobytes())
        self.train("conv", "init", "train.epochs=1",
                   'network.init={type="checkpoint", file="w.safetensors", rename=["=net."]}')

    def test_training_goes_on_from_it_on_any_number_of_ranks(self):
        self.bring_in(self.write(weights()))
        init = ("network.init={type=\"checkpoint\", file=\"w.safetensors\"}", "train.epochs=1")
        self.train("conv", "init", *init)
        for name, ranks in (("one", 0), ("three", 3)):
            done = self.start("conv", name, "train.epochs=1", ranks=ranks)
            done.wait()
            arguments = self.train_arguments("conv", name + "-resumed", ("train.epochs=1",))
            done = training.Run(*arguments, "--resume", "start.h5", cwd=self.folder, ranks=ranks).wait()
            self.assertEqual(done.code, 0, done)
            self.assert_same_run(name + "-resumed", "init")
            self.assertNotEqual(self.hash(name), self.hash("init"))

    def test_nothing_is_trained_yet_so_the_optimizer_may_have_other_settings(self):
        self.bring_in(self.write(weights()))
        other = ("optimizer.lr=1e-4", "optimizer.schedule=cosine", "optimizer.eps=1e-6", "train.epochs=2")
        self.train("conv", "init", *other, 'network.init={type="checkpoint", file="w.safetensors"}')
        start = [*self.train_arguments("conv", "run", other), "--resume", "start.h5"]
        for said in ("continuing from start.h5", "finished already"):  # the second is as good a command
            done = self.quern(*start, ranks=2)
            self.assertEqual((done.code, said in done.err), (0, True), done)
        self.assert_same_run("run", "init")
        shown = self.quern("checkpoint", "show", "run").out
        self.assertNotIn("changed", shown)
        # What weights depend on is compared as ever, and so are runs that have begun.
        for setting, key in (("optimizer.type=sgd", "optimizer.type"), ("seed=4", "seed")):
            done = self.quern(*self.train_arguments("conv", "new", (setting,)), "--resume", "start.h5")
            self.assertEqual((done.code, f"different recipe: {key} is " in done.err), (2, True), done)
        done = self.quern(*self.train_arguments("conv", "new", ("optimizer.lr=0.5",)), "--resume", "run")
        self.assertEqual((done.code, "different recipe: optimizer.lr is " in done.err), (2, True), done)

    def test_numbers_of_a_normalisation_come_from_a_file_of_quern(self):
        dataset = ("--set", 'data.normalize="dataset"')
        self.train("conv", "run", "train.epochs=1", dataset[1])
        self.assertEqual(self.quern("checkpoint", "export", "run", "--out", "run.safetensors").code, 0)
        def results(checkpoint):
            done = self.quern("evaluate", checkpoint)
            self.assertEqual(done.code, 0, done)
            return done.out.split(": ", 1)[1]
        expected = results("run")
        for file in "run", "run.safetensors":
            done = self.bring_in(file, *dataset, "--force")
            self.assertNotIn("warning", done.err)
            self.assertEqual(results("start.h5"), expected)
        self.train("conv", "plain", "train.epochs=1")
        done = self.bring_in("plain", *dataset, "--force", expected=2)
        self.assertIn('data.normalize = "dataset" does not say by which numbers', done.err)

    def test_classes_have_the_names_of_the_training_data(self):
        self.own_data()
        self.write(weights())
        plain = self.bring_in("w.safetensors", out="plain.h5")
        self.assertIsNone(names_of(self.folder / "plain.h5"))
        for split, names in ("train", "abcdefghij"), ("test", "abcedfghij"):
            name_classes(self.folder / split, names)
        named = self.bring_in("w.safetensors")
        self.assertIn("10 classes of 'train'", named.err)
        self.assertEqual(names_of(self.folder / "start.h5"), list("abcdefghij"))
        self.assertEqual(self.quern("checkpoint", "verify", "start.h5").code, 0)
        hashes = [self.quern("checkpoint", "hash", file).out for file in ("plain.h5", "start.h5")]
        self.assertEqual(hashes[0], hashes[1])
        self.assertIn(hashes[0].strip(), plain.err)
        self.assertEqual(self.quern("evaluate", "plain.h5", "--data", "test").code, 0)
        refused = self.quern("evaluate", "start.h5", "--data", "test")
        self.assertEqual(refused.code, 2, refused)
        self.assertIn("class 3 is 'd' in the training data and 'e' in 'test'", refused.err)
        done = self.quern("predict", "start.h5", "--images", training.data_folder() / "test-images")
        self.assertEqual(done.out.splitlines()[0], "index,class,probability,class_name", done)

    def assert_without_names(self, name, *options, warning="", out="start.h5"):
        done = self.bring_in(name, "--force", *options, out=out)
        self.assertEqual(done.err.count("warning"), int(bool(warning)), done)
        self.assertIn(warning, done.err)
        self.assertIsNone(names_of(self.folder / out))

    def test_the_training_data_may_be_absent_or_unusable(self):
        self.own_data()
        name_classes(self.folder / "train", "abcdefghij")
        file = self.write(weights())
        self.assert_without_names(file, "--set", 'data.train="elsewhere"')
        self.assert_without_names(file, "--set", 'data.train="test"', warning="'test' holds no shards of split 'train'")
        shard = next((self.folder / "train").iterdir())
        shard.write_bytes(shard.read_bytes()[:1000])
        self.assert_without_names(file, warning=shard.name)
        self.assertIn("no names", self.bring_in(file, "--force").err)

    def test_names_are_of_classifiers_and_fit_their_outputs(self):
        self.own_data()
        name_classes(self.folder / "train", "abcdefghij")
        for outputs, loss, warning in (144, "mse", ""), (9, "cross_entropy", "puts out 9 numbers, but 'train' has 10"):
            target = 'target = "input"\n[network]' if loss == "mse" else "[network]"
            self.write_recipe("conv", training.RECIPE.replace("cross_entropy", loss).replace("[network]", target),
                              training.CONV_LAYERS.replace("features = 10", f"features = {outputs}"))
            shapes = {"fc1.weight": (outputs, 125), "fc1.bias": (outputs,)}
            file = self.write({**weights(), **{name: np.zeros(shape, "f4") for name, shape in shapes.items()}})
            self.assert_without_names(file, warning=warning)

    def test_weights_of_quern_keep_the_names_that_they_were_trained_with(self):
        self.own_data()
        name_classes(self.folder / "train", "abcdefghij")
        self.train("conv", "run", "train.epochs=1", 'data.test=""')
        done = self.quern("checkpoint", "export", "run", "--out", "run.safetensors")
        self.assertEqual(done.code, 0, done)
        for file in "run", "run.safetensors":
            done = self.bring_in(file, "--force")
            self.assertNotIn("warning", done.err)
            self.assertEqual(names_of(self.folder / "start.h5"), list("abcdefghij"))
        name_classes(self.folder / "train", "abcedfghij")
        for file in "run", "run.safetensors":
            done = self.bring_in(file, "--force")
            self.assertIn("class 3 is 'd'", done.err)
            self.assertIn("'e' in 'train'", done.err)
            self.assertEqual(names_of(self.folder / "start.h5"), list("abcdefghij"))
        shutil.rmtree(self.folder / "train")
        for file in "run", "run.safetensors":
            self.bring_in(file, "--force")
            self.assertEqual(names_of(self.folder / "start.h5"), list("abcdefghij"))

    def assert_refused(self, name, *options, words=()):
        before = tree(self.folder)
        done = self.bring_in(name, *options, expected=2)
        self.assertEqual(len(done.errors()), 1, done)
        for word in words:
            self.assertIn(word, done.err)
        self.assertEqual(tree(self.folder), before)

    def test_what_does_not_fit_is_named_and_nothing_is_written(self):
        given = weights()
        self.write({f"module.{name}": values for name, values in given.items()})
        self.assert_refused("w.safetensors", words=("no tensor 'conv1.weight' [5, 1, 3, 3]",
                                                    "--rename 'module.='"))
        self.write({**given, "fc1.weight": given["fc1.weight"].reshape(125, 10)})
        self.assert_refused("w.safetensors",
                            words=("'fc1.weight' has the shape [125, 10], expected [10, 125]",))
        self.write({**given, "fc2.bias": given["fc1.bias"]})
        self.assert_refused("w.safetensors", words=("no tensor 'fc2.bias' [10]", "'fc1.bias'"))
        self.write(given)
        self.assert_refused("w.safetensors", "--rename", "modul.=", words=("applies to nothing",))
        self.assert_refused("w.safetensors", "--set", "network.init.std=1")
        self.assert_refused("w.safetensors", "--set", 'data.normalize="dataset"',
                            words=('data.normalize = "dataset"', "mean=[...]"))
        self.assert_refused("absent", words=("absent",))
        self.assert_refused("conv.toml", words=("conv.toml",))
        (self.folder / "start.h5").write_text("old")
        self.assert_refused("w.safetensors", words=("'start.h5' exists already",))
        self.bring_in("w.safetensors", "--force")

    def test_several_processes_are_refused(self):
        """They would write one file; the second one found that it exists."""
        self.write(weights())
        before = tree(self.folder)
        done = self.quern("import", "w.safetensors", "--recipe", "conv.toml", "--out", "start.h5", ranks=2)
        self.assertEqual((set(done.codes), len(done.errors())), ({2}, 1), done)
        self.assertIn("quern import works in one process, but 2 were started", done.err)
        self.assertEqual(tree(self.folder), before)
        done = self.quern("import", "w.safetensors", "--recipe", "conv.toml", "--out", "start.h5", ranks=1)
        self.assertEqual(done.code, 0, done)

    def test_damaged_files_are_one_sentence_and_nothing_is_written(self):
        good, generator = to_bytes(weights()), random.Random(2)
        for _ in range(40):
            bad = bytearray(good)
            if generator.random() < 0.5:
                del bad[generator.randrange(len(bad)):]
            else:
                for _ in range(3):
                    bad[generator.randrange(300)] ^= generator.randrange(1, 256)
            (self.folder / "w.safetensors").write_bytes(bad)
            done = self.quern("import", "w.safetensors", "--recipe", "conv.toml", "--out", "start.h5")
            if done.code == 0:  # what was hit does not matter
                (self.folder / "start.h5").unlink()
                continue
            self.assertEqual((done.code, len(done.errors())), (2, 1), done)
            self.assertEqual([file.name for file in self.folder.glob("start*")], [])


if __name__ == "__main__":
    training.main()
