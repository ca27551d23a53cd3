# SPDX-License-Identifier: Apache-2.0
"""The lock of a run folder, where the file system has none or fails, and where another process takes it."""
import errno
import os
import shutil
import signal
import sys
from pathlib import Path

import training
from program import EACH_RANK_ALONE
from training import checkpoint_steps

PRELOAD = Path(sys.argv.pop(3)).resolve()  # tests/support/preload.cpp


def failing(call, path, number):
    """Every such system call for a path with that text in it fails so."""
    return {"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_FAIL_CALL": call, "QUERN_TEST_FAIL_PATH": path,
            "QUERN_TEST_FAIL_ERRNO": str(number)}


class LockTest(training.TrainingTest):
    def test_file_systems_without_locks(self):
        """Files are written there as anywhere else: checkpoints, shards, imported weights, predictions."""
        for number in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO):
            with self.subTest(error=errno.errorcode[number]):
                env, name = failing("flock", "", number), errno.errorcode[number]
                self.train("mlp", name, "train.epochs=1", env=env)
                images = training.data_folder() / "train-images"
                for command in (["shard", "--images", images, "--out", f"set-{name}"],
                                ["import", name, "--recipe", "mlp.toml", "--out", f"{name}-start.h5"],
                                ["predict", name, "--data", "test", "--out", f"{name}-answers.h5"]):
                    done = self.quern(*command, env=env)
                    self.assertEqual(done.code, 0, done)

    def test_a_file_server_that_fails_is_no_wrong_input(self):
        """Status 2 would end the job for good."""
        for number in (errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ETIMEDOUT, errno.EACCES):
            expected = 2 if number == errno.EACCES else 1
            done = self.train("mlp", "run", env=failing("open", "run/.lock", number), expected=expected)
            self.assertEqual(done.err.count("error: "), 1, done)
            self.assertIn(f"cannot write the run folder 'run': cannot open 'run/.lock' to lock it: {os.strerror(number)}", done.err)
            self.assertFalse((self.folder / "run").exists())

    def test_a_folder_that_is_renamed_is_not_made_again(self):
        """The run would be in two folders, none of them whole."""
        sets = ("train.epochs=2000", "checkpoint.every_steps=20")
        for ranks in (0, 2):
            name, moved = f"run-{ranks}", self.folder / f"moved-{ranks}"
            run = self.start("mlp", name, *sets, ranks=ranks, each_rank=EACH_RANK_ALONE)
            self.assertTrue(run.wait_until(lambda folder=self.folder / name: checkpoint_steps(folder)))
            (self.folder / name).rename(moved)
            done = run.wait()
            self.assertEqual((done.code, len(done.errors())), (1, 1), done)
            self.assertIn(self.gone(name), done.errors()[0])
            self.assertFalse((self.folder / name).exists())
            self.assertEqual(self.quern("checkpoint", "verify", moved).code, 0)

    @staticmethod
    def gone(name):
        return f"the run folder '{name}' is no longer there, expected it to stay in its place until the training ends: " \
            "this process writes no more"

    def test_wherever_the_program_stands_when_its_folder_is_renamed(self):
        """Among other places: while it writes its first files, a checkpoint, or the name of the best one."""
        sets = ("train.epochs=30", "checkpoint.every_steps=5", "checkpoint.keep_best=true")
        for number in range(1, 25):
            with self.subTest(number=number):
                name, moved = f"run-{number}", self.folder / f"moved-{number}"
                run = self.start("mlp", name, *sets, env={"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_STOP_SYNC": f"/{name}",
                                                          "QUERN_TEST_STOP_AT": str(number)})
                self.assertTrue(run.wait_until(lambda run=run: self.is_stopped(run)))
                (self.folder / name).rename(moved)
                run.send(signal.SIGCONT)
                done = run.wait()
                self.assertEqual((done.code, len(done.errors())), (1, 1), done)
                self.assertEqual(done.errors()[0], f"quern: error: {self.gone(name)}")
                self.assertFalse((self.folder / name).exists())

    def is_stopped(self, run):
        return Path(f"/proc/{run.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def test_a_process_that_is_taken_over_while_it_syncs_a_file_writes_no_more(self):
        """The next start of the job does not wait for it: its node may be out of touch."""
        sets = ("train.epochs=8", "checkpoint.keep_best=true", "checkpoint.every_steps=5")
        self.train("mlp", "begun", *sets, "train.epochs=2")
        file = self.folder / "begun" / "metrics.jsonl"
        *lines, last = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines) + '{"kind":"step","epo\n' + last)  # so that it is written anew
        self.train("mlp", "whole", *sets)
        for number, (begun, text, at) in enumerate([
                (True, "metrics.jsonl.tmp", 1), (True, "recipe.toml.tmp", 1), (True, "checkpoints/ckpt-0000000030.h5.tmp", 2),
                (False, "checkpoints/best.h5.tmp", 2), (False, "metrics.jsonl", 3), (False, "DONE.tmp", 1)]):
            with self.subTest(file=text):
                name = f"run-{number}"
                if begun:
                    shutil.copytree(self.folder / "begun", self.folder / name)
                job = {"SLURM_JOB_ID": "99"}
                lost = self.start("mlp", name, *sets, env=job | {"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_STOP_SYNC": text,
                                                                 "QUERN_TEST_STOP_AT": str(at)})
                self.assertTrue(lost.wait_until(lambda run=lost: self.is_stopped(run)))
                self.train("mlp", name, *sets, env=job | {"SLURM_RESTART_COUNT": "1"})
                before = training.tree(self.folder / name)
                lost.send(signal.SIGCONT)
                done = lost.wait()
                self.assertEqual((done.code, len(done.errors())), (1, 1), done)
                self.assertRegex(done.errors()[0], f"'{name}' was taken over by .*: this process writes no more into it")
                after = training.tree(self.folder / name)
                changed = [file for file in before.keys() | after.keys() if before.get(file) != after.get(file)]
                self.assertEqual([file for file in changed if ".tmp." not in file], [])
                self.assertEqual([file for file in after if ".tmp." in file], [])
                self.assert_same_run(name, "whole")


if __name__ == "__main__":
    training.main()
