# SPDX-License-Identifier: Apache-2.0
"""SITE=local: the templates on this machine without Slurm, with the same files and statuses; jobs/stop and
jobs/again on what ran there. Called as `local_test.py .../bin/quern`; every run is a real one."""
import json
import os
import re
import signal
import subprocess
import sys
import unittest

from local_case import LIMIT_S, TOY, LocalCase
from submit_case import PROGRAM, ROOT


class LocalTest(LocalCase):
    def test_same_files_and_weights(self):
        out = self.local("train", "RECIPE=toy.toml", "RUN_DIR=run", "RANKS=2")
        job = re.search(r"^job (local-\d+): train at local, 1 node\(s\) x 2 rank", out, re.MULTILINE)[1]
        run = self.folder / "run"
        self.assertTrue((run / "DONE").exists())
        log = (run / "log" / f"train-{job}.out").read_text()
        for text in ("start 1 on", "preflight: good to go", "2 ranks x", f"[job {job}] done"):
            self.assertIn(text, log)
            self.assertIn(text, out)
        kept = {path.name for path in (run / "job").iterdir()}
        self.assertLessEqual({"train.sbatch", "site.env", "version.txt", "submitted.txt", "jobs.txt"}, kept)
        self.assertEqual(self.facts("run")["status"], "0")
        subprocess.run([PROGRAM, "train", "toy.toml", "--run-dir", "alone"], cwd=self.folder, check=True,
                       capture_output=True)
        self.assertEqual(self.hash("run"), self.hash("alone"))

    def test_setup_lines_that_fail(self):
        """They are named at submission and in the log. A shell that has no `module` gets it where the centre has one."""
        (self.folder / "mine.env").write_text(
            "LIMIT=*:* 1-1 UNLIMITED\nSCHEDULER=none\nSETUP=module load nosuch\nSETUP=[[ -n $NONE ]] && export X=1\n"
            "SETUP=source ./settings; export Y=2 # no other failure\n")
        (self.folder / "settings").write_text("false\ntrue\n")
        values = ("./mine.env", "train", "RECIPE=toy.toml", "PREFLIGHT=no")
        nowhere = {"LMOD_PKG": "", "MODULESHOME": ""}
        done = self.submit(*values, "RUN_DIR=without", **nowhere)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning"), 1, done.stderr)
        for text in ("SETUP of ", "/mine.env, here: ", "module: command not found", "SETUP line failed: module load nosuch ("):
            self.assertIn(text, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^\[job local-\d+\] SETUP line failed: module load nosuch$")
        self.assertEqual(done.stdout.count("SETUP line failed"), 1, done.stdout)
        (self.folder / "init").mkdir()
        (self.folder / "init" / "bash").write_text('echo init >>init-calls\nmodule() { echo "loading $2" >&2; [[ $2 != nosuch ]]; }\nfalse\n')
        done = self.submit(*values, "RUN_DIR=with", **nowhere | {"MODULESHOME": str(self.folder)})
        self.assertIn("here: loading nosuch; SETUP line failed: module load nosuch (", done.stderr)
        self.assertIn("SETUP line failed: module load nosuch\n", done.stdout)
        file = self.folder / "mine.env"
        file.write_text(file.read_text().replace("nosuch", "gcc"))
        done = self.submit(*values, "RUN_DIR=good", **nowhere | {"MODULESHOME": str(self.folder)})
        self.assertEqual(done.stderr, "")
        self.assertIn("loading gcc\n", done.stdout)
        self.assertNotIn("SETUP line failed", done.stdout)
        # Not where nothing is loaded: it may set modules of its own.
        (self.folder / "init-calls").unlink()
        file.write_text(file.read_text().replace("module load gcc", "export Z=module"))
        done = self.submit(*values, "RUN_DIR=plain", **nowhere | {"MODULESHOME": str(self.folder)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse((self.folder / "init-calls").exists())

    def test_signals_and_restarts_in_place(self):
        process = self.begin("train", "RECIPE=long.toml", "RUN_DIR=run", "RANKS=2", "MAX_RESTARTS=1", "PREFLIGHT=no")
        self.wait_for_checkpoint(process, "run")
        process.send_signal(signal.SIGUSR1)
        self.wait_until(lambda: "start 2 on" in self.out(), process)
        self.assertIn("on request (SIGUSR1)", self.out())
        self.wait_for_checkpoint(process, "run", after=max(self.steps("run")))
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(LIMIT_S), 85, self.out())
        self.assertIn("MAX_RESTARTS is 1", self.out())
        self.assertEqual((self.facts("run")["restarts"], self.facts("run")["status"]), ("1", "85"))

    def test_a_change_lasts_over_restarts(self):
        """Each start has the same command, and jobs/again too; the run is changed once."""
        process = self.begin("train", "RECIPE=long.toml", "RUN_DIR=run", "PREFLIGHT=no")
        self.wait_for_checkpoint(process, "run")
        self.command("stop", "run")
        self.assertEqual(process.wait(LIMIT_S), 85, self.out())
        step = max(self.steps("run"))
        (self.folder / "run" / "STOP").unlink()
        process = self.begin("train", "RECIPE=long.toml", "RUN_DIR=run", "RANKS=2", "PREFLIGHT=no", "CHANGE=optimizer.lr=5e-4")
        for signals in (1, 2):
            self.wait_for_checkpoint(process, "run", after=max(self.steps("run")))
            process.send_signal(signal.SIGUSR1)
            self.wait_until(lambda: f"start {signals + 1} on" in self.out(), process)
        self.wait_for_checkpoint(process, "run", after=max(self.steps("run")))
        self.command("stop", "run")
        self.assertEqual(process.wait(LIMIT_S), 85, self.out())
        self.assertIn(f"optimizer.lr is 5e-04 from step {step} on, and was 0.001\n", self.out())
        self.assertEqual(self.out().count("and was 0.001"), 1, self.out())
        self.assertIn("CHANGE=optimizer.lr=5e-4", self.command("again", "-n", "run"))
        shown = subprocess.run([PROGRAM, "checkpoint", "show", "run", "--json"], cwd=self.folder, capture_output=True,
                               check=True).stdout
        self.assertEqual(json.loads(shown)["changes"], [
            {"step": step, "key": "optimizer.lr", "before": "0.001", "after": "5e-04"}])

    def test_interrupted_and_again(self):
        """Ctrl-C writes a checkpoint and does not restart; jobs/again goes on where it stood."""
        os.environ["TMPDIR"] = str(self.folder)
        self.addCleanup(os.environ.pop, "TMPDIR")
        process = self.begin("train", "RECIPE=long.toml", "RUN_DIR=run", "RESUME=never")
        step = self.wait_for_checkpoint(process, "run")
        self.assertIn("is queued or running", self.command("again", "run", status=2))
        # Another process has the number of a step that has ended.
        with subprocess.Popen(["sleep", str(LIMIT_S)]) as other:
            steps, = self.folder.glob("tmp.*/steps")
            (steps / str(other.pid)).write_text("1\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(LIMIT_S), 85, self.out())
            self.assertIsNone(other.poll())
            other.kill()
        self.assertNotIn("start 2", self.out())
        self.assertIn("not started again: stopped on request\n", self.out())
        self.assertNotIn("requeueing", self.out())
        self.assertRegex(self.command("status", "run"), r"(?m): stopped\n  job \S+  train  STOPPED on ")
        self.assertGreaterEqual(max(self.steps("run")), step)
        said = self.command("again", "-n", "run")
        self.assertEqual(said, f"cd {self.folder.resolve()} && jobs/submit --go-on local train RECIPE=long.toml RUN_DIR=run\n")

    def test_stop_and_again(self):
        process = self.begin("train", "RECIPE=long.toml", "RUN_DIR=run", "RANKS=2")
        self.wait_for_checkpoint(process, "run")
        self.assertIn("train stops", self.command("stop", "run"))
        self.assertEqual(process.wait(LIMIT_S), 85, self.out())
        self.assertTrue((self.folder / "run" / "STOP").exists())
        step = max(self.steps("run"))
        self.assertIn("no job is queued or running", self.command("stop", "run"))
        process = self.begin("run", command=ROOT / "jobs" / "again")
        self.assertGreater(self.wait_for_checkpoint(process, "run", after=step), step)
        self.assertFalse((self.folder / "run" / "STOP").exists())
        self.assertIn("continuing from", self.out())
        self.command("stop", "run")
        self.assertEqual(process.wait(LIMIT_S), 85, self.out())

    def test_stop_now(self):
        process = self.begin("train", "RECIPE=long.toml", "RUN_DIR=run", "RANKS=2")
        self.wait_for_checkpoint(process, "run")
        self.command("stop", "--now", "run")
        self.assertNotEqual(process.wait(LIMIT_S), 0)
        self.assertFalse((self.folder / "run" / "STOP").exists())
        self.assertNotIn("start 2", self.out())

    def test_time(self):
        """TIME and SIGNAL as in Slurm: before the end the ranks are told to stop, and the job starts again."""
        process = self.begin("train", "RECIPE=long.toml", "RUN_DIR=run", "TIME=00:00:30", "SIGNAL=15", "PREFLIGHT=no")
        # On a busy machine the first start may not have begun to train by then.
        self.wait_until(lambda: "on request (SIGUSR1)" in self.out(), process)
        starts = self.out().count("start ")
        self.wait_until(lambda: self.out().count("start ") > starts, process)

    def test_sweep(self):
        (self.folder / "grid").write_text("seed=3\noptimizer.lr=1e30\nseed=5\n")
        out = self.local("sweep", "RECIPE=toy.toml", "GRID=grid", "RUN_DIR=sweep", status=93)
        facts = (self.folder / "sweep" / "job").glob("local-*.txt")
        self.assertIn("task 0 0\ntask 1 93\ntask 2 0\nstatus 93\n", next(facts).read_text())
        self.assertTrue((self.folder / "sweep" / "trial-2" / "DONE").exists())
        self.assertIn("trial 1: exit status 93", out)
        # Again: the tasks of those that are finished are left out.
        out = self.local("sweep", "RECIPE=toy.toml", "GRID=grid", "RUN_DIR=sweep", status=93)
        self.assertIn("sweep: of 3 trials 2 finished (not started again)", out)
        self.assertEqual(self.facts("sweep")["task"], "1 93")
        # The same side by side, and the trials that are done stay so.
        out = self.local("sweep", "RECIPE=toy.toml", "GRID=grid", "RUN_DIR=packed", "TRIALS_PER_JOB=3", "RANKS=3",
                         status=93)
        self.assertEqual(self.hash("packed/trial-2"), self.hash("sweep/trial-2"))
        # Each has a log of its own; that of the task tells what became of them.
        job = re.search(r"^job (local-\d+):", out, re.MULTILINE)[1]
        for trial in range(3):
            log = self.folder / "packed" / "log" / f"trial-{trial}-{job}_0.out"
            self.assertIn(f"[job {job}_0] trial {trial}: log {log}\n", out)
            self.assertEqual(log.read_text().count("quern: toy: 629 parameters"), 1)
            for text in (out, log.read_text()):
                self.assertIn(f"[job {job}_0] trial {trial}: exit status {93 if trial == 1 else 0}\n", text)
        self.assertNotIn("629 parameters", out)
        trials = json.loads(self.submit("--json", "packed", command=ROOT / "jobs" / "status").stdout)[0]["trials"]
        self.assertEqual([(trial["steps"], trial["log"][-len(f"{job}_0.out") - 2:]) for trial in trials],
                         [(40, f"{trial}-{job}_0.out") for trial in range(3)])
        self.local("report", "PAGE=sweep", "RUN=sweep", "OUT=page")
        self.assertIn("3 runs that differ in", (self.folder / "page" / "sweep.md").read_text())

    def test_chain(self):
        process = self.begin("chain", "RECIPE=long.toml", "RUN_DIR=run", "COUNT=2", "PREFLIGHT=no")
        self.wait_for_checkpoint(process, "run")
        process.send_signal(signal.SIGUSR1)
        self.wait_until(lambda: "chain-2 at local" in self.out(), process)
        self.wait_until(lambda: "continuing from" in self.out(), process)
        self.command("stop", "run")
        self.assertEqual(process.wait(LIMIT_S), 85, self.out())

    def test_evaluate_a_folder_of_both_splits(self):
        rows = [f"{x / 10},{y / 10},{x - y}\n" for x in range(8) for y in range(8)]
        for split, count in (("train", 64), ("test", 10)):
            (self.folder / "rows.csv").write_text("a,b,c\n" + "".join(rows[:count]))
            subprocess.run([PROGRAM, "shard", "--images", "rows.csv:1-2", "--targets", "rows.csv:3", "--split", split,
                            "--out", "rows"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        (self.folder / "rows.toml").write_text(
            TOY.replace('source = "random"\nsamples = 640', 'train = "rows"').replace("[20]", "[2]").replace(
                "features = 5", "features = 1"))
        self.local("train", "RECIPE=rows.toml", "RUN_DIR=run")
        values = ["evaluate", "RUN_DIR=run", "DATA=rows"]
        self.assert_refused(["local", *values], "DATA=", "rows: it holds shards of both splits")
        for split, count in (("train", 64), ("test", 10)):
            self.local(*values, f"SPLIT={split}")
            self.assertEqual(json.loads((self.folder / "run" / "evaluate.json").read_text())["samples"], count)
        self.assertIn(", rmse ", self.command("status", "run"))
        # Some sites print something for each task; what is no figure is told.
        for last, status in ((f'exec {PROGRAM} "$@"', 0), (f'[ $1 = evaluate ] || exec {PROGRAM} "$@"', 1)):
            self.program("greets", f'#!/bin/sh\n[ $1 != evaluate ] || echo "hello from the prolog"\n{last}\n')
            out = self.local(*values, "SPLIT=test", f"QUERN={self.folder}/bin/greets", status=status)
            self.assertEqual(json.loads((self.folder / "run" / "evaluate.json").read_text())["samples"], 10)
        self.assertIn("no line with figures in what the program printed: hello from the prolog", out)
        self.assertEqual(list((self.folder / "run").glob("*.part*")), [])

    def test_what_cannot_be(self):
        values = ["train", "RECIPE=toy.toml", "RUN_DIR=run"]
        self.assert_refused(["local", *values, "NODES=2"], "NODES=2", "1-1 nodes")
        self.assert_refused(["local", *values, "AFTER=12"], "AFTER", "in place")
        self.assert_refused(["--here", "local", *values], "--here")
        for name in list(os.environ):
            self.assertFalse(name.startswith("SLURM_"), "this test runs outside of Slurm")
        self.assert_refused(["--here", "generic", *values], "no allocation")
        for name in ("stop", "again"):
            self.assertIn("no such folder", self.command(name, "nowhere", status=2))
            self.assertIn("has no job/", self.command(name, "bin", status=2))

    def test_again_keeps_the_start_until_something_was_written(self):
        """As a restart of the job does: from a file until there are checkpoints, "never" until there is a recipe."""
        run = self.folder / "run"
        for name in ("job", "checkpoints"):
            (run / name).mkdir(parents=True)
        for resume, begins, goes_on in (("a.h5", "recipe.toml", "checkpoints/ckpt-0000000005.h5"),
                                        ("never", "checkpoints/ckpt-0000000005.h5.tmp.node.7", "recipe.toml")):
            (run / "job" / "command-train.txt").write_text(
                f"folder {self.folder}\nword local\nword train\nword RESUME={resume}\n")
            for name, kept in ((begins, True), (goes_on, False)):
                (run / name).touch()
                said = self.command("again", "-n", "run")
                self.assertEqual(f"RESUME={resume}" in said, kept, said)
            (run / "recipe.toml").unlink()

    def test_again_reads_and_does_not_execute(self):
        job = self.folder / "run" / "job"
        job.mkdir(parents=True)
        (job / "jobs.txt").write_text("now $(touch${IFS}x) train /tmp\nnow local-1; run\n\0\xff\n")
        (job / "local-1.txt").write_text("pid 1\nhost $(touch x)\n")
        self.assertIn("keeps no command", self.command("again", "run", status=2))
        (job / "command-train.txt").write_text("folder $(touch x)\nword local\nword train\n")
        self.assertIn("is gone", self.command("again", "run", status=2))
        (job / "command-train.txt").write_text(f"folder {self.folder}\nword local\nword train\nword X=$(touch x)\n")
        self.assertIn("unknown key 'X'", self.command("again", "run", status=2))
        self.command("stop", "run")
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
