# SPDX-License-Identifier: Apache-2.0
"""Stopped trials of a sweep: a task of an array requeues itself and no other, packed trials go on where
each of them stood."""
import cluster
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
