# SPDX-License-Identifier: Apache-2.0
"""Training that diverges, and a rank that fails alone: all ranks end, with one message."""
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import training
from program import EACH_RANK, EACH_RANK_ALONE, PROGRAM, RANK
from training import checkpoint_steps, metrics

# A rank that meets its limit of file size gets an error and no signal, as on a full disk.
WIDE = """[
  {type = "flatten"},
  {type = "linear", features = 12000},
  {type = "linear", features = 10},
]"""


def is_running(pid):
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


class StartTest(training.TrainingTest):
    def refuses(self, *arguments, **options):
        done = self.quern("train", "mlp.toml", "--run-dir", "run", *arguments, **options)
        self.assertEqual(set(done.codes), {2}, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertFalse((self.folder / "run").exists())
        return done.errors()[0]

    def test_ranks_with_other_command_lines(self):
        setting = f'set -- "$@" --set "seed={RANK}"; '
        error = self.refuses(ranks=3, each_rank=setting + EACH_RANK)
        self.assertIn("the command line is not the same on all ranks: rank 1 on ", error)
        self.assertIn("has 'seed=1' where rank 0 has 'seed=0', and so do others (1 rank) (", error)
        only_planned = f'[ "{RANK}" = 0 ] || set -- "$@" --dry-run; '
        self.assertIn("has '--dry-run' where rank 0 has nothing", self.refuses(ranks=2, each_rank=only_planned + EACH_RANK))

    def test_threads_that_cannot_be(self):
        for threads in (600, 0, "many", "3x"):
            error = self.refuses(threads=threads)
            self.assertIn(f"OMP_NUM_THREADS={threads} in the environment (expected 1 to 512 ", error)
        self.assertIn("SLURM_CPUS_PER_TASK=513 ", self.refuses(threads="", env={"SLURM_CPUS_PER_TASK": "513"}, ranks=2))

    def test_variables_of_kokkos_are_not_used(self):
        for name, value in ("KOKKOS_NUM_THREADS", "none"), ("KOKKOS_NUM_THREADS", "2"), ("KOKKOS_DEVICE_ID", "x"):
            done = self.quern("train", "mlp.toml", "--run-dir", "run", "--dry-run", ranks=2, env={name: value})
            self.assertEqual(set(done.codes), {0}, done)
            self.assertEqual(done.err.count(f"warning: {name} in the environment is not used ("), 1, done)

    def test_more_threads_than_processors(self):
        """They spin while others wait for their processor, unless told not to."""
        many = 2 * os.cpu_count()
        arguments = ["train", "mlp.toml", "--run-dir", "run", "--dry-run"]
        for policy, count in ("active", 1), ("passive", 0):
            done = self.quern(*arguments, threads=many, ranks=2, env={"OMP_WAIT_POLICY": policy})
            self.assertEqual(set(done.codes), {0}, done)
            self.assertEqual(done.err.count("threads spin while they wait"), count, done)

    def test_ranks_that_the_program_cannot_start(self):
        for ranks in 0, 2:
            error = self.refuses("--ranks", "4", ranks=ranks)
            self.assertIn("--ranks requires --check-recipe; for training the launcher sets the ranks: mpirun -n 4 quern train ...", error)


class DivergenceTest(training.TrainingTest):
    def diverges(self, recipe, *sets, ranks, **options):
        done = self.start(recipe, f"run{ranks}", *sets, ranks=ranks, **options).wait()
        self.assertNotIn(0, done.codes)
        if not options:
            self.assertEqual(set(done.codes), {93}, done)
        self.assertEqual(done.code, 93, done)
        self.assertEqual(len(done.errors()), 1, done)
        metrics(self.folder / f"run{ranks}")  # valid JSON
        self.assertFalse((self.folder / f"run{ranks}" / "DONE").exists())
        return done.errors()[0]

    def test_weights_too_large(self):
        messages = set()
        for ranks in (0, 1, 3):
            messages.add(self.diverges("conv", "optimizer.lr=1e25", "checkpoint.every_steps=1",
                                       ranks=ranks))
            run = f"run{ranks}"
            self.assertEqual(self.quern("checkpoint", "verify", run).code, 0)
        self.assertEqual(len(messages), 1, messages)
        message = messages.pop()
        self.assertRegex(message, r"diverged at step \d+ \(epoch 1\)")
        self.assertRegex(message, r"layer '(conv1|fc1)'")
        last = checkpoint_steps(self.folder / "run3")[-1]
        self.assertIn(f"the checkpoint of step {last} is untouched", message)

    def test_before_the_first_checkpoint(self):
        message = self.diverges("mlp", "optimizer.lr=1e30", ranks=2)
        self.assertIn("no checkpoint was written yet", message)
        self.assertEqual(checkpoint_steps(self.folder / "run2"), [])

    def test_weights_that_overflow_are_never_written(self):
        sgd = (self.folder / "mlp.toml").read_text().replace('"adam"', '"sgd"')
        self.write_recipe("sgd", sgd.replace("lr = 2e-3", "lr = 1e37"))
        message = self.diverges("sgd", "optimizer.lr=3e38", "optimizer.weight_decay=1e3",
                                "checkpoint.every_steps=1", ranks=2)
        self.assertIn("diverged by step 1:", message)
        self.assertIn("weights or optimizer state are not finite", message)
        self.assertEqual(checkpoint_steps(self.folder / "run2"), [])

    def test_weights_that_overflow_in_the_last_step(self):
        sgd = (self.folder / "mlp.toml").read_text().replace('"adam"', '"sgd"')
        self.write_recipe("sgd", sgd.replace("lr = 2e-3", "lr = 1e37"))
        for ranks in (1, 2):
            message = self.diverges("sgd", "optimizer.lr=3e38", "optimizer.weight_decay=1e3", "data.global_batch=1000000",
                                    "train.epochs=1", ranks=ranks)
            self.assertIn("weights or optimizer state are not finite", message)
            events = (self.folder / f"run{ranks}" / "events.jsonl").read_text().splitlines()
            self.assertEqual([json.loads(line)["event"] for line in events], ["start", "failure"])

    def test_the_same_command_diverges_again(self):
        first = self.diverges("mlp", "optimizer.lr=1e20", "checkpoint.every_steps=1", ranks=2)
        again = self.diverges("mlp", "optimizer.lr=1e20", "checkpoint.every_steps=1", ranks=2)
        self.assertEqual(first, again)


class OutputTest(training.TrainingTest):
    def test_a_full_disk_behind_standard_output(self):
        self.train("mlp", "run", "train.epochs=1")
        test = training.data_folder() / "test"
        for command in (["checkpoint", "hash", "run"], ["checkpoint", "ls", "run"], ["metrics", "run", "--csv"], ["info"],
                        ["evaluate", "run", "--data", test], ["predict", "run", "--data", test], ["data", "show", test]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([PROGRAM, *map(str, command)], cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                      text=True, check=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertEqual(done.stderr.count("error:"), 1, done)
            self.assertIn("cannot write to standard output: No space left on device", done.stderr)


    def test_training_goes_on_when_nobody_can_read_what_it_says(self):
        for arguments, code in ((), 0), (("--set", "train.epochs=100000"), 85):
            with open("/dev/full", "w", encoding="utf-8") as full:
                run = subprocess.Popen([PROGRAM, "train", "mlp.toml", "--run-dir", f"run{code}", *arguments],
                                       cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
            if code == 85:
                while not checkpoint_steps(self.folder / "run85"):
                    time.sleep(0.01)
                run.send_signal(signal.SIGUSR1)
            said = run.communicate()[1]
            self.assertEqual(run.returncode, code, said)
            self.assertEqual(said.count("warning: cannot write to standard output: No space left on device"), 1, said)


class FailingRankTest(training.TrainingTest):
    def test_disk_becomes_full(self):
        self.write_recipe("wide", training.RECIPE, WIDE)
        run = self.start("wide", "run", "train.epochs=2000", "checkpoint.every_steps=2", ranks=3)
        self.assertTrue(run.wait_until(lambda: checkpoint_steps(self.folder / "run")))
        for pid in run.rank_pids():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (2 ** 23, 2 ** 23))
        done = run.wait(60)
        self.assertNotEqual(done.code, 0, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertRegex(done.errors()[0], r"rank 0 on \S+ \(data 0 of 3\): cannot write the checkpoint")
        left = [path.name for path in (self.folder / "run" / "checkpoints").iterdir()]
        self.assertTrue(left)
        self.assertTrue(all(name.endswith(".h5") for name in left), left)
        self.assertEqual(self.quern("checkpoint", "verify", "run").code, 0)
        self.assert_told("run", "cannot write the checkpoint")

    def assert_told(self, name, reason):
        """Else it would look as if it had been killed, or trained still."""
        events = [json.loads(line) for line in (self.folder / name / "events.jsonl").read_text().splitlines()]
        self.assertEqual([event["event"] for event in events if event["event"] != "checkpoint"], ["start", "failure"])
        self.assertIn(reason, events[-1]["reason"])

    def test_checkpoint_folder_becomes_a_file(self):
        for ranks in (0, 3):
            name = f"run{ranks}"
            folder = self.folder / name / "checkpoints"
            run = self.start("mlp", name, "train.epochs=2000", "checkpoint.every_steps=20",
                             ranks=ranks, each_rank=EACH_RANK_ALONE)
            self.assertTrue(run.wait_until(lambda: checkpoint_steps(self.folder / name)))
            run.send(signal.SIGSTOP)  # or it would make the folder anew in between
            folder.rename(self.folder / name / "moved")
            folder.touch()
            run.send(signal.SIGCONT)
            done = run.wait(60)
            self.assertEqual(done.code, 1, done)
            self.assertNotIn(0, done.codes)
            self.assertEqual(len(done.errors()), 1, done)
            # Where the program stood: it was about to write a checkpoint, or to list the folder.
            self.assertRegex(done.errors()[0], f"{name}/checkpoints(/ckpt-|': Not a directory)")
            self.assert_told(name, f"{name}/checkpoints")

    def test_a_rank_dies(self):
        self.train("mlp", "whole", "train.epochs=200", ranks=2)
        run = self.start("mlp", "run", "train.epochs=200", ranks=3, each_rank=EACH_RANK_ALONE)
        self.assertTrue(run.wait_until(lambda: checkpoint_steps(self.folder / "run")))
        pids = run.rank_pids()
        self.assertEqual(len(pids), 3)
        os.kill(run.pid_of_rank(0), signal.SIGKILL)
        done = run.wait(60)
        self.assertNotEqual(done.code, 0, done)
        self.assertNotIn(0, done.codes)
        # The dead rank says nothing, and the others say it once.
        self.assertEqual(len(done.errors()), 1, done)
        self.assertRegex(done.errors()[0], r"rank 0 on \S+ \(data 0 of 3\) has ended without a word")
        self.assertIn(137, done.codes)
        self.assertIn("Exit code:    137", done.err + done.out)
        end = time.monotonic() + 30  # mpirun does not wait for those that it ends
        while any(map(is_running, pids)) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual([pid for pid in pids if is_running(pid)], [])
        # What is there is whole, and the run goes on from it.
        self.assertEqual(self.quern("checkpoint", "verify", "run").code, 0)
        self.train("mlp", "run", "train.epochs=200", ranks=2)
        self.assert_same_run("run", "whole")


    def test_a_rank_of_any_group_dies(self):
        """Whoever it is: one message says where it stood, and any grid goes on with the bits of one rank."""
        sets = ("train.epochs=200", "parallel.tensor_slices=8", "optimizer.clip_norm=0.5")
        self.train("mlp", "whole", *sets)
        grids = {"data 1 of 2": (2, ()),
                 "stage 1 of 2": (2, ("parallel.pipeline=2", "parallel.micro_batches=2")),
                 "tensor 0 of 2": (2, ("parallel.tensor=2",)),
                 "data 0 of 2, stage 1 of 2": (4, ("parallel.pipeline=2",)),
                 "stage 0 of 2, tensor 1 of 2": (4, ("parallel.pipeline=2", "parallel.tensor=2"))}
        victims = (1, 1, 0, 2, 1)
        for (place, (ranks, keys)), victim in zip(grids.items(), victims):
            with self.subTest(place):
                name = f"run{len(place)}-{victim}"
                run = self.start("mlp", name, *sets, *keys, "checkpoint.every_steps=5", ranks=ranks,
                                 each_rank=EACH_RANK_ALONE)
                self.assertTrue(run.wait_until(lambda: checkpoint_steps(self.folder / name)))
                os.kill(run.pid_of_rank(victim), signal.SIGKILL)
                done = run.wait(60)
                self.assertNotEqual(done.code, 0, done)
                self.assertNotIn(0, done.codes)
                self.assertEqual(len(done.errors()), 1, done)
                self.assertRegex(done.errors()[0],
                                 rf"rank {victim} on \S+ \({place}\) has ended without a word")
                self.train("mlp", name, *sets, "parallel.tensor=4", "parallel.pipeline=1", ranks=4)
                self.assert_same_run(name, "whole")


if __name__ == "__main__":
    training.main()
