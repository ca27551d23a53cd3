# SPDX-License-Identifier: Apache-2.0
"""jobs/status, jobs/stop, jobs/again, --wait and --here on a real Slurm."""
import json
import re
import subprocess

import cluster
import toy
from cluster import FINAL, ROOT, SUBMIT

LIMIT_S = 240
# Goes on until it is stopped, with a checkpoint now and then.
LONG = toy.RECIPE.replace("epochs = 20", "epochs = 1000000").replace("every_steps = 1", "every_steps = 20")


class CommandsTest(cluster.JobTest):
    SHAPE = {"NODES": 2, "CPUS": 4, "CRED_EXPIRE": 5}

    def setUp(self):
        toy.write_recipe(self.folder)
        toy.write_recipe(self.folder, "long.toml", LONG)

    def command(self, name, *args, status=0, env=None):
        done = self.cluster.run(ROOT / "jobs" / name, *args, cwd=self.folder, check=False, env=env)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def facts_of(self, run):
        return json.loads(self.command("status", "--json", run))[0]

    def start(self, run, *values, template="train", recipe="long.toml"):
        return self.jobs("generic", template, f"RECIPE={recipe}", f"RUN_DIR={run}", "TIME=30", *values)

    def wait_for(self, condition):
        self.cluster.wait_until(condition, LIMIT_S, self.cluster.queue)

    def begin(self, *command):
        """In the background, with this cluster's Slurm."""
        with open(self.folder / "out", "w") as out:
            process = subprocess.Popen([str(word) for word in command], cwd=self.folder, env=self.cluster.env,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        self.addCleanup(lambda: (process.poll() is not None or process.kill(), process.wait()))
        return process

    def out(self):
        return (self.folder / "out").read_text()

    def test_a_run_from_its_queue_to_its_end(self):
        """Waiting, running, requeued, stopped, again, cancelled; each as jobs/status tells it."""
        job, = self.start("run", "RANKS=2", "SBATCH=--begin=now+1hour")
        facts = self.facts_of("run")
        self.assertEqual((facts["state"], facts["jobs"][0]["id"]), ("waiting", job))
        self.assertIn("BeginTime", self.command("status", "run"))
        self.assertIn(f"job {job} ", self.command("again", "run", status=2))
        self.cluster.run("scontrol", "update", f"jobid={job}", "StartTime=now")
        self.wait_for_checkpoint(job, "run", after=5)
        self.wait_for(lambda: self.facts_of("run")["training"]["seconds_left"] is not None)
        facts = self.facts_of("run")
        self.assertEqual((facts["state"], facts["training"]["steps"]), ("running", 20000000))
        self.assertEqual(facts["jobs"][0]["restarts_left"], 20)
        self.assertEqual(facts["jobs"][0]["tasks"][0]["nodes"], self.cluster.facts(job)["NodeList"])
        self.cluster.run("scancel", "--signal=USR1", job)
        self.wait_for_line("run", "start 2 on")
        self.assertEqual(self.facts_of("run")["jobs"][0]["restarts_left"], 19)
        self.assertIn(" of 30:00 on node", self.command("status", "run"))
        # An orderly stop: a checkpoint, no requeue.
        step = self.wait_for_checkpoint(job, "run", after=max(self.checkpoint_steps("run")))
        self.assertIn(f"job {job}: train writes a checkpoint and ends", self.command("stop", "run"))
        self.assertEqual(self.cluster.wait(job, LIMIT_S), ("FAILED", 85))
        self.assertEqual(self.cluster.facts(job)["Restarts"], "1")
        self.assertGreaterEqual(max(self.checkpoint_steps("run")), step)
        self.assertEqual(self.facts_of("run")["state"], "stopped")
        self.assertIn("no job is queued or running", self.command("stop", "run"))
        # Again with the kept words, from another folder; the program is that of then.
        done = self.cluster.run(ROOT / "jobs" / "again", self.folder / "run", cwd="/", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        second = re.search(r"^job (\d+):", done.stdout, re.MULTILINE)[1]
        self.assertFalse((self.folder / "run" / "STOP").exists())
        self.cluster.run("scontrol", "update", f"jobid={second}", "StartTime=now")
        self.wait_for_checkpoint(second, "run", after=max(self.checkpoint_steps("run")))
        self.assertEqual([one["id"] for one in self.facts_of("run")["jobs"]], [second])
        self.assertIn("is cancelled", self.command("stop", "--now", "run"))
        self.assertEqual(self.cluster.wait(second, LIMIT_S)[0], "CANCELLED")
        self.assertFalse((self.folder / "run" / "STOP").exists())
        self.assertEqual(self.facts_of("run")["state"], "cancelled")

    def test_a_script_that_was_given_to_sbatch(self):
        """As soon as it runs, the commands know of it."""
        first, = self.start("hand", "SBATCH=--begin=now+1hour")
        self.command("stop", "--now", "hand")
        second = self.cluster.run("sbatch", "--parsable", "--begin=now", "hand/job/train.sbatch", cwd=self.folder).strip()
        self.wait_for_checkpoint(second, "hand", after=5)
        facts = self.facts_of("hand")
        self.assertEqual((facts["state"], [one["id"] for one in facts["jobs"]]), ("running", [second]), first)
        refused = self.submit("generic", "train", "RECIPE=long.toml", "RUN_DIR=hand", check=False)
        self.assertIn(f"job {second} (train) is queued or running", refused.stderr)
        self.assertIn(f"job {second}: train writes a checkpoint and ends", self.command("stop", "hand"))
        self.assertEqual(self.cluster.wait(second, LIMIT_S), ("FAILED", 85))

    def test_a_job_without_the_folder_of_its_log(self):
        job, = self.start("bare", "SBATCH=--hold")
        (self.folder / "bare" / "log").rmdir()
        self.cluster.run("scontrol", "release", job)
        self.assertEqual(self.cluster.wait(job)[0], "FAILED")
        self.assertIn("FAILED (JobLaunchFailure: Slurm could not open the job's log", self.command("status", "bare"))

    def test_stop_of_a_chain_and_a_sweep(self):
        """What waits leaves the queue; what runs saves."""
        first, second = self.start("chain", "COUNT=2", template="chain")
        (self.folder / "grid").write_text("seed=3\nseed=4\nseed=5\n")
        array, = self.start("sweep", "GRID=grid", "MAX_PARALLEL=1", template="sweep")
        self.wait_for_checkpoint(first, "chain", after=5)
        self.wait_for_checkpoint(array, "sweep/trial-0", after=5)
        self.wait_for(lambda: [trial["state"] for trial in self.facts_of("sweep")["trials"]]
                      == ["running", "waiting", "waiting"])
        facts = self.facts_of("sweep")
        self.assertEqual(facts["state"], "running")
        self.assertEqual(facts["trials"][1]["settings"], "seed=4")
        said = self.command("stop", "chain", "sweep")
        self.assertIn(f"job {second}: chain-2 was waiting, and leaves the queue", said)
        self.assertEqual(self.cluster.wait(first, LIMIT_S), ("FAILED", 85))
        self.assertEqual(self.cluster.wait(second, LIMIT_S)[0], "CANCELLED")
        self.wait_for(lambda: set(self.cluster.states(array)) <= FINAL)
        self.assertEqual(set(self.cluster.states(array)), {"CANCELLED", "FAILED"})
        self.assertFalse((self.folder / "sweep" / "trial-1" / "checkpoints").exists())
        self.assertGreater(max(self.checkpoint_steps("sweep/trial-0")), 5)
        self.assertEqual(self.facts_of("chain")["state"], "stopped")

    def test_wait(self):
        """The exit status is that of the run: done, requeued in between, diverged, cancelled."""
        values = ["generic", "train", "RECIPE=toy.toml", "TIME=10", "RANKS=2", "SET=checkpoint.every_steps=0"]
        done = self.submit("--wait", *values, "RUN_DIR=good", check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue((self.folder / "good" / "DONE").exists())
        self.assertRegex(done.stdout, r"(?m)^job \d+: train COMPLETED, status 0$")
        diverges = ["SET=optimizer.type=sgd", "SET=optimizer.lr=3e38", "SET=optimizer.weight_decay=1e3"]
        done = self.submit("--wait", *values, *diverges, "RUN_DIR=bad", check=False)
        self.assertEqual(done.returncode, 93, done.stdout + done.stderr)
        # A requeue is not an end. What never started tells nothing.
        process = self.begin(SUBMIT, "--wait", "generic", "train", "RECIPE=long.toml", "RUN_DIR=twice", "TIME=30")
        self.wait_for(lambda: re.search(r"^job \d+:", self.out(), re.MULTILINE))
        job = re.search(r"^job (\d+):", self.out(), re.MULTILINE)[1]
        self.wait_for_checkpoint(job, "twice", after=5)
        self.cluster.run("scontrol", "requeue", job)
        self.wait_for_line("twice", "start 2 on")
        self.wait_for_checkpoint(job, "twice", after=max(self.checkpoint_steps("twice")))
        self.assertIsNone(process.poll(), self.out())
        self.command("stop", "twice")
        self.assertEqual(process.wait(LIMIT_S), 85, self.out())
        process = self.begin(SUBMIT, "--wait", "generic", "chain", "RECIPE=long.toml", "RUN_DIR=chained", "COUNT=2",
                             "TIME=30")
        self.wait_for(lambda: max(self.checkpoint_steps("chained"), default=-1) > 5)
        self.command("stop", "chained")
        self.assertEqual(process.wait(LIMIT_S), 85, self.out())
        self.assertRegex(self.out(), r"(?m)^job \d+: chain-2 CANCELLED, status -$")

    def refuse(self, *args):
        """What jobs/submit says; nothing is written or queued."""
        before = sorted(self.folder.rglob("*")), self.cluster.queue()
        done = self.submit("generic", *args, "TIME=30", check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual((sorted(self.folder.rglob("*")), self.cluster.queue()), before)
        return done.stderr

    def test_what_is_asked_first(self):
        """Other jobs of the run, the jobs of AFTER, the size of an array."""
        values = ("train", "RECIPE=toy.toml", "RUN_DIR=asked")
        job, = self.start("asked", "SBATCH=--hold", recipe="toy.toml")
        self.assertIn(f"job {job} (train) is queued or running", self.refuse(*values))
        later, = self.start("asked", f"AFTER=afterany:{job}", recipe="toy.toml")
        self.assertIn(f"AFTER=afterany:{later}", self.refuse(*values, f"AFTER=afterany:{job}"))
        self.cluster.run("scancel", job, later)
        self.cluster.wait(later)
        self.assertIn(f"job {job} has ended as CANCELLED", self.refuse(*values, f"AFTER={job}"))
        for unknown in ("99999", "9999999999", f"{job}_3"):
            self.assertIn(f"Slurm knows no job {unknown}", self.refuse(*values, f"AFTER={unknown}"))
        done, = self.start("done", recipe="toy.toml")
        self.complete(done, "done")
        chained = self.start("asked-chain", "COUNT=2", "SBATCH=--hold", f"AFTER={done}", template="chain", recipe="toy.toml")
        chained += self.start("asked-chain", "COUNT=2", "SBATCH=--hold", template="chain", recipe="toy.toml")
        self.assertEqual(len(chained), 4)
        self.cluster.run("scancel", *chained)
        (self.folder / "three").write_text("seed=1\nseed=2\nseed=3\n")
        array, = self.start("three-runs", "GRID=three", "SBATCH=--hold", template="sweep", recipe="toy.toml")
        for task in (array, f"{array}_1", f"aftercorr:{array}"):
            self.submit("-n", "generic", *values, f"AFTER={task}")
        self.assertIn(f"Slurm knows no job {array}_7", self.refuse(*values, f"AFTER={array}_7"))
        self.cluster.run("scancel", array)
        (self.folder / "many").write_text("seed=1\n" * 1002)
        for mode in ((), ("-n",), ("--test",)):
            self.assertIn("at most 1001 tasks here (MaxArraySize): TRIALS_PER_JOB=2",
                          self.refuse("sweep", "RECIPE=toy.toml", "RUN_DIR=many-runs", "GRID=many", *mode))

    def test_a_job_that_slurm_refuses(self):
        """It leaves no folder behind."""
        said = self.refuse("train", "RECIPE=toy.toml", "RUN_DIR=re/fused", "PARTITION=nowhere")
        self.assertIn("invalid partition", said)

    def test_here(self):
        """In an allocation the steps are started at once, on its nodes, and the status is that of the run."""
        words = "--here generic train RECIPE=toy.toml RUN_DIR=here NODES=2 RANKS=2 SET=checkpoint.every_steps=0"
        more = words.replace("=here", "=more").replace("NODES=2", "NODES=3")
        done = self.cluster.run("salloc", "-N2", "--ntasks-per-node=2", "-t5", "bash", "-c",
                                f"{SUBMIT} {words}; echo status $?; {SUBMIT} {more}; echo status $?", cwd=self.folder,
                                check=False)
        said = done.stdout + done.stderr
        self.assertIn("status 0\n", said)
        self.assertIn("the allocation", said)
        self.assertIn("status 2\n", said)
        self.assertTrue((self.folder / "here" / "DONE").exists(), said)
        self.assertEqual(self.hash("here"), toy.reference_hash(self.folder))
        self.assertIn("4 ranks x", self.log("here"))
        self.assertIn("on node[1-2]", self.log("here"))
        facts = self.facts_of("here")
        self.assertTrue(facts["jobs"][0]["id"].startswith("here-"))
        self.assertEqual(facts["state"], "done")
        # Stopped from outside, it saves and ends with 85.
        process = self.begin("salloc", "-N1", "--ntasks-per-node=2", "-t5", SUBMIT, "--here", "generic", "train",
                             "RECIPE=long.toml", "RUN_DIR=long", "RANKS=2")
        self.wait_for(lambda: max(self.checkpoint_steps("long"), default=-1) > 5)
        self.command("stop", "long")
        process.wait(LIMIT_S)
        self.assertIn("train ended with status 85", self.out())
        self.assertEqual(self.facts_of("long")["state"], "stopped")


class ForgetfulControllerTest(cluster.JobTest):
    """A controller that forgets what ended a few seconds ago, as a busy centre's after minutes."""
    SHAPE = {"NODES": 1, "CPUS": 4, "CRED_EXPIRE": 5, "JOB_AGE": 3}

    def test_wait_while_another_job_goes_on(self):
        toy.write_recipe(self.folder, "long.toml", LONG)
        command = [SUBMIT, "--wait", "generic", "chain", "RECIPE=long.toml", "RUN_DIR=run", "COUNT=2", "TIME=30"]
        out = self.folder / "out"
        with open(out, "w") as file:
            process = subprocess.Popen([str(word) for word in command], cwd=self.folder, stdin=subprocess.DEVNULL,
                                       env=self.cluster.env | {"QUERN_WAIT_SECONDS": "1"}, stdout=file,
                                       stderr=subprocess.STDOUT)
        self.addCleanup(lambda: (process.poll() is not None or process.kill(), process.wait()))
        self.cluster.wait_until(lambda: len(re.findall(r"(?m)^job \d+:", out.read_text())) == 2, LIMIT_S, out.read_text)
        first, second = re.findall(r"(?m)^job (\d+):", out.read_text())
        self.wait_for_checkpoint(first, "run")
        self.cluster.run("scancel", first)
        self.wait_for_checkpoint(second, "run", after=max(self.checkpoint_steps("run")))
        self.cluster.wait_until(
            lambda: "Invalid job id" in self.cluster.run("scontrol", "show", "job", first, check=False).stderr, LIMIT_S,
            self.cluster.queue)
        self.assertIsNone(process.poll(), out.read_text())
        self.cluster.run(ROOT / "jobs" / "stop", "run", cwd=self.folder)
        self.assertEqual(process.wait(LIMIT_S), 85, out.read_text())
        self.assertRegex(out.read_text(), rf"(?m)^job {first}: chain-1 CANCELLED, status [1-9]\d*$")
        self.assertNotIn("forgotten", out.read_text())


if __name__ == "__main__":
    cluster.main()
