# SPDX-License-Identifier: Apache-2.0
"""The batch script looks after its ranks: runs that hang, that do not answer the signal, and a week of all that can
happen, in minutes. scripts/test --part week runs the long form of the last one."""
import os
import re
import signal
import time

import cluster
import ranks
import toy

# What happens in the week: restarts by the clock alone, and dead nodes.
CLOCKS = int(os.environ.get("QUERN_TEST_WEEK_RESTARTS", "1"))
DEATHS = int(os.environ.get("QUERN_TEST_WEEK_DEATHS", "1"))
WEEK = toy.RECIPE.replace("epochs = 20", f"epochs = {30 + 4 * CLOCKS}")


class WatchTest(cluster.JobTest):
    # Slurm looks at its clock every 30 s: a job is not ended in the minute after its time.
    SHAPE = {"NODES": 2 + DEATHS, "CPUS": 4, "CRED_EXPIRE": 5, "SETTINGS": "KillOnBadExit=1\nOverTimeLimit=1"}
    SYNC_MS = 10

    def start(self, run, *values):
        toy.write_recipe(self.folder)
        job = self.job("generic", "train", "RECIPE=toy.toml", f"RUN_DIR={run}", *values)
        self.wait_for_checkpoint(job, run, after=5)
        return job

    def ranks(self, run, number):
        """All of them, once they train."""
        found = []

        def are_there():
            found[:] = ranks.find(self.folder / run)
            return len(found) == number
        self.wait_until(are_there, run)
        return found

    def starts(self, run):
        return max(map(int, re.findall(r"\] start (\d+) on", self.log(run))), default=0)

    def wait_until(self, condition, run, timeout_s=300):
        def slowly():
            time.sleep(0.4)  # the ranks want the cores, too
            return condition()
        self.cluster.wait_until(slowly, timeout_s, lambda: self.log(run, "*") + self.cluster.queue())

    def wait_for_restart(self, job, run, after):
        """Until the job has been started more than `after` times, and trains further than before."""
        def is_back():
            states = set(self.cluster.states(job))
            self.assertFalse(states & cluster.FINAL, f"{states}\n{self.log(run)}")
            return self.starts(run) > after
        self.wait_until(is_back, run)
        step = self.checkpoint_steps(run)[-1]
        self.wait_until(lambda: self.checkpoint_steps(run)[-1] > step, run)

    def restarts(self, job):
        return int(self.cluster.facts(job)["Restarts"])

    def test_ranks_that_hang(self):
        """A rank stands still, the daemon of another run's rank is gone, and the ranks of a third run do not hear
        the signal before the end of the time. All three go on by themselves, from their checkpoints."""
        still = self.start("still", "NODES=2", "RANKS=1", "TIME=20", "WATCHDOG=1")
        self.assertEqual(ranks.send(self.ranks("still", 2)[1:], signal.SIGSTOP), 1)
        orphan = self.start("orphan", "NODES=2", "RANKS=1", "TIME=20", "WATCHDOG=1")
        os.kill(ranks.parent(self.ranks("orphan", 2)[1]), signal.SIGKILL)
        deaf = self.start("deaf", "TIME=2", "SIGNAL=30")
        self.assertEqual(ranks.send(self.ranks("deaf", 1), signal.SIGSTOP), 1)
        for job, run, reason in ((still, "still", "nothing was written for 1 minutes"), (orphan, "orphan", ""),
                                 (deaf, "deaf", "the time is nearly over")):
            self.complete(job, run, timeout_s=400)
            self.assertGreaterEqual(self.restarts(job), 1)
            self.assertIn(reason, self.log(run))
            self.assertIn("continuing from", self.log(run))
            self.assertEqual(self.hash(run), toy.reference_hash(self.folder))

    def test_a_week(self):
        """One job, stopped again and again by Slurm's clock, with a frozen rank, a controller that does not answer
        for a while, and nodes that lose their power: the weights are those of one rank that was never stopped."""
        pace = self.folder / "pace"
        pace.write_text("200\n")
        quern = self.folder / "paced-quern"
        quern.write_text(f"#!/bin/sh\nexport QUERN_TEST_SYNC_MS=$(cat {pace})\nexec {cluster.PROGRAM} \"$@\"\n")
        quern.chmod(0o755)
        toy.write_recipe(self.folder, "week.toml", WEEK)
        begin = time.monotonic()
        job = self.job("generic", "train", "RECIPE=week.toml", "RUN_DIR=week", f"QUERN={quern}", "NODES=2", "RANKS=1",
                       "TIME=1", "SIGNAL=20", "MAX_RESTARTS=200", f"RETRIES={DEATHS + 2}")
        self.wait_for_checkpoint(job, "week", after=2)
        events = [self.frozen_rank, self.outage, *[self.dead_node] * DEATHS]
        gap = CLOCKS // len(events)
        for event in events:
            for _ in range(gap):
                self.wait_for_restart(job, "week", self.starts("week"))
            event(job, "week")
        for _ in range(CLOCKS - gap * len(events)):
            self.wait_for_restart(job, "week", self.starts("week"))
        pace.write_text("0\n")
        self.complete(job, "week", timeout_s=600)
        log = self.log("week")
        self.assertGreaterEqual(self.restarts(job), CLOCKS + len(events))
        self.assertIn("the time is nearly over", log)
        self.assertIn("trying for", log)
        self.assertEqual(self.hash("week"), toy.reference_hash(self.folder, "week", WEEK))
        print(f"note: a week of {self.restarts(job)} restarts took {time.monotonic() - begin:.0f} s")

    def frozen_rank(self, job, run):
        start = self.starts(run)
        self.assertGreaterEqual(ranks.send(self.ranks(run, 2)[1:], signal.SIGSTOP), 1)
        self.wait_for_restart(job, run, start)

    def outage(self, job, run):
        """The controller sends no signal meanwhile, and does not requeue: the batch script has a clock of its own."""
        start, tries = self.starts(run), self.log(run).count("trying for")
        self.ranks(run, 2)
        with self.cluster.stopped_controller():
            begin = time.monotonic()
            self.wait_until(lambda: self.log(run).count("trying for") > tries, run)
            time.sleep(max(0.0, 35 - (time.monotonic() - begin)))
        self.wait_for_restart(job, run, start)

    def dead_node(self, job, run):
        start = self.starts(run)
        rank = self.ranks(run, 2)[start % 2]  # the one with the batch script, or the other one
        node = ranks.variable(rank, "SLURMD_NODENAME")
        self.cluster.control("kill-node", node)
        self.wait_for_restart(job, run, start)  # elsewhere: a dead node stays away


if __name__ == "__main__":
    cluster.main()
