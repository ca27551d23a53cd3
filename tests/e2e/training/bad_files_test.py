# SPDX-License-Identifier: Apache-2.0
"""Data, run folders and checkpoints that cannot be used: one message, nothing written."""
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import h5py
import idx
import numpy as np
import program
import training
from refusal import RefusalTest
from training import checkpoint_file, checkpoint_steps, tree

TRAIN = ["train", "mlp.toml", "--run-dir", "run"]


class BadFilesTest(RefusalTest):
    def shard(self, index=1):
        return self.folder / "train" / f"toy-train-0000{index}-of-00003.h5"

    def test_missing_data(self):
        self.refused([*TRAIN, "--set", "data.train=absent"], "absent")
        (self.folder / "empty").mkdir()
        self.refused([*TRAIN, "--set", "data.train=empty"], "empty", "quern shard")
        self.refused([*TRAIN, "--set", "data.test=empty"], "empty", ranks=[0])

    def test_missing_shard(self):
        self.own_data()
        self.shard().unlink()
        self.refused(TRAIN, self.shard().name)

    def test_truncated_shard(self):
        self.own_data()
        self.shard().write_bytes(self.shard().read_bytes()[:-500])
        self.refused(TRAIN, self.shard().name, "truncated")

    def test_flipped_bit_in_the_pixels(self):
        self.own_data()
        with h5py.File(self.shard(), "r") as file:
            place = file["images"].id.get_offset() + 1234
        content = bytearray(self.shard().read_bytes())
        content[place] ^= 1
        self.shard().write_bytes(content)
        self.refused(TRAIN, self.shard().name, "SHA-256", code=93)

    def test_classes_of_other_names_in_the_two_splits(self):
        self.own_data()
        for split, names in (("train", "abcdefghij"), ("test", "abcedfghij")):
            for path in (self.folder / split).iterdir():
                with h5py.File(path, "r+") as file:
                    file.attrs["class_names"] = "\n".join(names)
        self.refused(TRAIN, "the classes of the two sets differ: class 3 is 'd' in the training data and 'e' in the "
                     "test data")
        with h5py.File(self.shard(), "r+") as file:
            file.attrs["class_names"] = "a\nb"
        self.refused(TRAIN, self.shard().name, "2 lines, expected one for each of 10 classes")

    def test_no_shard_at_all(self):
        self.own_data()
        self.shard().write_text("not HDF5")
        self.refused(TRAIN, self.shard().name)

    @staticmethod
    def make_huge_shard(folder, samples):
        """A training set whose bytes are a hole in the file."""
        with h5py.File(Path(folder) / "huge-train-00000-of-00001.h5", "w") as file:
            for name, shape in (("images", (samples, 1, 12, 12)), ("labels", (samples,))):
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
                h5py.h5d.create(file.id, name.encode(), h5py.h5t.STD_U8LE,
                                h5py.h5s.create_simple(shape), creation)
            file.attrs.update({"format": "quern-shard", "format_version": 1, "split": "train",
                               "shard_index": 0, "shard_count": 1, "first_index": 0,
                               "total": samples, "classes": 10, "sha256_images": "0" * 64,
                               "sha256_labels": "0" * 64})

    def test_data_that_does_not_fit_into_memory(self):
        # More than the machine has: shared memory of the node and all that it may swap.
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        samples = max(1 << 40, 4 * memory) // 145 // 16 * 16
        with tempfile.TemporaryDirectory() as folder:
            self.make_huge_shard(folder, samples)
            room = samples * (144 + 4) + 64  # for the hash of samples that have none yet
            self.refused([*TRAIN, "--set", f"data.train={folder}"], f"the data set '{folder}'",
                         f"({room} bytes) of memory", "are available")
        data = 'data={source="random", samples=1000000000000, global_batch=49, target="values"}'
        self.refused([*TRAIN, "--set", data, "--set", 'loss.type="mse"'], "data.samples", "bytes) of memory",
                     "are available")

    def test_run_folder_below_a_folder_that_is_read_only(self):
        # The superuser may write everywhere, so another user tries.
        self.own_data()
        (self.folder / "fixed").mkdir(mode=0o555)
        self.addCleanup((self.folder / "fixed").chmod, 0o755)
        self.folder.chmod(0o755)
        user = {"user": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        own_copy = shutil.copy(program.PROGRAM, self.folder / "quern")  # the build may be private
        command = [own_copy, "train", "mlp.toml", "--run-dir", "fixed/run"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True,
                              check=False, env=program.environment(1, None), **user)
        self.assertEqual(done.returncode, 2, done)
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        self.assertEqual(len(errors), 1, done)
        self.assertIn("cannot make the run folder 'fixed/run': Permission denied", errors[0])
        self.assertEqual(list((self.folder / "fixed").iterdir()), [])

    def test_run_folder_below_a_file(self):
        self.refused(["train", "mlp.toml", "--run-dir", "mlp.toml/run"], "mlp.toml/run")

    def test_run_folder_is_a_file(self):
        self.refused(["train", "mlp.toml", "--run-dir", "mlp.toml"], "mlp.toml")

    def test_run_folder_whose_path_is_too_long(self):
        # So long that folders and lock can be made, and the temporary name of recipe.toml cannot.
        deep = "/".join(["d" * 254] * 16 + ["d" * (4083 - 16 * 255)])
        train = ["train", "mlp.toml", "--run-dir", deep]
        self.refused(train, "cannot write", "recipe.toml", ranks=[0, 1, 2])
        (self.folder / ("d" * 254)).mkdir()
        self.refused(train, "cannot write", "recipe.toml")
        before = tree(self.folder)
        for _ in range(3):  # two at once: they may wait for each other, and neither leaves a file
            starts = [program.Run(*train, ranks=ranks, cwd=self.folder) for ranks in (0, 2)]
            for start in starts:
                self.assertEqual(set(start.wait().codes), {2})
            self.assertEqual(tree(self.folder), before)

    def test_two_first_starts_of_one_run(self):
        # One trains; the other is refused, before or after it waited, and takes nothing along.
        self.train("mlp", "whole")
        for ranks in (0, 2):
            name = f"runs/both-{ranks}"
            starts = [self.start("mlp", name, ranks=ranks),
                      program.Run("train", "mlp.toml", "--run-dir", name, "--resume", "never",
                                  cwd=self.folder)]
            first, second = (start.wait() for start in starts)
            self.assertEqual(first.code, 0, first)  # second or alone, it resumes
            self.assertIn(second.code, (0, 2), second)
            self.assertTrue((self.folder / name / "DONE").exists())
            self.assertEqual(self.hash(name), self.hash("whole"))

    def test_run_folder_of_another_recipe(self):
        self.train("mlp", "run", "train.epochs=1")
        for setting, key in (("optimizer.lr=0.1", "optimizer.lr"), ("seed=9", "seed"),
                             ("data.global_batch=50", "data.global_batch")):
            self.refused([*TRAIN, "--set", setting], key, "--run-dir", ranks=[0])
        self.refused(["train", "conv.toml", "--run-dir", "run"], "network.layers[0].type")

    def test_a_plan_needs_no_folder_of_its_own(self):
        """Only what was asked about a folder is refused because of it."""
        self.quern("train", "mlp.toml", "--set", "train.epochs=1")
        folder = next((self.folder / "runs").iterdir()).relative_to(self.folder)
        lower, plan = ["train", "mlp.toml", "--set", "optimizer.lr=0.1"], ["--dry-run"]
        refusal = (f"{folder}/recipe.toml belongs to a run of a different recipe: optimizer.lr is 0.002 there, and 0.1 now")
        before = training.tree(self.folder)
        for ranks in 0, 2:
            done = self.quern(*lower, *plan, ranks=ranks)
            self.assertEqual(set(done.codes), {0}, done)
            self.assertIn("lr = 0.1", done.out)
            self.assertIn("\ngradient reduction ", done.out)
            self.assertEqual(done.err.count("warning: without --run-dir a training would be refused: "), 1, done)
            self.assertIn(refusal, done.err.splitlines()[-1])
        for more in ([], ["--run-dir", folder, *plan], ["--run-dir", folder, "--check-recipe"],
                     ["--change", "seed=3", *plan], ["--resume", folder, *plan]):
            self.assertEqual(self.quern(*lower, *more).code, 2, more)
        self.assertEqual(training.tree(self.folder), before)
        (self.folder / folder / "STOP").touch()
        self.assertIn("stops this run (remove the file", self.quern("train", "mlp.toml", *plan).err)
        shutil.rmtree(self.folder / folder / "checkpoints")
        (self.folder / folder / "STOP").unlink()
        done = self.quern("train", "mlp.toml", *plan)
        self.assertEqual(done.code, 0, done)
        self.assertIn("would be refused: the run in", done.err)

    def test_the_message_names_the_file_that_is_of_another_recipe_and_all_its_keys(self):
        self.train("mlp", "run", "train.epochs=1")
        self.train("mlp", "other", "train.epochs=1", "data.global_batch=60", "seed=9")
        checkpoint_file(self.folder / "run", 13).unlink()
        foreign = shutil.copy(checkpoint_file(self.folder / "other", 10), self.folder / "run" / "checkpoints")
        name = "run/checkpoints/ckpt-0000000010.h5"
        differences = "seed is 9 there, and 3 now; data.global_batch is 60 there, and 49 now"
        self.refused(TRAIN, f"error: {name} belongs to a run of a different recipe: {differences} (take another --run-dir, or the old "
                     "values)")
        (self.folder / "run" / "recipe.toml").unlink()
        self.refused(TRAIN, f"error: {name} belongs to a run of a different recipe: {differences}", ranks=[0])
        self.refused(["train", "mlp.toml", "--run-dir", "new", "--resume", name],
                     f"error: {name} belongs to a run of a different recipe: {differences} (take another checkpoint, or the old values)",
                     ranks=[0])
        Path(foreign).unlink()
        shutil.copy(self.folder / "other" / "recipe.toml", self.folder / "run")
        (self.folder / "run" / "DONE").unlink()
        self.refused(TRAIN, f"error: run/recipe.toml belongs to a run of a different recipe: {differences} (take another --run-dir",
                     ranks=[0])

    def test_done_without_a_checkpoint(self):
        self.train("mlp", "run", "train.epochs=1")
        shutil.rmtree(self.folder / "run" / "checkpoints")
        for more in ([], ["--set", "train.epochs=2"], ["--dry-run"]):
            self.refused([*TRAIN, *more], "the run in 'run' is done", "no checkpoint left", "another --run-dir",
                         "remove that folder", code=93, ranks=(0, 2) if not more else (0,))
        (self.folder / "run" / "recipe.toml").unlink()
        self.refused([*TRAIN, "--resume", "never"], "'run' holds a run already", ranks=[0])

    def test_checkpoint_whose_name_tells_of_another_step(self):
        self.train("mlp", "run", "train.epochs=2")
        folder = self.folder / "run"
        checkpoint_file(folder, 13).rename(checkpoint_file(folder, 9999))
        said = "'run/checkpoints/ckpt-0000009999.h5': it is of step 13, expected step 9999 as its name says"
        self.refused(["checkpoint", "verify", "run"], "1 of 2 checkpoints damaged", code=93, ranks=[0])
        self.assertIn(f"damaged: {said}", self.quern("checkpoint", "verify", "run").out)
        done = self.train("mlp", "run")
        self.assertIn(f"{said}; this checkpoint is passed over", done.err)
        self.assertIn("continuing from run/checkpoints/ckpt-0000000026.h5", done.err)

    def test_run_folder_in_use_already(self):
        self.train("mlp", "run", "train.epochs=1")
        self.refused([*TRAIN, "--resume", "never"], "--resume never", "run")

    def test_start_from_a_file_where_the_run_is_further(self):
        self.train("mlp", "run", "train.epochs=2")
        file = checkpoint_file(self.folder / "run", 13)
        self.refused([*TRAIN, "--resume", file], "step 26", "(13)", "--run-dir")

    def test_fewer_epochs_than_trained(self):
        self.train("mlp", "run", "train.epochs=2")
        self.refused([*TRAIN, "--set", "train.epochs=1"], "train.epochs is 1", "trained 2")

    def test_batch_per_rank_on_other_ranks(self):
        done = self.train("mlp", "run", "train.epochs=1", "data.batch_per_rank=50")
        self.assertIn(" samples, batch 50 (50 per rank), 1 rank x ", done.err)
        setting = ["--set", "data.batch_per_rank=25"]
        self.refused([*TRAIN, *setting], "global batch of 50", "makes 25", "data.global_batch=50",
                     ranks=[0, 1])
        done = self.train("mlp", "run", "train.epochs=2", "data.global_batch=50", ranks=2)
        self.assertIn(" samples, batch 50, 2 ranks x ", done.err)

    def test_run_folder_from_an_empty_variable(self):
        self.refused(["train", "mlp.toml", "--run-dir", ""], "--run-dir", "is empty")

    def test_checkpoint_of_another_network(self):
        self.train("conv", "conv", "train.epochs=1")
        file = checkpoint_file(self.folder / "conv", 13)
        self.refused([*TRAIN, "--resume", file], "network.layers", "conv2d")

    def test_checkpoint_that_is_none(self):
        self.refused([*TRAIN, "--resume", "absent.h5"], "absent.h5", "auto, never", "run folder")
        self.refused([*TRAIN, "--resume", "train"], "no checkpoint in 'train'", "run folder", ranks=[0])
        (self.folder / "bad.h5").write_text("not HDF5")
        self.refused([*TRAIN, "--resume", "bad.h5"], "bad.h5", code=93)

    def test_checkpoint_of_many_names_for_one_tensor(self):
        """What it claims to hold is more than the file, and would be more than any memory."""
        values = np.zeros(100000, "<f4")
        digest = hashlib.sha256(values.tobytes()).hexdigest()
        paths = [f"/model/layer{i}/weight" for i in range(3)]
        entries = [{"path": path, "shape": [100000], "type": "float32", "sha256": digest} for path in paths]
        manifest = json.dumps({"datasets": entries, "train_sha256": ""})
        with h5py.File(self.folder / "many.h5", "w") as file:
            file.attrs.update(format="quern-checkpoint", format_version=1, manifest=manifest,
                              manifest_sha256=hashlib.sha256(manifest.encode()).hexdigest())
            file[paths[0]] = values
            file[paths[0]].attrs["sha256"] = digest
            for path in paths[1:]:
                file[path] = file[paths[0]]
        done = self.quern("checkpoint", "verify", "many.h5")
        self.assertEqual(done.code, 93, done)
        self.assertNotIn(f"'{paths[0]}'", done.out)
        for path in paths[1:]:
            self.assertIn(f"damaged: 'many.h5': dataset '{path}' does not fit into the file\n", done.out)

    def test_checkpoint_trained_on_other_data(self):
        self.train("mlp", "run", "train.epochs=1")
        (self.folder / "other").mkdir()
        training.make_shards(self.folder / "other", "train", *idx.blobs(600, seed=9))
        self.refused([*TRAIN, "--set", "data.train=other/train"], "other data", "ckpt-0000000013.h5")

    def test_evaluate(self):
        self.train("mlp", "run", "train.epochs=1")
        evaluate = ["evaluate", "run", "--data"]
        self.refused([*evaluate, "absent"], "absent")
        self.refused(["evaluate", "absent", "--data", "test"], "absent")
        self.refused(["evaluate", "train", "--data", "test"], "no checkpoint", ranks=[0])
        (self.folder / "small").mkdir()
        training.make_shards(self.folder / "small", "test", *idx.blobs(20, size=7))
        self.refused([*evaluate, "small/test"], "[1, 12, 12]", "[1, 7, 7]")
        for step in checkpoint_steps(self.folder / "run"):
            checkpoint_file(self.folder / "run", step).write_text("garbage")
        self.refused([*evaluate, "test"], "none of the 1 checkpoints", code=93)

    def test_predict(self):
        self.train("mlp", "run", "train.epochs=1")
        (self.folder / "garbage").write_bytes(b"\x1f\x8b" + bytes(99))
        (self.folder / "small").write_bytes(idx.to_bytes(idx.blobs(20, size=7)[0]))
        for images, parts in (("garbage", ["garbage"]), ("absent", ["absent"]),
                              ("mlp.toml", ["mlp.toml", "of no format that is known here", "idx"]),
                              ("small", ["[1, 12, 12]", "[1, 7, 7]"])):
            self.refused(["predict", "run", "--images", images], *parts)
        self.refused(["predict", "run", "--data", "absent"], "absent", ranks=[0])
        for both in ([], ["--data", "test", "--images", "small"]):
            self.refused(["predict", "run", *both], "either --images or --data", ranks=[0])


if __name__ == "__main__":
    training.main()
