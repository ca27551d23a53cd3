# SPDX-License-Identifier: Apache-2.0
"""A read that the system refuses (a disk, a file server) ends a run with status 1, which a job tries again: nothing
was wrong with the file."""
import errno
import sys
from pathlib import Path

import h5py
import numpy as np
import training
from training import checkpoint_steps

PRELOAD = Path(sys.argv.pop(3)).resolve()  # tests/support/preload.cpp
SAID = "Input/output error"
WIDE_LAYERS = training.MLP_LAYERS.replace("19", "1024")


class BrokenDiskTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.once = self.folder / "once"

    def train_on_broken_disk(self, recipe, run, text, *sets, **options):
        return self.run_on_broken_disk(text, *self.train_arguments(recipe, run, sets), **options)

    def start_on_broken_disk(self, text, *arguments, least=0, ranks=1):
        """One read of at least so many bytes fails, of a file with `text` in its path."""
        self.once.touch()
        env = {"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_FAIL_READ": text, "QUERN_TEST_FAIL_ONCE": str(self.once),
               "QUERN_TEST_FAIL_BYTES": str(least)}
        done = training.Run(*arguments, ranks=ranks, env=env, cwd=self.folder).wait()
        self.assertFalse(self.once.exists(), done)
        return done

    def run_on_broken_disk(self, text, *arguments, **options):
        done = self.start_on_broken_disk(text, *arguments, **options)
        self.assertEqual(set(done.codes), {1}, done)
        self.assertIn(SAID, done.err)
        self.assertEqual(done.err.count("error:"), 1, done)
        return done

    def test_recipe(self):
        for command in (self.train_arguments("mlp", "run", ()), ["preflight", "mlp.toml"]):
            self.run_on_broken_disk("/mlp.toml", *command)
        self.run_on_broken_disk("/mlp.toml", *self.train_arguments("mlp", "run", ()), ranks=2)
        self.assertFalse((self.folder / "run").exists())

    def test_shards_that_are_loaded(self):
        for split in ("train", "test"):
            for least in (0, 1000):  # what a shard says of itself, its data
                for ranks in (1, 2):
                    with self.subTest(split=split, least=least, ranks=ranks):
                        self.train_on_broken_disk("mlp", "run", f"-{split}-", least=least, ranks=ranks)
        self.train("mlp", "run")

    def test_preflight(self):
        """Status 2 would end the job for good."""
        for ranks in (1, 2):
            for split in ("train", "test"):
                self.run_on_broken_disk(f"-{split}-", "preflight", self.folder / "mlp.toml", ranks=ranks)

    def test_shards_that_are_streamed(self):
        memory = ("data.memory='30 KB'", "data.global_batch=16")
        self.train_on_broken_disk("mlp", "run", "-train-", *memory, least=1000)
        self.train("mlp", "run", *memory)
        self.train("mlp", "whole", *memory)
        self.assert_same_run("run", "whole")

    def test_checkpoints(self):
        """None is passed over: the run would go on from an older one, or for good without any."""
        self.write_recipe("wide", training.RECIPE, WIDE_LAYERS)
        self.train("wide", "run", "train.epochs=2")
        folder = self.folder / "run"
        newest = f"ckpt-{checkpoint_steps(folder)[-1]:010d}.h5"
        for keep in (2, 1):
            for file in sorted((folder / "checkpoints").iterdir())[:-keep]:
                file.unlink()
            for least in (0, 100000):  # its seal; a tensor
                with self.subTest(keep=keep, least=least):
                    done = self.train_on_broken_disk("wide", "run", "/ckpt-", "train.epochs=3", least=least)
                    self.assertNotIn("passed over", done.err)
                    self.assertIn(newest, done.err)
        listed = self.start_on_broken_disk(f"/{newest}", "checkpoint", "ls", "run")
        self.assertEqual(listed.code, 0, listed)
        self.assertRegex(listed.out, rf"unread +{newest}")
        self.assertIn(SAID, listed.out)
        self.assertNotIn("damaged", listed.out)
        self.assertIn(newest, self.train("wide", "run", "train.epochs=3").err)

    def test_lines_are_on_the_disk_before_a_checkpoint(self):
        """Else a machine that loses power leaves a run that goes on, with holes for good."""
        def train(text, expected):
            env = {"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_FAIL_CALL": "fsync", "QUERN_TEST_FAIL_PATH": text,
                   "QUERN_TEST_FAIL_ERRNO": str(errno.EIO)}
            return self.train("mlp", "run", env=env, expected=expected)

        done = train("/metrics.jsonl", 1)
        self.assertIn("cannot sync 'run/metrics.jsonl' to disk: Input/output error", done.err)
        self.assertEqual(checkpoint_steps(self.folder / "run"), [])
        done = train("/events.jsonl", 0)
        self.assertEqual(done.err.count("cannot sync 'run/events.jsonl' to disk: Input/output error: events of this run are "
                                        "missing there"), 1, done)

    def test_a_slow_disk_is_told_of_once(self):
        """What all ranks wait for."""
        often = ("checkpoint.every_steps=5", "train.epochs=1")
        env = {"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_SYNC_MS": "300"}
        done = self.train("mlp", "run", *often, ranks=2, env=env)
        self.assertEqual(done.err.count("to write the checkpoint"), 1, done)
        self.assertRegex(done.err, r"to write the checkpoint of step 5 took \d+\.\d s, in which all ranks wait: \d+ % of the "
                         r"time since the one before \(expected 5 % at most: checkpoint.every_epochs above 1, "
                         r"checkpoint.every_steps above 5\)")

    def test_files_from_elsewhere(self):
        images = training.data_folder() / "train-images"
        for out in ("--out", "set"), ("--out", "set", "--shards", 2):
            self.run_on_broken_disk(images.name, "shard", "--images", images, *out)
        pixels = np.arange(300000, dtype=np.uint32).astype(np.uint8).reshape(300, 1000)
        np.savez(self.folder / "set.npz", x=pixels)
        with h5py.File(self.folder / "set.h5", "w") as file:
            file["x"] = pixels
        for least in (0, 100000):  # the archive's directory, a member
            self.run_on_broken_disk("set.npz", "shard", "--images", "set.npz:x", "--from", "npz", *out, least=least)
        self.run_on_broken_disk("set.npz", "shard", "--images", "set.npz:x", "--from", "npz", "--sha256", "0" * 64, *out)
        self.run_on_broken_disk("set.h5", "shard", "--images", "set.h5:/x", "--from", "hdf5", *out, least=100000)
        self.assertFalse((self.folder / "set").exists())
        self.train("mlp", "run")
        weights = self.folder / "weights.safetensors"
        self.assertEqual(self.quern("checkpoint", "export", "run", "--out", weights).code, 0)
        for least in (0, 9000):  # which kind of file it is, a tensor
            self.run_on_broken_disk(weights.name, "import", weights, "--recipe", self.folder / "mlp.toml",
                                    "--out", "start.h5", least=least)
        # A checkpoint without the names of its classes would be compared with no data.
        self.run_on_broken_disk("-train-", "import", weights, "--recipe", self.folder / "mlp.toml", "--out", "start.h5")
        self.assertFalse((self.folder / "start.h5").exists())


if __name__ == "__main__":
    training.main()
