# SPDX-License-Identifier: Apache-2.0
"""Sets larger than data.memory: the same bits for any number of ranks, as in memory, and after a stop."""
import json
import random
import re
import shutil
import tempfile
import time
from pathlib import Path

import idx
import numpy as np
import training
from program import Run
from training import checkpoint_steps

# 4000 samples of 148 bytes, in 5 shards of eight blocks each. An epoch has 82 steps, the last of 31.
SAMPLES = 4000
MEMORY = "data.memory='150 KB'"
ON_DEVICES = {"QUERN_DEVICE_KERNELS": "1"}
RECIPE = training.RECIPE.replace("epochs = 3", "epochs = 2")
_data = None


def many_samples():
    global _data
    if _data is None:
        _data = tempfile.TemporaryDirectory()
        training.make_shards(Path(_data.name), "train", *idx.blobs(SAMPLES), shards=5)
        training.make_shards(Path(_data.name), "test", *idx.blobs(151, seed=8))
    return Path(_data.name)


class StreamingTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        for split in ("train", "test"):
            (self.folder / split).unlink()
            shutil.copytree(many_samples() / split, self.folder / split)
        self.write_recipe("conv", RECIPE, training.CONV_LAYERS)
        self.write_recipe("mlp", RECIPE, training.MLP_LAYERS)
        self.shards = sorted((self.folder / "train").glob("*.h5"))

    def window(self, *sets):
        """Samples of a window, as --dry-run tells."""
        done = self.quern(*self.train_arguments("conv", "none", sets), "--dry-run")
        self.assertEqual(done.code, 0, done)
        return int(re.search(r"windows of (\d+) samples", done.out)[1])

    def test_same_bits_on_any_ranks_and_in_memory(self):
        in_memory = f"data.window={self.window(MEMORY)}"
        for recipe in ("conv", "mlp"):
            self.train(recipe, f"{recipe}-1", MEMORY)
            for ranks in (2, 3, 4):
                self.train(recipe, f"{recipe}-{ranks}", MEMORY, ranks=ranks)
                self.assert_same_run(f"{recipe}-{ranks}", f"{recipe}-1")
            for ranks in (1, 3):
                self.train(recipe, f"{recipe}-memory-{ranks}", in_memory, ranks=ranks)
                self.assert_same_run(f"{recipe}-memory-{ranks}", f"{recipe}-1")

    def test_an_auto_encoder_is_compared_with_streamed_pixels(self):
        self.write_recipe("encoder", RECIPE, training.MLP_LAYERS.replace("features = 10", "features = 144"))
        sets = ("loss.type=mse", "data.target=input", "train.precision=bf16")
        self.train("encoder", "memory", f"data.window={self.window(MEMORY)}", *sets)
        for ranks in (1, 3):
            self.train("encoder", f"streamed-{ranks}", MEMORY, *sets, ranks=ranks)
            self.assert_same_run(f"streamed-{ranks}", "memory")

    def test_into_the_memory_of_devices(self):
        """By the kernels for devices, on processors: samples pass through buffers on their way."""
        shutil.rmtree(self.folder / "test")
        training.make_shards(self.folder, "test", *idx.blobs(2000, seed=8), shards=3)
        sets = ("data.normalize=dataset",)
        self.train("conv", "memory", f"data.window={self.window(MEMORY)}", *sets, env=ON_DEVICES)
        for ranks in (1, 2, 3):
            self.train("conv", f"on-{ranks}", MEMORY, *sets, ranks=ranks, env=ON_DEVICES)
            self.assert_same_run(f"on-{ranks}", "memory")
        self.train("conv", "processors", MEMORY, *sets, ranks=2)
        self.assert_same_run("processors", "memory")

    def test_stops_on_devices_and_goes_on(self):
        """In the middle of an epoch, on other ranks, and where a shard is damaged until it is mended."""
        sets = (MEMORY, "train.epochs=12", "checkpoint.every_steps=3")
        self.train("conv", "whole", *sets, env=ON_DEVICES)
        folder = self.folder / "run"
        for ranks in (2, 3, 1):
            goal = max(checkpoint_steps(folder), default=0) + 10
            run = self.start("conv", "run", *sets, ranks=ranks, env=ON_DEVICES)
            self.assertTrue(run.wait_until(lambda: max(checkpoint_steps(folder), default=0) >= goal))
            (folder / "STOP").touch()
            self.assertEqual(set(run.wait().codes), {85})
            (folder / "STOP").unlink()
        self.assertLess(checkpoint_steps(folder)[-1], 12 * 82)
        bad = self.shards[2]
        good = bad.read_bytes()
        self.spoil(bad, lambda content: content.__setitem__(slice(60000, 60400), bytes(400)))
        for ranks in (1, 2, 3):
            done = self.train("conv", "run", *sets, expected=93, ranks=ranks, env=ON_DEVICES)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(bad.name, done.errors()[0])
            self.assertIn("are damaged", done.errors()[0])
        bad.write_bytes(good)
        self.train("conv", "run", *sets, ranks=2, env=ON_DEVICES)
        self.assert_same_run("run", "whole")

    def test_predictions_and_evaluations_stream(self):
        """The same to the byte as in memory, from any number of ranks and in any batches."""
        self.train("conv", "run", "train.epochs=1")
        few = ("--memory", "60 KB")
        options = ("--json", "--metrics", "top5,per_class,confusion")
        table = self.quern("predict", "run", "--data", "train")
        figures = self.quern("evaluate", "run", "--data", "train", *options)
        self.assertEqual((table.code, figures.code, len(table.out.splitlines())), (0, 0, SAMPLES + 1))
        for ranks, batch, env in ((0, 10, {}), (1, 64, {}), (2, 7, {}), (3, 33, {}), (1, 33, ON_DEVICES), (2, 33, ON_DEVICES), (3, 7, ON_DEVICES)):
            done = self.quern("predict", "run", "--data", "train", "--batch", batch, *few, ranks=ranks, env=env)
            self.assertEqual((set(done.codes), done.out), ({0}, table.out), done.err)
            done = self.quern("evaluate", "run", "--data", "train", *few, *options, ranks=ranks, env=env)
            self.assertEqual(set(done.codes), {0}, done)
            found, expected = json.loads(done.out), json.loads(figures.out)
            self.assertEqual({**found, "ranks": 1}, {**expected, "ranks": 1})
        # The recipe's data.memory, and a file.
        self.train("conv", "streamed", MEMORY, "train.epochs=1")
        whole = self.quern("predict", "streamed", "--data", "train", "--memory", "1 GB")
        done = self.quern("predict", "streamed", "--data", "train", "--batch", 64, "--out", "table.csv", ranks=3)
        self.assertEqual((set(done.codes), done.out), ({0}, ""), done)
        self.assertEqual((self.folder / "table.csv").read_text(), whole.out)
        done = self.quern("predict", "streamed", "--data", "train", "--batch", 1000, ranks=2)
        self.assertEqual((set(done.codes), len(done.errors())), ({2}, 1), done)
        self.assertIn("error: data.memory (--memory) = 146.5 KiB is too small for two windows", done.errors()[0])

    def test_predictions_of_parts_of_a_network(self):
        self.train("conv", "run", "parallel.pipeline=2", "parallel.tensor=2", "train.epochs=1", ranks=4)
        table = self.quern("predict", "run", "--data", "train")
        for ranks in (3, 4, 8):
            done = self.quern("predict", "run", "--data", "train", "--batch", 20, "--memory", "60 KB", ranks=ranks)
            self.assertEqual((set(done.codes), done.out), ({0}, table.out), done.err)

    def test_predictions_that_fail_leave_nothing(self):
        self.train("conv", "run", "train.epochs=1")
        before = sorted(path.name for path in self.folder.iterdir())
        self.spoil(self.shards[3], lambda content: content.__setitem__(slice(60000, 60400), bytes(400)))
        (self.folder / "old.csv").write_text("old\n")
        for ranks in (1, 3):
            for out in ("new.csv", "old.csv"):
                done = self.quern("predict", "run", "--data", "train", "--batch", 20, "--memory", "60 KB", "--out", out, ranks=ranks)
                self.assertEqual((set(done.codes), len(done.errors())), ({93}, 1), done)
                self.assertIn(self.shards[3].name, done.errors()[0])
        self.assertEqual((self.folder / "old.csv").read_text(), "old\n")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted([*before, "old.csv"]))
        for arguments, words in ((("--data", "test", "--memory", "2 XB"), "\"2 XB\" is no size"),
                                 (("--data", "train", "--memory", "10 KB"), "error: --memory = 9.8 KiB is too small for two windows"),
                                 (("--images", "test-images", "--memory", "1 MB"), "--memory is for shards"),
                                 (("--data", "test", "--out", "none/new.csv"), "cannot write 'none/new.csv': No such file or directory")):
            done = self.quern("predict", "run", *arguments, ranks=2)
            self.assertEqual((set(done.codes), len(done.errors())), ({2}, 1), done)
            self.assertIn(words, done.errors()[0])

    def test_predictions_go_where_they_are_sent(self):
        """Through a link, and to what is no file at all."""
        self.train("mlp", "run", "train.epochs=1")
        (self.folder / "behind.csv").write_text("old\n")
        (self.folder / "link.csv").symlink_to("behind.csv")
        expected = self.quern("predict", "run", "--data", "test").out
        for out in ("link.csv", "/dev/null", "/dev/stdout"):
            done = self.quern("predict", "run", "--data", "test", "--out", out)
            self.assertEqual((done.code, done.out), (0, expected if out == "/dev/stdout" else ""), done)
        self.assertTrue((self.folder / "link.csv").is_symlink())
        self.assertEqual((self.folder / "behind.csv").read_text(), expected)

    def test_memory_for_all_changes_nothing(self):
        self.train("conv", "plain", "train.epochs=1")
        self.train("conv", "fits", "train.epochs=1", "data.memory='1 MB'", ranks=2)
        self.train("conv", "window", "train.epochs=1", f"data.window={SAMPLES}")
        self.train("conv", "streamed", "train.epochs=1", MEMORY)
        self.assert_same_run("fits", "plain")
        self.assert_same_run("window", "plain")
        self.assertNotEqual(self.hash("streamed"), self.hash("plain"))

    def test_in_the_order_of_the_set(self):
        self.train("conv", "plain", "data.shuffle=false", ranks=2)
        for ranks in (1, 3):
            self.train("conv", f"on-{ranks}", MEMORY, "data.shuffle=false", ranks=ranks)
            self.assert_same_run(f"on-{ranks}", "plain")

    def test_normalized_augmented_in_pieces_and_stages(self):
        window = f"data.window={self.window(MEMORY)}"
        cases = {"normalized": ("conv", ["data.normalize=dataset"]),
                 "augmented": ("conv", ["data.augment.crop=2", "data.augment.flip=true"]),
                 "pieces": ("mlp", ["parallel.micro_batches=3"]),
                 "stages": ("mlp", ["parallel.pipeline=3", "parallel.micro_batches=2"]),
                 "normalized-stages": ("mlp", ["parallel.pipeline=3", "data.normalize=dataset"])}
        for name, (recipe, sets) in cases.items():
            with self.subTest(name):
                once = [*sets, "train.epochs=1"]
                self.train(recipe, f"{name}-memory", window, *once, ranks=3)
                self.train(recipe, name, MEMORY, *once, ranks=3)
                self.assert_same_run(name, f"{name}-memory")

    def test_floats_and_targets(self):
        chance = np.random.default_rng(3)
        values = chance.standard_normal((1500, 20))
        np.save(self.folder / "y.npy", (values @ chance.standard_normal((20, 2))).astype(np.float32))
        text = re.sub("test = .*", 'target = "values"', RECIPE).replace("[1, 12, 12]", "[20]")
        self.write_recipe("floats", text.replace("cross_entropy", "mse"),
                          '[{type = "linear", features = 9}, {type = "tanh"}, {type = "linear", features = 2}]')
        for dtype in (np.float32, np.float16):
            name = np.dtype(dtype).name
            np.save(self.folder / "x.npy", values.astype(dtype))
            done = self.quern("shard", "--images", "x.npy", "--targets", "y.npy", "--out", name, "--shards", 7)
            self.assertEqual(done.code, 0, done)
            sets = (f"data.train={name}", "data.normalize=dataset")
            done = self.train("floats", name, "data.memory='60 KB'", *sets, ranks=2)
            window = re.search(r"windows of (\d+) samples", done.err)[1]
            self.train("floats", f"{name}-memory", f"data.window={window}", *sets, ranks=3)
            self.assert_same_run(name, f"{name}-memory")

    def test_kill_and_resume_on_other_ranks(self):
        self.train("conv", "whole", MEMORY, "train.epochs=4")
        chance = random.Random(7)
        folder = self.folder / "killed"
        sets = (MEMORY, "train.epochs=4", "checkpoint.every_steps=3")
        for ranks in (3, 1, 4, 2):
            done = max(checkpoint_steps(folder), default=0)
            goal = done + chance.randrange(3, 75)
            run = self.start("conv", "killed", *sets, ranks=ranks)
            self.assertTrue(run.wait_until(lambda: goal <= max(checkpoint_steps(folder), default=0)))
            run.kill()
        self.train("conv", "killed", *sets, ranks=3)
        self.assert_same_run("killed", "whole")

    def test_other_memory_is_another_order(self):
        self.train("conv", "run", MEMORY, "train.epochs=1")
        done = self.train("conv", "run", "data.memory='200 KB'", expected=2, ranks=2)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertIn("data.memory is \"150000 B\" there", done.errors()[0])

    def spoil(self, file, change):
        content = bytearray(file.read_bytes())
        change(content)
        file.write_bytes(content)

    def fails(self, *sets, ranks):
        """-> the one error line."""
        done = self.train("conv", "run", MEMORY, *sets, expected=93, ranks=ranks)
        self.assertEqual(len(done.errors()), 1, done)
        return done.errors()[0]

    def spoiled_run(self, how, words, ranks):
        """One that a shard fails while it runs."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        bad = self.shards[3]
        good = bad.read_bytes()
        self.addCleanup(bad.write_bytes, good)
        run = self.start("conv", "run", MEMORY, "checkpoint.every_steps=1", "train.epochs=200", ranks=ranks)
        run.wait_until(lambda: max(checkpoint_steps(self.folder / "run"), default=0) > 3)
        at = good.rindex(bytes(idx.blobs(SAMPLES)[1][2400:3200])) if how == "label" else len(good) // 2
        with bad.open("r+b") as file:
            if how == "cut":
                file.truncate(at)
            else:
                file.seek(at)
                file.write(bytes([good[at] ^ 4]))
        done = run.wait()
        self.assertEqual(set(done.codes), {93}, done)
        self.assertEqual(len(done.errors()), 1, done)
        error = done.errors()[0]
        self.assertIn(bad.name, error)
        self.assertIn(words, error)
        step = int(re.search(r"stopped at step (\d+), where a checkpoint", error)[1])
        self.assertEqual(checkpoint_steps(self.folder / "run")[-1], step)
        if how != "cut":  # which is found before anything is read
            # It may get on to the batches before the bad one.
            self.assertIn(bad.name, self.fails("train.epochs=200", ranks=2))
            self.assertGreaterEqual(checkpoint_steps(self.folder / "run")[-1], step)
        self.assertEqual(self.quern("checkpoint", "verify", "run").code, 0)
        bad.write_bytes(good)

    def test_a_shard_that_fails_in_the_middle(self):
        for ranks in (1, 3):
            self.spoiled_run("flip", "are damaged", ranks)
            self.spoiled_run("label", "are damaged", ranks)
            self.spoiled_run("cut", "ends after", ranks)

    def test_goes_on_once_the_shard_is_mended(self):
        self.train("conv", "whole", MEMORY, "train.epochs=6")
        bad = self.shards[1]
        good = bad.read_bytes()
        run = self.start("conv", "run", MEMORY, "train.epochs=6", "checkpoint.every_steps=1", ranks=2)
        run.wait_until(lambda: max(checkpoint_steps(self.folder / "run"), default=0) > 3)
        self.spoil(bad, lambda content: content.__setitem__(slice(6000, 6400), bytes(400)))
        self.assertEqual(set(run.wait().codes), {93})
        bad.write_bytes(good)
        self.train("conv", "run", MEMORY, "train.epochs=6", ranks=3)
        self.assert_same_run("run", "whole")

    def peak_of(self, run):
        """On one rank, as the system tells while it goes on. (What it tells at the end counts this program's
        memory, too, of which the run is a copy at first.)"""
        peak = 0
        while run.process.poll() is None:
            status = Path(f"/proc/{run.process.pid}/status").read_text(encoding="utf-8")
            found = re.search(r"(?m)^Name:\tquern$[^$]*^VmHWM:\s+(\d+) kB$", status)
            peak = max(peak, 1024 * int(found[1]) if found else 0)
            time.sleep(0.005)
        self.assertEqual(run.wait().code, 0)
        return peak

    def peak_bytes(self, *sets):
        peak = self.peak_of(self.start("mlp", "run", "train.epochs=2", *sets))
        shutil.rmtree(self.folder / "run")
        return peak

    def test_the_test_set_is_streamed(self):
        """The same figures as in memory, from any number of ranks."""
        large = self.folder / "large-test"
        large.mkdir()
        training.make_shards(large, "test", *idx.blobs(2000, seed=8), shards=3)
        sets = (f"data.test={large / 'test'}", "train.epochs=2")
        order = f"data.window={self.window(MEMORY)}"
        self.train("conv", "memory", order, *sets)
        expected = [(line["loss"], line["accuracy"]) for line in training.metrics(self.folder / "memory", "eval")]
        for ranks in (1, 2, 3):
            self.train("conv", f"on-{ranks}", MEMORY, *sets, ranks=ranks)
            self.assert_same_run(f"on-{ranks}", "memory")
            found = [(line["loss"], line["accuracy"]) for line in training.metrics(self.folder / f"on-{ranks}", "eval")]
            self.assertEqual(found, expected)
            outs = []
            for run in ("memory", "on-1"):
                done = self.quern("evaluate", run, "--data", large / "test", "--json", "--metrics",
                                  "top5,per_class,confusion", ranks=ranks)
                self.assertEqual(set(done.codes), {0}, done)
                outs.append({key: value for key, value in json.loads(done.out).items() if key != "checkpoint"})
            self.assertEqual(outs[0], outs[1])

    def test_a_test_set_that_fails(self):
        large = self.folder / "large-test"
        large.mkdir()
        training.make_shards(large, "test", *idx.blobs(2000, seed=8), shards=3)
        sets = (f"data.test={large / 'test'}", "train.epochs=3")
        self.train("conv", "whole", MEMORY, *sets)
        bad = sorted((large / "test").glob("*.h5"))[1]
        good = bad.read_bytes()
        for ranks in (1, 3):
            self.spoil(bad, lambda content: content.__setitem__(slice(60000, 60400), bytes(400)))
            error = self.fails(*sets, ranks=ranks)
            self.assertIn(bad.name, error)
            self.assertIn("stopped at step 82, where a checkpoint", error)
            bad.write_bytes(good)
            self.train("conv", "run", MEMORY, *sets, ranks=2)
            self.assert_same_run("run", "whole")
            shutil.rmtree(self.folder / "run")

    def test_memory_is_kept(self):
        few = self.peak_bytes("data.global_batch=1000")
        large = self.folder / "large"
        large.mkdir()
        count = 400_000  # 58 MB
        training.make_shards(large, "train", *(np.resize(array, (count, *array.shape[1:]))
                                               for array in idx.blobs(SAMPLES)), shards=5)
        whole = self.peak_bytes("data.train=large/train", "data.global_batch=1000")
        self.assertGreater(whole - few, 50e6)
        streamed = self.peak_bytes("data.train=large/train", "data.global_batch=1000", "data.memory='8 MiB'")
        self.assertLess(streamed - few, 8 * 2**20 + 6e6)
        self.train("mlp", "run", "train.epochs=1")
        for command in ("predict", "evaluate"):
            more = ("--out", "table.csv") if command == "predict" else ()
            peaks = [self.peak_of(Run(command, "run", "--data", data, *more, *memory, cwd=self.folder))
                     for data, memory in (("train", ()), ("large/train", ()), ("large/train", ("--memory", "8 MiB")))]
            self.assertGreater(peaks[1] - peaks[0], 50e6)
            self.assertLess(peaks[2] - peaks[0], 8 * 2**20 + 6e6)

    def test_memory_that_is_too_little(self):
        for ranks in (1, 2):
            done = self.train("conv", "run", "data.memory='20 KB'", expected=2, ranks=ranks)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertRegex(done.errors()[0], r"data.memory = 19.5 KiB is too small .*expected at least \"29896 B\"")
        done = self.train("conv", "run", MEMORY, "data.window=2000", expected=2)
        self.assertRegex(done.errors()[0], r"two windows of 2000 samples .* or a smaller data.window")
        self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    training.main()
