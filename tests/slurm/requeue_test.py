# SPDX-License-Identifier: Apache-2.0
"""Jobs that are stopped, killed, preempted or diverge: requeued when it makes sense, and the weights
at the end are those of the run that was never stopped."""
import os
import re
import shutil
import signal
import time

import cluster
import ranks
import toy


class RequeueTest(cluster.JobTest):
    # KillOnBadExit is how many centres run: a rank's 85 must not kill those that are still leaving.
    SHAPE = {"NODES": 3, "CPUS": 4, "CRED_EXPIRE": 5,
             "PARTITIONS": "main:PreemptMode=off low:PriorityTier=1;PreemptMode=CANCEL;GraceTime=30 "
                           "high:PriorityTier=10;PreemptMode=off",
             "SETTINGS": "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
                         "KillOnBadExit=1"}

    def setUp(self):
        toy.write_recipe(self.folder)

    def start(self, run, *values):
        return self.job("generic", "train", "RECIPE=toy.toml", f"RUN_DIR={run}", "TIME=10", *values)

    def signal(self, job, name="USR1"):
        """What preemption does: to the ranks, not to the batch script."""
        self.cluster.run("scancel", f"--signal={name}", job)

    def ranks(self, run):
        return ranks.find(self.folder / run)

    def assert_as_if_never_stopped(self, run):
        self.assertEqual(self.hash(run), toy.reference_hash(self.folder))
        self.assertEqual(self.checkpoint_steps(run)[-1], toy.STEPS)
        self.assertTrue((self.folder / run / "DONE").exists())

    def test_stopped_twice_by_its_signal(self):
        job = self.start("twice", "NODES=2", "RANKS=3")
        self.wait_for_checkpoint(job, "twice", after=10)
        self.signal(job)
        self.wait_for_line("twice", "start 2 on")
        step = self.checkpoint_steps("twice")[-1]  # where it stopped: the ranks listen once there is another one
        self.wait_for_checkpoint(job, "twice", after=step)
        self.signal(job)
        self.complete(job, "twice")
        log = self.log("twice")
        self.assertEqual(log.count("on request (SIGUSR1)"), 2, log)
        self.assertIn("start 3 on", log)
        self.assertEqual(self.cluster.facts(job)["Restarts"], "2")
        self.assert_as_if_never_stopped("twice")

    def test_node_dies(self):
        # Optimizer state is spread over both nodes: checkpoints collect it, the new start spreads it again.
        recipe = toy.RECIPE + "[parallel]\nshard_optimizer = true\n"
        toy.write_recipe(self.folder, text=recipe)
        job = self.start("node", "NODES=2", "RANKS=2")
        self.wait_for_checkpoint(job, "node", after=5)
        node = "node2" if self.cluster.facts(job)["BatchHost"] != "node2" else "node1"
        self.assertIn("node[1-2]", self.cluster.facts(job)["NodeList"])
        self.cluster.control("kill-node", node)
        self.cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=power")
        self.complete(job, "node")
        self.assertEqual(self.cluster.facts(job)["Restarts"], "1")
        self.assertIn("continuing from", self.log("node"))
        self.assert_as_if_never_stopped("node")
        self.cluster.control("start-node", node)
        self.cluster.wait_until(lambda: self.cluster.run("sinfo", "-h", "-n", node, "-o", "%T").split()
                                == ["idle"], 90, self.cluster.queue)

    def test_preempted(self):
        job = self.start("low", "NODES=3", "RANKS=1", "CPUS=4", "PARTITION=low")
        self.wait_for_checkpoint(job, "low", after=5)
        other = self.cluster.run("sbatch", "--parsable", "-p", "high", "-N3", "--ntasks-per-node=4",
                                 "-t1", "-o", "/dev/null", "--wrap", "sleep 1").strip()
        self.complete(job, "low")
        self.assertEqual(self.cluster.wait(other), ("COMPLETED", 0))
        self.assertIn("on request (SIGTERM)", self.log("low"))
        self.assertEqual(self.cluster.facts(job)["Restarts"], "1")
        self.assert_as_if_never_stopped("low")

    def test_stop_file(self):
        job = self.start("stopped", "RANKS=2")
        self.wait_for_checkpoint(job, "stopped", after=5)
        (self.folder / "stopped" / "STOP").touch()
        self.assertEqual(self.cluster.wait(job), ("FAILED", 85))
        self.assertIn("not requeued: asked to stop", self.log("stopped"))
        # While the file is there, nothing starts; without it the run goes on.
        self.assertEqual(self.cluster.wait(self.start("stopped")), ("FAILED", 85))
        (self.folder / "stopped" / "STOP").unlink()
        self.complete(self.start("stopped"), "stopped")
        self.assert_as_if_never_stopped("stopped")
        # A finished run is not trained again.
        done = self.submit("generic", "train", "RECIPE=toy.toml", "RUN_DIR=stopped", check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("DONE", done.stderr)

    def test_cancelled_by_the_user(self):
        job = self.start("cancelled")
        self.wait_for_checkpoint(job, "cancelled", after=5)
        self.cluster.run("scancel", job)
        self.assertEqual(self.cluster.wait(job)[0], "CANCELLED")
        self.assertNotIn("requeueing", self.log("cancelled"))

    def test_restart_limit(self):
        job = self.start("limit", "MAX_RESTARTS=0")
        self.wait_for_checkpoint(job, "limit", after=5)
        self.signal(job)
        self.assertEqual(self.cluster.wait(job), ("FAILED", 85))
        self.assertIn("MAX_RESTARTS is 0", self.log("limit"))

    def test_no_progress(self):
        """A run that is stopped at once again and again, as with a SIGNAL longer than its TIME."""
        fake = self.folder / "stops-at-once"
        fake.write_text("#!/bin/sh\ncase $1 in train) exit 85 ;; --version) echo fake ;; esac\n")
        fake.chmod(0o755)
        job = self.start("stuck", f"QUERN={fake}")
        self.assertEqual(self.cluster.wait(job), ("FAILED", 85))
        self.assertIn("no progress", self.log("stuck"))

    def test_a_start_from_a_file_goes_on_from_its_own_checkpoints(self):
        """RESUME is for the first start: those after it would begin there again and again."""
        self.complete(self.start("source", "SET=train.epochs=2"), "source")
        file = sorted((self.folder / "source" / "checkpoints").iterdir())[-1]
        job = self.start("from-file", f"RESUME={file}")
        step = self.wait_for_checkpoint(job, "from-file", after=45)
        self.signal(job)
        self.complete(job, "from-file")
        log = self.log("from-file")
        self.assertEqual(self.cluster.facts(job)["Restarts"], "1")
        self.assertEqual(log.count(f"continuing from {file}"), 1, log)
        steps = [int(number) for number in re.findall(r"continuing from \S*from-file\S*ckpt-(\d+)", log)]
        self.assertGreaterEqual(steps[0], step, log)
        self.assert_as_if_never_stopped("from-file")

    def test_diverging_run(self):
        # The weights are found bad by rank 0 alone, which writes them: srun must still see 93.
        job = self.start("diverged", "RANKS=2", "SET=optimizer.type=sgd", "SET=optimizer.lr=3e38",
                         "SET=optimizer.weight_decay=1e3")
        self.assertEqual(self.cluster.wait(job), ("FAILED", 93))
        self.assertIn("a restart cannot help", self.log("diverged"))
        self.assertEqual(self.cluster.facts(job)["Restarts"], "0")
        self.assertTrue((self.folder / "diverged" / "job" / "GAVE_UP").exists())

    def test_submitted_again_meanwhile(self):
        """A second job of the run, held, with an edited recipe: the restart of the first one is as if there were none."""
        self.complete(self.start("origin", "SET=train.epochs=2"), "origin")
        file = sorted((self.folder / "origin" / "checkpoints").iterdir())[-1]
        first = self.start("begun", f"RESUME={file}")
        script = (self.folder / "begun" / "job" / f"train-{first}.sbatch").read_text()
        step = self.wait_for_checkpoint(first, "begun", after=45)
        toy.write_recipe(self.folder, text=toy.RECIPE.replace("lr = 1e-3", "lr = 0.5"))
        other = self.submit("generic", "train", "RECIPE=toy.toml", "RUN_DIR=begun", "TIME=10", check=False)
        self.assertIn("of a different recipe", other.stderr)
        toy.write_recipe(self.folder, text="# edited\n" + toy.RECIPE)
        second = self.start("begun", "SBATCH=--hold", f"AFTER=afterany:{first}")
        self.signal(first)
        self.complete(first, "begun")
        self.cluster.run("scancel", second)
        self.assertEqual((self.folder / "begun" / "job" / f"train-{first}.sbatch").read_text(), script)
        self.assertGreaterEqual(int(self.cluster.facts(first)["Restarts"]), 1)
        self.assertGreater(self.checkpoint_steps("begun")[-1], step)
        self.assert_as_if_never_stopped("begun")

    def test_setup_lines_and_shell_options(self):
        """SETUP meets variables that are not set, the user's BASH_ENV makes every failure fatal, and a signal that
        comes meanwhile is obeyed."""
        jobs = self.folder / "kit" / "jobs"
        shutil.copytree(cluster.ROOT / "jobs", jobs)
        (self.folder / "kit" / "analysis").symlink_to(cluster.ROOT / "analysis")
        with open(jobs / "sites" / "generic.env", "a", encoding="utf-8") as site:
            site.write('SETUP=[ -n "$NOT_SET_ANYWHERE" ] || seen=yes\n'
                       f"SETUP=[[ ! -v SLURM_JOB_ID ]] || touch {self.folder}/in-setup\n"
                       f"SETUP=while [[ -v SLURM_JOB_ID && ! -e {self.folder}/go-on ]]; do sleep 0.2; done\n"
                       "SETUP=set -e\n")
        (self.folder / "bash-env").write_text("set -e\n")
        done = self.cluster.run(jobs / "submit", "generic", "train", "RECIPE=toy.toml", "RUN_DIR=shell", "TIME=10",
                                cwd=self.folder, check=False, env={"BASH_ENV": self.folder / "bash-env", **self.slow_down()})
        self.assertEqual(done.returncode, 0, done.stderr)
        job = re.search(r"^job (\d+):", done.stdout, re.MULTILINE).group(1)
        self.cluster.wait_until((self.folder / "in-setup").exists, 120, lambda: self.log("shell"))
        self.cluster.run("scancel", "--batch", "--signal=USR1", job)
        time.sleep(1)  # until it is there: the batch script shows nothing of it
        (self.folder / "go-on").touch()
        self.wait_for_line_slowly("shell", "start 2 on")
        self.wait_for_checkpoint(job, "shell", after=5)
        self.signal(job)
        self.complete(job, "shell")
        self.assertGreaterEqual(int(self.cluster.facts(job)["Restarts"]), 2, self.log("shell"))
        self.assert_as_if_never_stopped("shell")

    def kill_a_rank(self, run, *values):
        job = self.start(run, "NODES=2", "RANKS=1", *values)
        self.wait_for_checkpoint(job, run, after=5)
        self.assertEqual(ranks.send(self.ranks(run)[1:], signal.SIGKILL), 1)
        return job

    def test_a_killed_rank(self):
        """As the kernel kills when memory is short: tried again, as often as RETRIES says."""
        again = self.kill_a_rank("killed", "RETRIES=1")
        final = self.kill_a_rank("final", "RETRIES=0")
        self.assertEqual(self.cluster.wait(final, timeout_s=180)[0], "FAILED", self.log("final"))
        self.assertIn("not requeued: RETRIES is 0", self.log("final"))
        self.complete(again, "killed", timeout_s=180)
        kept = (self.folder / "killed" / "job" / f"retries-{again}").read_text().splitlines()
        self.assertEqual(kept[0], "1")
        self.assert_as_if_never_stopped("killed")

    def test_a_rank_that_waits_for_a_killed_one(self):
        """It does not notice (over TCP it may, by chance), and srun ends it before a minute of the allocation is lost."""
        job = self.start("waits", "NODES=2", "RANKS=1", "RETRIES=0")
        self.wait_for_checkpoint(job, "waits", after=5)
        first, second = self.ranks("waits")
        self.assertEqual(ranks.send([first], signal.SIGSTOP), 1)
        self.assertEqual(ranks.send([second], signal.SIGKILL), 1)
        begin = time.monotonic()
        self.assertEqual(self.cluster.wait(job), ("FAILED", 137), self.log("waits"))
        self.assertLess(time.monotonic() - begin, 50, self.log("waits"))

    def fake(self, name, text):
        """A program in place of quern."""
        file = self.folder / name
        file.write_text("#!/bin/bash\n[[ $1 != --version ]] || echo fake\n" + text)
        file.chmod(0o755)
        return f"QUERN={file}"

    def test_failures_are_tried_again_so_often_and_wrong_input_never(self):
        failing = self.fake("fails", "case $* in *--check-recipe*) ;; train*) exit 1 ;; esac\n")
        wrong = self.fake("wrong", "case $* in *--check-recipe*) ;; train*) exit 2 ;; esac\n")
        fails, refuses = self.start("fails-twice", failing, "RETRIES=1"), self.start("wrong-input", wrong)
        self.assertEqual(self.cluster.wait(fails), ("FAILED", 1))
        self.assertIn("tried again 1 times", self.log("fails-twice"))
        self.assertEqual(self.cluster.facts(fails)["Restarts"], "1")
        self.assertEqual(self.cluster.wait(refuses), ("FAILED", 2))
        self.assertEqual(self.cluster.facts(refuses)["Restarts"], "0")

    def test_a_launch_that_slurm_never_starts(self):
        (self.folder / "wrong.env").write_text("LIMIT=*:* 1-9 UNLIMITED\nSRUN=--mpi=nosuch\n")
        done = self.submit("./wrong.env", "train", "RECIPE=toy.toml", "RUN_DIR=never", "TIME=10")
        self.assertRegex(done.stderr, r"SRUN=--mpi=nosuch of .*/wrong.env: srun knows .*\bnone\b.* here")
        job = done.stdout.split("\njob ", 1)[1].split(":")[0]
        self.assertEqual(self.cluster.wait(job), ("FAILED", 2), self.log("never"))
        self.assertEqual(self.cluster.facts(job)["Restarts"], "0")
        self.assertIn("no step ever starts here (srun: error: ", self.log("never"))
        self.assertIn("Invalid MPI type", self.log("never"))
        self.assertNotIn("once more", self.log("never"))
        self.assertNotIn("srun knows", self.submit("-n", "generic", "train", "RECIPE=toy.toml", "RUN_DIR=other").stderr)

    def test_a_new_checkpoint_begins_the_count_of_failures_anew(self):
        """Three starts that get on before they fail, then those that do not."""
        failing = self.fake("gets-on", "case $* in *--check-recipe*) ;; train*)\n"
                            "  start=${SLURM_RESTART_COUNT:-0}\n"
                            "  ((start > 2)) || { mkdir -p weekly/checkpoints; echo >weekly/checkpoints/ckpt-$start.h5; }\n"
                            "  exit 1\nesac\n")
        job = self.start("weekly", failing, "RETRIES=1")
        self.assertEqual(self.cluster.wait(job, timeout_s=180), ("FAILED", 1))
        self.assertIn("tried again 1 times without a new checkpoint", self.log("weekly"))
        self.assertEqual(self.cluster.facts(job)["Restarts"], "3")

    def test_signals_before_the_training_listens(self):
        """While SETUP runs, in the preflight, and before the training takes signals: to the ranks, as preemption sends
        them, or to the batch script, as --signal does."""
        gate = ("here=$1-$SLURM_RESTART_COUNT\n"
                "if [[ -e $GATES/stop-$here ]]; then\n"
                "  touch $GATES/in-$here\n  while [[ -e $GATES/stop-$here ]]; do sleep 0.2; done\nfi\n"
                f"exec {cluster.PROGRAM} \"$@\"\n")
        gates = self.folder / "gates"
        gates.mkdir()
        quern = self.fake("gated", f"GATES={gates}\n" + gate)
        for stop in ("preflight-", "train-1", "preflight-2"):
            (gates / f"stop-{stop}").touch()
        job = self.start("early", quern)
        for number, (stop, options) in enumerate([("preflight-", ["--signal=TERM"]),
                                                  ("train-1", ["--batch", "--signal=USR1"]),
                                                  ("preflight-2", ["--signal=USR1"])]):
            self.cluster.wait_until((gates / f"in-{stop}").exists, 120, lambda: self.log("early"))
            self.cluster.run("scancel", *options, job)
            self.wait_for_line_slowly("early", f"start {number + 2} on")
        self.complete(job, "early", timeout_s=180)
        self.assertEqual(self.log("early").count("stopped before the training"), 3)
        self.assert_as_if_never_stopped("early")

    def wait_for_line_slowly(self, run, text):
        self.cluster.wait_until(lambda: text in self.log(run), 120, lambda: self.log(run))


if __name__ == "__main__":
    cluster.main()
