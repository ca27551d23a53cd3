# SPDX-License-Identifier: Apache-2.0
"""Stopped trials of a sweep: a task of an array requeues itself and no other, packed trials go on where
each of them stood."""
import re
import signal

import cluster
import ranks
import toy


class SweepTest(cluster.JobTest):
    SHAPE = {"NODES": 2, "CPUS": 4, "CRED_EXPIRE": 5}

    def start(self, run, *values):
        toy.write_recipe(self.folder)
        (self.folder / "grid").write_text("seed=3\nseed=4\n")
        return self.job("generic", "sweep", "RECIPE=toy.toml", f"RUN_DIR={run}", "GRID=grid", "TIME=10",
                        *values)

    def task(self, array, number):
        for line in self.cluster.run("scontrol", "show", "job", "-o", array).splitlines():
            facts = dict(pair.split("=", 1) for pair in line.split() if "=" in pair)
            if facts["ArrayTaskId"] == str(number):
                return facts
        self.fail(f"no task {number} in {array}")

    def assert_trials(self, run):
        """Trial 0 has the toy recipe's own seed, trial 1 another one."""
        self.assertEqual(self.hash(f"{run}/trial-0"), toy.reference_hash(self.folder))
        self.assertNotEqual(self.hash(f"{run}/trial-1"), toy.reference_hash(self.folder))
        for trial in range(2):
            self.assertTrue((self.folder / run / f"trial-{trial}" / "DONE").exists())

    def test_one_task_requeues_only_itself(self):
        array = self.start("array", "RANKS=2")
        for trial in range(2):
            self.wait_for_checkpoint(array, f"array/trial-{trial}", after=5)
        # The task whose own job id is that of the array is the one where a mistake would show.
        own = next(number for number in range(2) if self.task(array, number)["JobId"] == array)
        self.cluster.run("scancel", "--signal=USR1", f"{array}_{own}")
        self.complete(array, "array")
        self.assertEqual(self.cluster.states(array), ["COMPLETED"] * 2)
        self.assertEqual(self.task(array, own)["Restarts"], "1")
        self.assertEqual(self.task(array, 1 - own)["Restarts"], "0")
        self.assert_trials("array")

    def test_packed_trials(self):
        job = self.start("packed", "RANKS=4", "TRIALS_PER_JOB=2")
        for trial in range(2):
            self.wait_for_checkpoint(job, f"packed/trial-{trial}", after=5)
        self.cluster.run("scancel", "--signal=USR1", job)
        self.complete(job, "packed")
        self.assertEqual(self.task(job, 0)["Restarts"], "1")
        self.assert_trials("packed")

    def test_trials_that_hang_are_killed_or_give_up(self):
        """The first two go on from their checkpoints in the next start of their task; in spite of the third the task
        does not end as completed."""
        toy.write_recipe(self.folder)
        (self.folder / "mixed").write_text("seed=3\nseed=4\noptimizer.lr=1e30\n")
        job = self.job("generic", "sweep", "RECIPE=toy.toml", "RUN_DIR=hang", "GRID=mixed", "TIME=10", "RANKS=3",
                       "TRIALS_PER_JOB=3", "WATCHDOG=1")
        for trial, number in enumerate((signal.SIGSTOP, signal.SIGKILL)):
            self.wait_for_checkpoint(job, f"hang/trial-{trial}", after=5)
            self.assertEqual(ranks.send(ranks.find(self.folder / "hang" / f"trial-{trial}"), number), 1)
        state = self.cluster.wait(job, timeout_s=400)
        log = self.log("hang", "sweep")
        self.assertEqual(state, ("FAILED", 93), log)
        self.assertEqual(self.task(job, 0)["Restarts"], "1", log)
        self.assertIn("trial 0: ending the step: nothing was written for 1 minutes", log)
        self.assertIn("trial 1: failed: exit status", log)
        self.assertIn("trial 2: given up: exit status 93", log)
        self.assert_trials("hang")

    def test_another_grid_for_the_same_folder(self):
        """Refused at submit, and by a task whose folder was taken while it waited."""
        values = ("generic", "sweep", "RECIPE=toy.toml", "RUN_DIR=regrid", "GRID=lines", "TIME=10",
                  "SET=train.epochs=1")
        toy.write_recipe(self.folder)
        (self.folder / "lines").write_text("optimizer.lr=7e-1\noptimizer.lr=2e-3\n")
        waiting = self.job(*values, "SBATCH=--hold")
        done = self.submit(*values, check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(f"job {waiting} (sweep) is queued or running", done.stderr)
        for name in ("jobs.txt", "submitted.txt"):  # as if it waited in the queue of another cluster
            (self.folder / "regrid" / "job" / name).unlink()
        (self.folder / "lines").write_text("optimizer.lr=1e-3\n  optimizer.lr=2e-3\n")
        self.complete(self.job(*values), "regrid")
        before = self.hash("regrid/trial-0")
        (self.folder / "lines").write_text("optimizer.lr=7e-1\noptimizer.lr=1e-3\noptimizer.lr=2e-3\n")
        done = self.submit(*values, check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("trial 0 is 'optimizer.lr=7e-1'", done.stderr)
        self.assertIn("trial-0 holds 'optimizer.lr=1e-3'", done.stderr)
        self.cluster.run("scontrol", "release", waiting)
        self.cluster.wait(waiting)
        self.assertEqual(sorted(self.cluster.states(waiting)), ["COMPLETED", "FAILED"])
        self.assertEqual(self.task(waiting, 0)["ExitCode"], "2:0")
        self.assertIn("trial 0: error: it is 'optimizer.lr=7e-1' in the grid", self.log("regrid", "sweep"))
        self.assertEqual(self.hash("regrid/trial-0"), before)
        # New lines at the end are new trials; the others are finished.
        (self.folder / "lines").write_text("optimizer.lr=1e-3\noptimizer.lr=2e-3\noptimizer.lr=7e-1\n")
        done = self.submit(*values[:-1], "SET=train.epochs=2", check=False)
        self.assertIn("SET=train.epochs=1, and this sweep has", done.stderr)
        self.complete(self.job(*values), "regrid")
        self.assertEqual((self.folder / "regrid/trial-2/job/trial").read_text(), "optimizer.lr=7e-1\n")

    def test_a_sweep_that_is_continued(self):
        """Finished trials are not started again, the others go on or begin, and each task has its trial's number."""
        toy.write_recipe(self.folder)
        (self.folder / "three").write_text("seed=5\nseed=3\nseed=4\n")
        first = self.job("generic", "sweep", "RECIPE=toy.toml", "RUN_DIR=goes-on", "GRID=three", "TIME=10", "MAX_PARALLEL=1")
        self.cluster.wait_until(lambda: max(self.checkpoint_steps("goes-on/trial-1"), default=-1) > 5, 240,
                                lambda: self.log("goes-on", "sweep"))
        self.cluster.run(cluster.ROOT / "jobs" / "stop", "goes-on", cwd=self.folder)
        self.cluster.wait(first)
        done = self.folder / "goes-on" / "trial-0" / "DONE"
        before = done.stat().st_mtime_ns
        said = self.cluster.run(cluster.ROOT / "jobs" / "again", "goes-on", cwd=self.folder)
        self.assertIn("sweep: of 3 trials 1 finished (not started again), 1 resume, 1 begin\n", said)
        second = re.search(r"^job (\d+):", said, re.MULTILINE)[1]
        self.complete(second, "goes-on")
        tasks = self.cluster.run("squeue", "-h", "-r", "-t", "all", "-j", second, "-o", "%K").split()
        self.assertEqual(sorted(tasks), ["1", "2"])
        self.assertEqual(done.stat().st_mtime_ns, before)
        self.assertEqual(self.hash("goes-on/trial-1"), toy.reference_hash(self.folder))
        self.assertEqual(len(list((self.folder / "goes-on").glob("trial-*/DONE"))), 3)

    def test_stop_file_of_the_sweep(self):
        """The running trials write a checkpoint and end, the waiting ones do not start."""
        values = ("generic", "sweep", "RECIPE=toy.toml", "RUN_DIR=halt", "GRID=seeds", "TIME=10", "RANKS=2",
                  "TRIALS_PER_JOB=2", "MAX_PARALLEL=1")
        toy.write_recipe(self.folder)
        (self.folder / "seeds").write_text("seed=3\nseed=4\nseed=5\n")
        job = self.job(*values)
        for trial in range(2):
            self.wait_for_checkpoint(job, f"halt/trial-{trial}", after=5)
        (self.folder / "halt" / "STOP").touch()
        self.cluster.wait(job)
        log = self.log("halt", "sweep")
        self.assertEqual(set(self.cluster.states(job)), {"CANCELLED", "FAILED"}, log)
        self.assertEqual(self.task(job, 0)["ExitCode"], "85:0")
        self.assertIn("trial 0: not requeued: asked to stop", log)
        self.assertEqual(len(list((self.folder / "halt").glob("trial-*"))), 2)
        self.assertEqual(list((self.folder / "halt").glob("trial-*/STOP")), [])
        # A task that starts in spite of it trains nothing.
        late = self.job(*values)
        self.cluster.wait(late)
        self.assertEqual(list((self.folder / "halt").glob("trial-*/DONE")), [])
        (self.folder / "halt" / "STOP").unlink()
        self.complete(self.job(*values), "halt")
        self.assertEqual(len(list((self.folder / "halt").glob("trial-*/DONE"))), 3)
        self.assertEqual(self.hash("halt/trial-0"), toy.reference_hash(self.folder))

    def test_stop_file_and_a_diverging_trial(self):
        toy.write_recipe(self.folder)
        (self.folder / "mixed").write_text("seed=3\noptimizer.lr=1e30\n")
        job = self.job("generic", "sweep", "RECIPE=toy.toml", "RUN_DIR=stop", "GRID=mixed", "RANKS=2",
                       "TRIALS_PER_JOB=2", "TIME=10")
        self.wait_for_checkpoint(job, "stop/trial-0", after=5)
        (self.folder / "stop" / "STOP").touch()
        self.cluster.run("scancel", "--signal=USR1", job)
        self.assertEqual(self.cluster.wait(job), ("FAILED", 93))
        self.assertIn("not requeued: asked to stop", self.log("stop", "sweep"))
        self.assertTrue((self.folder / "stop" / "trial-1" / "job" / "GAVE_UP").exists())
        self.assertEqual(self.task(job, 0)["Restarts"], "0")


if __name__ == "__main__":
    cluster.main()
