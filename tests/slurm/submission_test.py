# SPDX-License-Identifier: Apache-2.0
"""jobs/submit from places where users work: inside allocations, arrays and steps, whose variables sbatch would hand
on to the new job, and srun would believe."""
import shutil

import cluster
import toy
from cluster import PROGRAM, ROOT, SUBMIT

# Users write such profiles for sites that count devices by --gres.
SITE = """TITLE=by gres
SOURCE=none
CHECKED=never
ACCOUNT=optional
LIMIT=*:* 1-1000 UNLIMITED
TIME=00:10:00
GPUS_PER_NODE=2
GPU_REQUEST=--gres=gpu:@GPUS@
GPU_STEP=--gres=gpu:@GPUS@
SRUN=--mpi=pmix
OMP_BIND=none
"""


class SubmissionTest(cluster.JobTest):
    # Two processors, as any machine has: srun binds to them.
    SHAPE = {"NODES": 2, "CPUS": 2, "GPUS": 2, "CRED_EXPIRE": 5, "TASK_PLUGIN": "task/affinity"}

    def setUp(self):
        toy.write_recipe(self.folder)

    def text_of_job(self, kind, submit):
        """What a shell does in a job: submits, and tells when its own job is started a second time."""
        script = self.folder / f"{kind}.sh"
        script.write_text(f"#!/bin/bash\necho start >>{kind}.starts\n{submit} >{kind}.out 2>&1 || exit\nsleep 300\n")
        return script

    def submitted(self, kind):
        """The id in what jobs/submit has printed there."""
        file = self.folder / f"{kind}.out"
        self.cluster.wait_until(lambda: file.exists() and "  script" in file.read_text(), 120,
                                lambda: file.read_text() if file.exists() else self.cluster.queue())
        return file.read_text().split("job ", 1)[1].split(":")[0]

    def test_from_a_task_of_an_array(self):
        """The new job requeues itself, and not the task that submitted it; its restarts are counted from 0."""
        command = (f"SLURM_RESTART_COUNT=7 {SUBMIT} generic train RECIPE=toy.toml RUN_DIR=nested TIME=10 "
                   "MAX_RESTARTS=1")
        driver = self.cluster.run("sbatch", "--parsable", "--array=3", "--requeue", "-n1", "--mem=200", "-o", "/dev/null",
                                  self.text_of_job("driver", command), cwd=self.folder, env=self.slow_down()).strip()
        job = self.submitted("driver")
        self.wait_for_checkpoint(job, "nested", after=5)
        self.cluster.run("scancel", "--signal=USR1", job)
        self.complete(job, "nested", timeout_s=180)
        log = self.log("nested")
        self.assertIn("start 1 on", log)
        self.assertIn(f"requeueing {job}\n", log)
        self.assertEqual(self.cluster.facts(job)["Restarts"], "1")
        self.assertEqual((self.folder / "driver.starts").read_text(), "start\n")
        self.assertEqual(self.hash("nested"), toy.reference_hash(self.folder))
        self.cluster.run("scancel", driver)

    def test_from_a_step(self):
        """A shell on one processor, and a job of two ranks on two."""
        done = self.cluster.run("srun", "-n1", "-c1", "--mem=100", SUBMIT, "generic", "train", "RECIPE=toy.toml", "RUN_DIR=step",
                                "RANKS=2", "TIME=10", cwd=self.folder)
        job = done.split("job ", 1)[1].split(":")[0]
        self.complete(job, "step", timeout_s=180)

    def test_from_an_allocation(self):
        """One device and little memory there; the job has all devices of a node. And options that the shell exports."""
        for part in ("analysis", "jobs"):
            shutil.copytree(ROOT / part, self.folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "jobs" / "sites" / "mine.env").write_text(SITE)
        program = self.folder / "quern"
        program.write_text(f'#!/bin/sh\n[ $1 != train ] || echo "rank $SLURM_PROCID: $CUDA_VISIBLE_DEVICES"\nexec {PROGRAM} "$@"\n')
        program.chmod(0o755)
        stale = {"SLURM_GPUS": 1, "SLURM_CPUS_PER_GPU": 1, "SLURM_GRES": "gpu:1", "SLURM_STEP_GRES": "gpu:1",
                 "SLURM_RESV_PORTS": 3, "SLURM_EXCLUSIVE": "user", "SLURM_CONSTRAINT": "none", "SBATCH_TIMELIMIT": 3,
                 "SBATCH_NO_REQUEUE": 1, "SBATCH_ARRAY_INX": "0-2", "SBATCH_JOB_NAME": "zzz"}
        command = " ".join([f"{name}={text}" for name, text in stale.items()] + [
            str(self.folder / "jobs" / "submit"), "mine train RECIPE=toy.toml RUN_DIR=alloc MEM=1G TIME=10",
            f"QUERN={program}"])
        out = self.cluster.run("salloc", "-N1", "--gpus-per-node=1", "--mem-per-cpu=200", "bash", "-c", command,
                               cwd=self.folder)
        job = out.split("job ", 1)[1].split(":")[0]
        self.complete(job, "alloc", timeout_s=180)
        facts = self.cluster.facts(job)
        self.assertEqual((facts["TimeLimit"], facts["Requeue"], facts["JobName"]), ("00:10:00", "1", "alloc"))
        self.assertNotIn("ArrayTaskId", facts)
        log = self.log("alloc")
        for rank in range(2):
            self.assertIn(f"rank {rank}: 0,1\n", log)

    def test_here_whatever_the_allocation_was_asked_with(self):
        """Each rank sees all devices of its node, though the shell has variables of salloc that bind them."""
        (self.folder / "gres.env").write_text(SITE)
        program = self.folder / "seer"
        program.write_text(f'#!/bin/sh\n[ $1 != train ] || echo "rank $SLURM_PROCID: $CUDA_VISIBLE_DEVICES"\nexec {PROGRAM} "$@"\n')
        program.chmod(0o755)
        for number, options in enumerate((
                ["--gpus=2", "--ntasks-per-gpu=1"], ["-n2", "--gpus-per-task=1"], ["-n2", "--gpus=2", "--gpu-bind=single:1"],
                ["-n2", "--gpus=2", "--cpus-per-gpu=1"], ["-n2", "--gres=gpu:2"], ["-n4", "-N2", "--gpus=4"],
                ["-n2", "--gpus=2", "--mem-per-gpu=200"])):
            with self.subTest(options):
                done = self.cluster.run("salloc", "-N1", "-t5", *options, SUBMIT, "--here", "./gres.env", "train",
                                        "RECIPE=toy.toml", f"RUN_DIR=here-{number}", "RANKS=2", f"QUERN={program}",
                                        "SET=checkpoint.every_steps=0", cwd=self.folder, check=False)
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, 0, said)
                for rank in range(2):
                    self.assertIn(f"rank {rank}: 0,1\n", said)


if __name__ == "__main__":
    cluster.main()
