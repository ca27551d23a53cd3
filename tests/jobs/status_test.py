# SPDX-License-Identifier: Apache-2.0
"""jobs/status on folders of real short runs, and on what no run should leave behind. Called as
`status_test.py .../bin/quern`; no Slurm is needed: where one is asked, squeue and sacct are scripts."""
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

from local_case import LIMIT_S, LocalCase
from submit_case import PROGRAM, ROOT

STATUS = ROOT / "jobs" / "status"


class StatusTest(LocalCase):
    def status(self, *args):
        done = self.submit(*args, command=STATUS)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def facts_of(self, *folders):
        found = json.loads(self.status("--json", *folders))
        return found if len(folders) > 1 else found[0]

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def program(self, name, text):
        path = self.write(f"bin/{name}", "#!/bin/sh\n" + text)
        path.chmod(0o755)

    def test_done(self):
        self.local("train", "RECIPE=toy.toml", "RUN_DIR=run")
        facts = self.facts_of("run")
        self.assertEqual((facts["kind"], facts["state"]), ("train", "done"))
        training = facts["training"]
        self.assertEqual([training[key] for key in ("step", "steps", "epoch", "epochs")], [40, 40, 4, 4])
        self.assertIsNone(training["seconds_left"])
        self.assertEqual(facts["jobs"][0]["tasks"][0]["exit"], 0)
        self.assertTrue(facts["log_tail"][-1].endswith("done"), facts["log_tail"])
        text = self.status("run")
        for part in ("/run: done\n", "step 40 of 40 (100 %), epoch 4 of 4", "train  COMPLETED", "    | "):
            self.assertIn(part, text)
        self.assertNotIn("    | ", self.status("run", "--lines", "0"))

    def test_an_evaluation_long_ago(self):
        """It is looked for where there may be one: whoever looks reads up to 16 MiB at each call."""
        steps = "".join(json.dumps({"kind": "step", "epoch": 1 + step // 1000, "step": step, "loss": 0.5, "time_s": step}) + "\n"
                        for step in range(5001, 12000))  # in epoch 12 at the end
        test = json.dumps({"kind": "eval", "epoch": 5, "step": 5000, "loss": 0.4, "accuracy": 0.75}) + "\n"
        self.assertGreater(len(steps), 1 << 18)
        self.write("run/metrics.jsonl", test + steps)
        some, none, own = '[data]\ntest = "digits/test"\n', '[data]\ntest = ""\n', '[data]\nsource = "program"\n'
        for data, every, expected in ((some, 5, 0.75), (own, 5, 0.75), (some, 11, 0.75), (some, 12, None), (some, 1, None),
                                      (none, 5, None), ('[data]\nsource = "random"\n', 5, None), ("", 5, None)):
            with self.subTest(data=data, every=every):
                self.write("run/recipe.toml", f"{data}\n[train]\nepochs = 20\nevaluate_every = {every}\n")
                self.assertEqual((self.facts_of("run")["training"]["test"] or {}).get("accuracy"), expected)
        self.write("run/recipe.toml", some + "\n[train]\nepochs = 20\n")
        self.assertIsNone(self.facts_of("run")["training"]["test"])

    def test_running_stopped_lost(self):
        process = self.begin("train", "RECIPE=long.toml", "RUN_DIR=run", "PREFLIGHT=no")
        self.wait_for_checkpoint(process, "run")
        # The time that is left is known after two lines of metrics.jsonl.
        self.wait_until(lambda: self.facts_of("run")["training"]["seconds_left"] is not None, process)
        facts = self.facts_of("run")
        self.assertEqual((facts["state"], facts["training"]["steps"]), ("running", 10000000))
        # By the run's own speed: the rest at that of the last lines.
        rate = facts["training"]["samples_per_s"] / 64
        self.assertGreater(facts["training"]["seconds_left"], 1e7 / rate / 100)
        self.assertLess(facts["training"]["seconds_left"], 1e7 / rate * 100)
        self.assertEqual(facts["jobs"][0]["restarts_left"], 20)
        text = self.status("run")
        self.assertRegex(text, r"about (\d+ d )?\d+:\d\d:\d\d left, until \d{4}-")
        self.assertIn("20 of 20 restarts left", text)
        process.send_signal(signal.SIGUSR1)
        self.wait_until(lambda: "start 2 on" in self.out(), process)
        self.assertEqual(self.facts_of("run")["jobs"][0]["restarts_left"], 19)
        watcher = subprocess.Popen([STATUS, "--watch", "--every", "1", "run"], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE)
        self.command("stop", "run")
        process.wait(LIMIT_S)
        shown = watcher.communicate(timeout=LIMIT_S)[0]  # ends when the job has
        self.assertIn("/run: stopped", shown.split("\n\n")[-1])
        self.assertIn("jobs/again", shown)
        # Whoever is killed cannot write that it ended.
        process = self.begin("run", command=ROOT / "jobs" / "again")
        self.wait_until(lambda: self.facts_of("run")["state"] == "running", process)
        file = max((self.folder / "run" / "job").glob("local-*.txt"), key=lambda path: path.stat().st_mtime)
        kept = file.read_text()
        pid = f"pid {process.pid} "
        self.assertIn(pid, kept)
        file.write_text(kept.replace(pid, pid + "1"))  # another process with its number
        self.assertEqual(self.facts_of("run")["state"], "lost")
        file.write_text(kept)
        self.command("stop", "--now", "run")
        process.wait(LIMIT_S)
        self.assertEqual(self.facts_of("run")["state"], "failed")

    def test_sweep(self):
        (self.folder / "grid").write_text("# rates\noptimizer.lr=1e-3\noptimizer.lr=1e30\noptimizer.lr=1e-2 seed=5\n")
        self.local("sweep", "RECIPE=toy.toml", "GRID=grid", "RUN_DIR=sweep", status=93)
        facts = self.facts_of("sweep")
        self.assertEqual([trial["state"] for trial in facts["trials"]], ["done", "gave up", "done"])
        self.assertEqual((facts["best"]["trial"], facts["best"]["by"]), (2, "loss"))
        self.assertEqual(facts["best"]["value"], facts["trials"][2]["loss"])
        self.assertLess(facts["trials"][2]["loss"], facts["trials"][0]["loss"])
        text = self.status("sweep")
        self.assertIn("sweep: ended, 2 of 3 trials done, 1 gave up\n", text)
        log = facts["trials"][1]["log"]
        self.assertTrue(log.endswith("_1.out"), log)
        self.assertRegex(text, rf"(?m)^  trial 1 gave up: exit status 93 of job \S+; its log says why, log {log}$")
        self.assertEqual(facts["log"], log)
        self.assertRegex(text, r"(?m)^  2\* +done +40/40 +0\.\d+ .* optimizer\.lr=1e-2 seed=5$")
        self.assertIn("* best: trial 2, loss 0.", text)
        # An accuracy on test data counts more than a loss, and a trial without one less than any. What gave up is
        # never the best.
        for trial, accuracy in ((0, 0.25), (1, 0.99)):
            with open(self.folder / "sweep" / f"trial-{trial}" / "metrics.jsonl", "a") as metrics:
                metrics.write(f'{{"kind":"eval","epoch":4,"step":40,"loss":3,"accuracy":{accuracy}}}\n')
        self.assertEqual(self.facts_of("sweep")["best"], {"trial": 0, "by": "test accuracy", "value": 0.25})

    def test_a_sweep_of_many_trials(self):
        """Those that did not end well are counted and listed, of the others as many as fit."""
        self.write("sweep/job/grid.txt", "".join(f"seed={seed}\n" for seed in range(1000)))
        self.write("sweep/job/sweep.sbatch", "trials_per_job=1\n")
        self.write("sweep/job/jobs.txt", f"2026-01-01T00:00:00Z 7 sweep {self.folder}/sweep\n")
        for trial in range(900):
            self.write(f"sweep/trial-{trial}/DONE", "")
        for number in (20, 21):
            (self.folder / "sweep" / f"trial-{number}" / "DONE").unlink()
            self.write(f"sweep/log/sweep-7_{number}.out", "killed\n")
        self.write("sweep/log/sweep-7_899.out", "done\n")
        self.program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n")
        self.program("sacct", "for n in 20 21; do echo \"7_$n|FAILED|137:0|s|00:10|01:00|node1\"; done\n"
                              "echo '7_[900-999%4]|CANCELLED by 0|0:0|Unknown|00:00|10:00|None assigned'\n")
        text = self.status("sweep")
        self.assertIn("/sweep: ended, 898 of 1000 trials done, 2 failed, 100 cancelled\n", text)
        self.assertEqual(sum(" seed=" in line for line in text.splitlines()), 40)
        for part in ("seed=20\n", "seed=21\n", "  and 960 more: 62 cancelled, 898 done (--json has them all)\n",
                     f"  trial 20 failed: exit status 137, log {self.folder}/sweep/log/sweep-7_20.out\n",
                     f"  log {self.folder}/sweep/log/sweep-7_20.out\n    | killed"):
            self.assertIn(part, text)
        self.assertEqual(len(self.facts_of("sweep")["trials"]), 1000)

    def test_a_sweep_in_place_that_is_continued(self):
        """Its tasks are those of the trials that were left; the first that has not ended runs."""
        self.write("sweep/job/grid.txt", "".join(f"seed={seed}\n" for seed in range(6)))
        self.write("sweep/job/sweep.sbatch", "#!/bin/bash\n#SBATCH --array=1,3-5%4\n")
        self.write("sweep/job/jobs.txt", f"2026-01-01T00:00:00Z local-7 sweep {self.folder / 'sweep'}\n")
        started = (Path("/proc/self/stat")).read_text().rpartition(") ")[2].split()[19]
        self.write("sweep/job/local-7.txt", f"name sweep\nhost {os.uname().nodename}\npid {os.getpid()} {started}\n"
                                            "started 2026-01-01T00:00:00Z\ntask 1 0\n")
        self.write("sweep/trial-0/DONE", "")
        states = [trial["state"] for trial in self.facts_of("sweep")["trials"]]
        self.assertEqual(states[0], "done")
        self.assertEqual([number for number, state in enumerate(states) if state == "running"], [3], states)

    def test_thousands_of_ranks(self):
        """A line of metrics.jsonl is longer than what is read of it at first."""
        def line(epoch, ranks):
            times = {phase: [0.123456] * ranks for phase in ("data", "forward", "backward")}
            return json.dumps({"kind": "epoch", "epoch": epoch, "step": 10 * epoch, "loss": 2.0, "samples_per_s": 640,
                               "time_s": 4.0 * epoch, "rank_times_s": times}, separators=(",", ":")) + "\n"
        self.write("run/recipe.toml", "[train]\nepochs = 4\n")
        metrics = self.write("run/metrics.jsonl", "".join(line(epoch, 20000) for epoch in (1, 2, 3)))
        self.assertGreater(metrics.stat().st_size, 1 << 20)
        training = self.facts_of("run")["training"]
        self.assertEqual([training[key] for key in ("step", "steps", "samples_per_s")], [30, 40, 640])
        sys.path.insert(0, str(ROOT / "jobs" / "lib"))
        self.addCleanup(sys.path.pop, 0)
        from status.training import Training
        self.assertEqual(Training(metrics.parent).steps_per_s(), 2.5)
        self.assertEqual(self.step_text("run"), ", step 30")
        # There is an end to it.
        self.write("run/metrics.jsonl", line(1, 700000))
        self.assertIsNone(self.facts_of("run")["training"]["step"])
        self.assertEqual(self.step_text("run"), "")

    def step_text(self, run):
        command = f'source "{ROOT}/jobs/lib/submit/wait.sh"; submission_home={run}; step_text'
        return subprocess.run(["bash", "-euc", command], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def test_diverged_without_a_job(self):
        done = subprocess.run([PROGRAM, "train", "toy.toml", "--run-dir", "run", "--set", "optimizer.lr=1e30"],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 93, done.stderr)
        text = self.status("run")
        self.assertRegex(text, r"/run: diverged \(training diverged at step \d+ ")
        self.assertNotIn("no step yet", text)
        facts = self.facts_of("run")
        self.assertEqual(facts["state"], "diverged")
        self.assertIn("finite", facts["training"]["failure"])
        # What was begun again has not failed.
        with open(self.folder / "run" / "events.jsonl", "a") as events:
            events.write('{"event":"start","step":0}\n')
        self.assertIsNone(self.facts_of("run")["training"]["failure"])

    def test_regression(self):
        """Its figure is the RMSE, in the units of the targets; the loss depends on how these are normalized."""
        def line(loss, rmse):
            return f'{{"kind":"eval","epoch":4,"step":40,"loss":{loss},"rmse":{rmse},"r2":0.75}}\n'
        for trial, text in ((0, line(0.001, 30.0)), (1, line(2.0, 20.0))):
            self.write(f"sweep/trial-{trial}/metrics.jsonl", text)
            self.write(f"sweep/trial-{trial}/recipe.toml", "")
        self.assertEqual(self.facts_of("sweep")["best"], {"trial": 1, "by": "test rmse", "value": 20.0})
        self.assertRegex(self.status("sweep"), r"(?m)^  1\* .* 2 +20 ")
        self.assertIn("test loss  test rmse", self.status("sweep"))
        step = '{"kind":"epoch","epoch":4,"step":40,"loss":0.5}\n'
        self.write("run/metrics.jsonl", step + line(0.001, 30.0))
        self.write("run/recipe.toml", "")
        self.write("run/evaluate.json", '{"loss": 0.25, "rmse": 12.5, "r2": 0.875, "samples": 7}')
        text = self.status("run")
        self.assertIn("loss 0.5, test rmse 30, r2 0.75 (epoch 4)", text)
        self.assertIn("evaluated: loss 0.25, rmse 12.5, r2 0.875\n", text)

    def test_losses_of_different_kinds_are_not_compared(self):
        for trial, settings in enumerate(("loss.delta=0.1 seed=1", "loss.delta=1.0 seed=1")):
            self.write(f"sweep/trial-{trial}/metrics.jsonl", '{"kind":"eval","epoch":4,"step":40,"loss":0.5}\n')
            self.write(f"sweep/trial-{trial}/recipe.toml", "")
            self.write(f"sweep/trial-{trial}/job/trial", settings + "\n")
        self.assertIsNone(self.facts_of("sweep")["best"])
        self.write("sweep/trial-1/job/trial", "loss.delta=0.1 seed=2\n")
        self.assertEqual(self.facts_of("sweep")["best"], {"trial": 0, "by": "test loss", "value": 0.5})

    def test_plans(self):
        done = self.submit("local", "scaling", "RECIPE=toy.toml", "RUN_DIR=study", "NODE_LIST=1", "BATCH=64",
                           "STEPS=2", "ROUNDS=1")
        facts = self.facts_of("study")
        self.assertEqual((facts["kind"], [job["name"] for job in facts["jobs"]]),
                         ("scaling", ["scaling-1", "scaling-report"]), done.stdout + done.stderr)
        self.assertEqual([(point["nodes"], point["measured"]) for point in facts["points"]], [(1, True)])
        self.assertIn("1 of 1 points measured", self.status("study"))
        process = self.begin("chain", "RECIPE=long.toml", "RUN_DIR=chain", "COUNT=2", "PREFLIGHT=no")
        self.wait_for_checkpoint(process, "chain")
        process.send_signal(signal.SIGUSR1)
        self.wait_until(lambda: len(self.facts_of("chain")["jobs"]) == 2, process)
        facts = self.facts_of("chain")
        self.assertEqual((facts["state"], facts["jobs"][0]["tasks"][0]["exit"]), ("running", 85))
        self.assertIn("chain-2-local", facts["log"])

    def test_log_of_a_chain(self):
        """Every job but the last ends with 85, and those behind it find DONE."""
        said = ("not requeued here: the next job of the chain continues", "failed: exit status 137", "done",
                "finished: run/DONE is there")
        jobs = ""
        for number, (status, line) in enumerate(zip((85, 137, 0, 0), said), 1):
            jobs += f"2026-01-01T00:00:00Z local-{number} chain-{number} {self.folder}/run\n"
            self.write("run/job/jobs.txt", jobs)
            self.write(f"run/job/local-{number}.txt", f"status {status}\nended 2026-01-01T01:00:00Z\n")
            self.write(f"run/log/chain-{number}-local-{number}.out",
                       f"[job local-{number}] start 1 on node, no checkpoint yet\n[job local-{number}] {line}\n")
            self.assertIn(f"chain-{min(number, 3)}-local", self.facts_of("run")["log"])

    def test_pipeline(self):
        """Its jobs have folders of their own, and ids that no other one has."""
        for part, count in (("train", 64), ("t10k", 32)):
            pixels = bytes(number % 251 for number in range(count * 784))
            self.write(f"idx/{part}-images-idx3-ubyte", struct.pack(">4I", 2051, count, 28, 28) + pixels)
            self.write(f"idx/{part}-labels-idx1-ubyte",
                       struct.pack(">2I", 2049, count) + bytes(number % 10 for number in range(count)))
        done = self.submit("local", "pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", "IDX_DIR=idx", "DATA_DIR=data",
                           "SET=train.epochs=1")
        facts = self.facts_of("run")
        self.assertEqual([job["name"] for job in facts["jobs"]], ["prepare-data", "train", "evaluate", "report"],
                         done.stdout + done.stderr)
        self.assertEqual(len({job["id"] for job in facts["jobs"]}), 4)
        self.assertEqual([job["tasks"][0]["exit"] for job in facts["jobs"][:3]], [0, 0, 0])
        self.assertEqual((facts["state"], facts["evaluation"]["samples"]), ("done", 32))
        self.assertEqual(self.facts_of("data")["state"], "done")
        # What needs a failed one is left out, and the status is that of the failed one.
        (self.folder / "idx" / "t10k-labels-idx1-ubyte").write_bytes(b"x")
        done = self.submit("local", "pipeline", "RECIPE=mlp.toml", "RUN_DIR=torn", "IDX_DIR=idx", "DATA_DIR=torn-data")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("train is not started", done.stdout)
        self.assertFalse((self.folder / "torn" / "metrics.jsonl").exists())
        self.assertEqual(self.facts_of("torn")["state"], "failed")

    def test_what_slurm_says(self):
        """In the queue, left the queue with accounting, forgotten; and a Slurm that does not answer."""
        self.write("run/job/jobs.txt", f"2026-01-01T00:00:00Z 7 train {self.folder}/run\n"
                                       f"2026-01-01T00:00:00Z 8 evaluate {self.folder}/run\n")
        self.write("run/job/train.sbatch", "max_restarts=20\n")
        self.program("squeue", "echo '7|7|RUNNING|2026-01-01T00:00:00|12:33|12:00:00|node[1-2]|None'\n"
                               "echo '8|8|PENDING|N/A|0:00|10:00||Dependency'\n")
        self.program("scontrol", "echo \"JobId=$4 JobName=x JobState=RUNNING Restarts=3 ExitCode=0:0\"\n")
        facts = self.facts_of("run")
        self.assertEqual((facts["state"], facts["jobs"][0]["restarts_left"]), ("running", 17))
        text = self.status("run")
        self.assertIn("job 7  train  RUNNING, 12:33 of 12:00:00 on node[1-2], 17 of 20 restarts left", text)
        self.assertIn("job 8  evaluate  PENDING (Dependency)", text)
        self.program("squeue", "echo '7|7|EXPEDITING|N/A|0:00|12:00:00||BeginTime'\n")  # of a newer Slurm
        self.assertEqual(self.facts_of("run")["state"], "waiting")
        self.program("squeue", "echo '7|7|RUNNING|2026-01-01T00:00:00|12:33|12:00:00|node[1-2]|None'\n")
        self.program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n")
        self.program("sacct", "echo '7|NODE_FAIL|0:0|s|00:10|01:00|node1'\necho '7|TIMEOUT|0:15|s|01:00|01:00|node1'\n"
                              "echo '8|CANCELLED by 0|0:0|Unknown|00:00|10:00|None assigned'\n")
        facts = self.facts_of("run")
        self.assertEqual(facts["state"], "out of time")
        self.assertEqual([(job["tasks"][0]["state"], job["tasks"][0]["restarts"]) for job in facts["jobs"]],
                         [("TIMEOUT", 1), ("CANCELLED", 0)])
        self.program("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1\n")
        self.assertEqual(self.facts_of("run")["state"], "unknown")
        self.assertIn("no longer known to Slurm", self.status("run"))
        self.write("run/DONE", "")
        self.assertEqual(self.facts_of("run")["state"], "done")
        self.program("squeue", "echo 'squeue: error: Unable to contact slurm controller' >&2; exit 1\n")
        self.assertIn("Unable to contact", self.status("run"))
        (self.folder / "bin" / "squeue").unlink()
        env = dict(os.environ, PATH=f"{self.folder / 'bin'}")
        done = subprocess.run([sys.executable, STATUS, "run"], cwd=self.folder, env=env, capture_output=True, text=True,
                              check=True)
        self.assertIn("no Slurm on this machine", done.stdout)

    def test_jobs_that_note_themselves(self):
        """The first job of a chain may start before jobs/submit has noted it; they stay one submission."""
        noted = [f"2026-01-01T00:00:0{second}Z {job} chain-{job} {self.folder}/run\n"
                 for second, job in ((2, 7), (1, 7), (1, 8), (3, 8))]
        self.write("run/job/jobs.txt", "".join(noted))
        self.assertEqual([job["id"] for job in self.facts_of("run")["jobs"]], ["7", "8"])

    def test_why_jobs_ended(self):
        """Slurm's reason, unless it says what the exit status says; what it means that no script was started."""
        self.write("run/job/jobs.txt", f"2026-01-01T00:00:00Z 7 train {self.folder}/run\n")
        log = "JobLaunchFailure: Slurm could not open the job's log or enter its working folder: were they removed, is the quota used up?"
        for state, reason, code, shown in (
                ("FAILED", "JobLaunchFailure", "0:53", f"FAILED ({log}), 0:00"), ("FAILED", "NonZeroExitCode", "2:0", "FAILED, exit status 2, 0:00"),
                ("TIMEOUT", "TimeLimit", "0:15", "TIMEOUT, exit status 143 (TimeLimit), 0:00"), ("COMPLETED", "None", "0:0", "COMPLETED, 0:00"),
                ("NODE_FAIL", "NodeDown", "1:0", "NODE_FAIL, exit status 1 (NodeDown), 0:00"),
                ("OUT_OF_MEMORY", "OutOfMemory", "0:125", "OUT_OF_MEMORY, exit status 253 (OutOfMemory), 0:00")):
            self.program("squeue", f"echo '7|7|{state}|s|0:00|10:00|node1|{reason}'\n")
            self.program("scontrol", f"echo 'JobId=7 JobName=x JobState={state} Restarts=0 ExitCode={code}'\n")
            text = self.status("run")
            self.assertIn(f"job 7  train  {shown} of 10:00 on node1\n", text)
            self.assertEqual("    more MEM=, fewer RANKS= or" in text, state == "OUT_OF_MEMORY")
        self.program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n")
        self.program("sacct", "echo '7|FAILED|0:53|s|00:00:00|10:00|node1'\n")
        self.assertIn(f"train  FAILED ({log}), 00:00:00", self.status("run"))

    def test_another_cluster(self):
        """sacct alone does not look at SLURM_CLUSTERS."""
        self.write("run/job/jobs.txt", f"2026-01-01T00:00:00Z 7 train {self.folder}/run\n")
        self.program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n")
        self.program("sacct", "[ $1 != --clusters=cm4 ] || echo '7|COMPLETED|0:0|s|00:00:00|10:00|node1'\n")
        self.assertIn("no longer known", self.status("run"))
        self.assertIn("COMPLETED", self.submit("run", command=STATUS, SLURM_CLUSTERS="cm4").stdout)

    def test_half_written_and_hostile_files(self):
        good = '{"kind":"epoch","epoch":2,"step":20,"loss":0.5,"time_s":1.0}\n{"kind":"step","step":25,"time_s":1.5}\n'
        bad = [b"", b"\0" * 100, b"\xff\xfe{\n", b"[1,2]\n", b"[" * 100000 + b"\n", b"null\n", b'{"kind":"step"',
               b'{"kind":"step","step":"x","epoch":[],"loss":{},"time_s":null}\n',
               b'{"kind":"eval","step":1e999,"loss":NaN,"accuracy":-Infinity}\n',
               b'{"kind":"step","step":' + b"9" * 6000 + b"}\n", b'{"kind":"step","step":-5,"time_s":true}\n']
        self.write("run/recipe.toml", "[train]\nepochs = 10\n")
        self.write("run/job/jobs.txt", b"\xff\xfe\n1\n2026 x\n2026 12345678901234567890 a /b\nt local-1 ../x ../y\n"
                                       b"t local-2 \x1b[31mred /etc\n")
        self.write("run/log/job-local-1.out", b"\x1b]0;title\x07\x1b[2Jcleared\x07\nbar 1\rbar 2\n\xff\n")
        for text in bad:
            self.write("run/metrics.jsonl", good.encode() + text)
            facts = self.facts_of("run")
            self.assertEqual((facts["training"]["step"], facts["training"]["steps"], facts["training"]["epochs"]),
                             (25, 100, 10), text[:50])
        shown = self.status("run")
        self.assertIn("step 25 of 100", shown)
        self.assertNotIn("\x1b", shown)
        # What is no plain file is never waited for.
        paths = [self.folder / "run" / name for name in ("metrics.jsonl", "recipe.toml", "STOP", "evaluate.json",
                                                         "job/GAVE_UP", "job/grid.txt", "job/local-1.txt")]
        for make in (os.mkfifo, os.mkdir, lambda path: path.symlink_to(path)):
            for path in paths:
                subprocess.run(["rm", "-rf", path], check=True)
                make(path)
            self.status("run")
        for path in paths:
            path.unlink()
        self.write("run/job/submitted.txt", "2026-01-01T00:00:00Z local-1 jobs/submit local train\n")
        self.assertEqual(self.facts_of("run")["log_tail"], ["cleared?", "bar 2", "\ufffd"])
        self.write("run/log/job-local-1.out", "é\n")
        self.assertIn("| ?", self.submit("run", command=STATUS, LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0").stdout)
        (self.folder / "empty").mkdir()
        self.assertEqual(self.facts_of("empty")["state"], "nothing submitted")
        self.assertEqual([one["state"] for one in self.facts_of("empty", "empty")], ["nothing submitted"] * 2)

    def test_usage(self):
        done = self.submit("nowhere", command=STATUS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such folder", done.stderr)
        self.assertEqual(self.submit(command=STATUS).returncode, 2)
        self.assertEqual(self.submit("--watch", "--json", ".", command=STATUS).returncode, 2)

    def test_on_a_terminal(self):
        """--watch fills the screen and no more."""
        self.local("train", "RECIPE=toy.toml", "RUN_DIR=run", "PREFLIGHT=no")
        ours, theirs = pty.openpty()
        process = subprocess.Popen([STATUS, "--watch", "run"], cwd=self.folder, stdout=theirs, stdin=theirs)
        os.close(theirs)
        shown, end = b"", time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
        os.close(ours)
        self.assertEqual(process.wait(LIMIT_S), 0)
        self.assertIn(b"\x1b[H\x1b[2J", shown)
        self.assertIn(b"run: done", shown)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
