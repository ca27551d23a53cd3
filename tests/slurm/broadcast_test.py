# SPDX-License-Identifier: Apache-2.0
"""BCAST: the ranks run a copy of the program on their node's own disk, with its libraries, in every start of a job, and
nothing of it stays there. /dev/shm stands for the disk: each virtual node has its own."""
import os
import shutil
import subprocess
import unittest
from pathlib import Path

import cluster
import ranks
import toy


def library_of(program):
    """One that the program loads: (name, path)."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if name.startswith(("libfmt.", "libhdf5")):
            return name, rest.split()[0]
    raise unittest.SkipTest("the program loads neither libfmt nor libhdf5 as a shared library")


class BroadcastTest(cluster.JobTest):
    SHAPE = {"NODES": 2, "CPUS": 4, "CRED_EXPIRE": 5}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Slurm leaves out those of the system's folders.
        cls.library, path = library_of(cluster.PROGRAM)
        (cls.folder / "lib").mkdir()
        shutil.copy(path, cls.folder / "lib" / cls.library)
        toy.write_recipe(cls.folder)

    def start(self, run, *values, template="train", **variables):
        done = self.submit("generic", template, "RECIPE=toy.toml", f"RUN_DIR={run}", "NODES=2", "RANKS=1", "TIME=10",
                           *values, env={"LD_LIBRARY_PATH": self.folder / "lib"} | variables)
        return done.stdout.split("job ", 1)[1].split(":", 1)[0]

    def on_nodes(self, *command):
        return self.cluster.run("srun", "-N2", "--ntasks-per-node=1", *command)

    def left_behind(self):
        return [line for line in self.on_nodes("ls", "/dev/shm").splitlines() if line.startswith("quern-")]

    def ranks(self, run, number):
        self.cluster.wait_until(lambda: len(ranks.find(self.folder / run)) == number, 120, lambda: self.log(run, "*"))
        return ranks.find(self.folder / run)

    def assert_copied(self, run, folder, number=2):
        for rank in self.ranks(run, number):
            self.assertEqual(os.readlink(f"/proc/{rank}/exe"), f"{folder}/bin/quern")
            maps = Path(f"/proc/{rank}/maps").read_text()
            found = {line.split()[-1] for line in maps.splitlines() if self.library in line}
            self.assertEqual(found, {f"{folder}/lib/{self.library}"})

    def test_every_start_of_a_job(self):
        job = self.start("run", "BCAST=/dev/shm")
        folder = f"/dev/shm/quern-{job}-0"
        self.wait_for_checkpoint(job, "run", after=5)
        self.assert_copied("run", folder)
        self.cluster.run("scancel", "--signal=USR1", job)
        self.wait_for_line("run", "start 2 on")
        self.wait_for_checkpoint(job, "run", after=max(self.checkpoint_steps("run")))
        self.assert_copied("run", folder.replace("-0", "-1"))
        self.complete(job, "run")
        self.assertEqual(self.cluster.facts(job)["Restarts"], "1")
        self.assertEqual(self.log("run").count(f"BCAST: the ranks run /dev/shm/quern-{job}-"), 2)
        self.assertEqual(self.left_behind(), [])
        self.assertEqual(self.hash("run"), toy.reference_hash(self.folder))

    def test_packed_trials_of_a_sweep(self):
        (self.folder / "grid").write_text("seed=3\nseed=4\n")
        job = self.start("sweep", "BCAST=/dev/shm", "GRID=grid", "TRIALS_PER_JOB=2", template="sweep")
        for trial in range(2):
            self.wait_for_checkpoint(job, f"sweep/trial-{trial}", after=5)
            self.assert_copied(f"sweep/trial-{trial}", f"/dev/shm/quern-{job}-0", 1)
        self.complete(job, "sweep")
        self.assertEqual(self.hash("sweep/trial-0"), toy.reference_hash(self.folder))
        self.assertEqual(self.left_behind(), [])

    def test_evaluate_and_a_point_of_scaling(self):
        toy.write_shards(self.folder, 2)
        toy.write_recipe(self.folder, "shards.toml", toy.of_shards(self.folder / "train"))
        subprocess.run([cluster.PROGRAM, "train", "shards.toml", "--run-dir", "trained", "--set", "train.epochs=1"],
                       cwd=self.folder, check=True, capture_output=True, timeout=100)
        shape = ("BCAST=/dev/shm", "NODES=2", "RANKS=1", "TIME=10")
        evaluated = self.job("generic", "evaluate", "RUN_DIR=trained", "DATA=train", *shape)
        timed, _ = self.jobs("generic", "scaling", "RECIPE=toy.toml", "RUN_DIR=scaling", "BATCH=64", "NODE_LIST=2",
                             "STEPS=3", "ROUNDS=1", *(shape[0], *shape[2:]))
        for job, run, name in ((evaluated, "trained", "evaluate"), (timed, "scaling", "scaling-2")):
            self.complete(job, run)
            self.assertIn(f"BCAST: the ranks run /dev/shm/quern-{job}-0/bin/quern", self.log(run, name))
        self.assertEqual(self.left_behind(), [])

    def test_where_it_cannot_be_copied(self):
        """A folder that is not there, one that all nodes share, and a program that is a script."""
        script = self.folder / "script"
        script.write_text(f'#!/bin/sh\nexec {cluster.PROGRAM} "$@"\n')
        script.chmod(0o755)
        (self.folder / "shared").mkdir()
        fast = "SET=checkpoint.every_steps=0"
        jobs = {"nowhere": self.start("nowhere", fast, "BCAST=/not/there"),
                "shared": self.start("shared-disk", fast, f"BCAST={self.folder / 'shared'}"),
                "script": self.start("scripted", fast, "BCAST=/dev/shm", f"QUERN={script}")}
        for job, run, text in ((jobs["nowhere"], "nowhere", "No such file"),
                               (jobs["shared"], "shared-disk", "it is no folder of each node's own"),
                               (jobs["script"], "scripted", "is a script, and runs where it is")):
            self.complete(job, run)
            self.assertIn(text, self.log(run))
            self.assertEqual(self.hash(run), toy.reference_hash(self.folder))
        self.assertEqual(list((self.folder / "shared").iterdir()), [])
        self.assertEqual(self.left_behind(), [])


if __name__ == "__main__":
    cluster.main()
