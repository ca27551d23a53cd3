# SPDX-License-Identifier: Apache-2.0
"""What jobs/submit --wait, jobs/status --watch and jobs/stop make of a Slurm that forgets, that fails and that does not
answer. Called as `queue_test.py .../bin/quern`; Slurm's commands are scripts here, because a real one takes minutes to
forget. With a real one: tests/slurm."""
import shutil
import sys
import unittest

from submit_case import ROOT, SubmitCase

# Each call of squeue is a look at the next state; the last one stays. A line: job, task, state, status.
SQUEUE = """#!/bin/sh
[ -z "$(env | grep ^SQUEUE_)" ] || exit 0 # they hide jobs
look=$(($(cat "$SEEN/look" 2>/dev/null || echo 0) + 1))
[ -e "$SEEN/states-$look" ] || look=$(ls "$SEEN"/states-* | wc -l)
echo $look >"$SEEN/look"
for word in "$@"; do format=$word; done
grep -q . "$SEEN/states-$look" || { echo "slurm_load_jobs error: ${NO_ANSWER:-Invalid job id specified}" >&2; exit 1; }
while read -r job task state status; do
  echo "$format" | sed "s,%i,${job}_$task,; s,%F,$job,; s,%K,$task,; s,%T,$state,; s,%[a-zA-Z],,g"
done <"$SEEN/states-$look"
"""
SCONTROL = """#!/bin/sh
for word in "$@"; do id=$word; done
grep "^$id " "$SEEN/states-$(cat "$SEEN/look")" | while read -r job task state status; do
  echo "JobId=1 ArrayJobId=$job ArrayTaskId=$task JobName=x JobState=$state Reason=None Restarts=0 ExitCode=$status:0 RunTime=00:01:00"
done | grep . || { echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1; }
"""


class QueueTest(SubmitCase):
    def setUp(self):
        super().setUp()
        self.program("squeue", SQUEUE)
        self.program("scontrol", SCONTROL)
        self.program("sacct", "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n")
        self.program("sbatch", '#!/bin/sh\necho x >>"$SEEN/ids"\nwc -l <"$SEEN/ids"\n')

    def states(self, *looks):
        for path in self.folder.glob("states-*"):
            path.unlink()
        for name in ("look", "ids"):
            (self.folder / name).unlink(missing_ok=True)
        for number, lines in enumerate(looks, 1):
            (self.folder / f"states-{number}").write_text("".join(line + "\n" for line in lines))

    def wait(self, *args, status=0):
        done = self.submit("--wait", "generic", *args, QUERN_WAIT_SECONDS="0.1")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def submitted(self, run, *ids):
        """A run folder with these jobs."""
        job = self.folder / run / "job"
        job.mkdir(parents=True)
        (job / "jobs.txt").write_text("".join(f"2026-01-01T00:00:00Z {number} train {self.folder / run}\n"
                                              for number in ids))
        (job / "command-train.txt").write_text(f"folder {self.folder}\nword generic\nword train\n")

    def command(self, name, *args, status=0, **variables):
        done = self.submit(*args, command=ROOT / "jobs" / name, **variables)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_wait_for_jobs_that_slurm_forgets(self):
        """Slurm forgets a job minutes after its end, and others of the plan, or tasks of the array, take longer."""
        self.states(["1 N/A RUNNING 0", "2 N/A PENDING 0"], ["1 N/A COMPLETED 0", "2 N/A RUNNING 0"],
                    ["2 N/A RUNNING 0"], ["2 N/A COMPLETED 0"])
        done = self.wait("chain", "RECIPE=mlp.toml", "RUN_DIR=run", "COUNT=2")
        self.assertIn("job 1: chain-1 COMPLETED, status 0", done.stdout)
        self.assertNotIn("forgotten", done.stderr)
        self.states(["1 0 RUNNING 0", "1 1 PENDING 0"], ["1 0 FAILED 93", "1 1 RUNNING 0"], ["1 1 RUNNING 0"],
                    ["1 1 COMPLETED 0"])
        self.assertIn("status 93", self.wait("sweep", "RECIPE=mlp.toml", "RUN_DIR=sweep", "GRID=grid", status=93).stdout)
        # What nobody saw at its end stays unknown.
        self.states(["1 N/A RUNNING 0"], [])
        self.assertIn("no longer knows how it ended", self.wait("train", "RECIPE=mlp.toml", "RUN_DIR=lost", status=1).stderr)

    def test_wait_asks_less_and_less_often(self):
        """...while nothing changes. A pause is noted here, and not made."""
        self.program("sleep", '#!/bin/sh\necho "$1" >>"$SEEN/pauses"\n')
        long = [["1 N/A RUNNING 0"]] * 20
        self.states(["1 N/A PENDING 0"], ["1 N/A PENDING 0"], *long, ["1 N/A COMPLETED 0"])
        done = self.submit("--wait", "generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        pauses = [int(line) for line in (self.folder / "pauses").read_text().split()]
        self.assertEqual(len(pauses), 22)
        self.assertEqual(pauses[:2], [5, 5])
        running = pauses[2:]
        self.assertEqual(running, sorted(running))
        self.assertEqual((running[0], running[-1]), (5, 30))
        self.assertLess(sum(running[:6]), 60)

    def test_watch_asks_once_about_what_has_ended(self):
        """Job 1 is in the accounting alone, 2 ends while others run, 4 is unknown to all."""
        for name in "squeue", "scontrol":
            self.program(name, (self.folder / "bin" / name).read_text().replace(
                "\n", f'\necho "{name} $*" >>"$SEEN/calls"\n', 1))
        self.program("sacct", '#!/bin/sh\necho "sacct $*" >>"$SEEN/calls"\n'
                              "echo '1|COMPLETED|0:0|2026-01-01T00:00:00|00:01:00|01:00:00|node1'\n")
        self.submitted("run", 1, 2, 3, 4)
        self.states(["2 N/A RUNNING 0", "3 N/A RUNNING 0"], *[["2 N/A FAILED 1", "3 N/A RUNNING 0"]] * 4,
                    ["2 N/A FAILED 1", "3 N/A COMPLETED 0"])
        shown = self.command("status", "--watch", "--every", "1", "run").stdout.split("\n\n")
        self.assertEqual(len(shown), 6, shown)
        for text in shown:
            self.assertRegex(text, r"job 1 .*COMPLETED")
        calls = (self.folder / "calls").read_text().splitlines()
        of = lambda *words: [call for call in calls if all(word in f"{call} " for word in words)]
        self.assertEqual(len(of("sacct ")), 1, calls)
        self.assertEqual([len(of("scontrol ", f" {job} ")) for job in (2, 3)], [2, 6], calls)
        self.assertEqual([" 1,2,3,4 " in call for call in of("squeue ")], [True] + [False] * 5, calls)

    def test_watch_keeps_what_the_accounting_says_of_a_job_that_runs(self):
        """Slurm's controller has forgotten it, or does not answer; the accounting is asked once a minute."""
        self.program("sacct", "#!/bin/sh\necho '1|RUNNING|0:0|2026-01-01T00:00:00|00:01:00|01:00:00|node1'\n")
        self.submitted("run", 1)
        self.states([], [], [], ["1 0 COMPLETED 0"])
        shown = self.command("status", "--watch", "--every", "1", "run").stdout.split("\n\n")
        self.assertEqual([("RUNNING" in text, "COMPLETED" in text) for text in shown],
                         [(True, False)] * 3 + [(False, True)], shown)

    def test_pauses_of_watch(self):
        sys.path.insert(0, str(ROOT / "jobs" / "lib"))
        from status.pause import Pause
        pause = Pause()
        pauses = [pause.after("running") for _ in range(15)]
        self.assertEqual((pauses[0], pauses[-1]), (10, 60))
        self.assertEqual(pauses, sorted(pauses))
        self.assertEqual(pause.after("ended"), 10)
        self.assertEqual({Pause(3).after(state) for state in "aaab"}, {3})

    def test_watch_while_slurm_does_not_answer(self):
        self.submitted("run", 1)
        self.states(["1 0 RUNNING 0"], [], ["1 0 RUNNING 0"], ["1 0 COMPLETED 0"])
        shown = self.command("status", "--watch", "--every", "1", "run", NO_ANSWER="Unable to contact").stdout
        self.assertIn("Slurm does not answer", shown)
        self.assertEqual(shown.count("COMPLETED"), 1, shown)
        (self.folder / "run" / "DONE").touch()
        (self.folder / "run" / "recipe.toml").touch()
        self.states([])
        self.command("status", "--watch", "run", NO_ANSWER="Unable to contact")

    def test_stop_goes_on_after_an_error(self):
        self.submitted("run", 1, 2)
        self.submitted("more", 3)
        self.states(["1 0 RUNNING 0", "2 0 PENDING 0", "3 0 PENDING 0"])
        self.program("scancel", '#!/bin/sh\nfor id in "$@"; do :; done\necho "$@" >>"$SEEN/scancel-calls"\n'
                                '[ "$id" = 3 ] || { echo "scancel: error: no answer" >&2; exit 1; }\n')
        done = self.command("stop", "--now", "run", "nowhere", "more", status=2)
        self.assertEqual((self.folder / "scancel-calls").read_text(), "1\n2\n3\n")
        for text in ("job 1", "job 2", "scancel: error: no answer", "no such folder"):
            self.assertIn(text, done.stderr)
        self.assertNotIn("job 1", done.stdout)
        self.assertIn("job 3: train is cancelled", done.stdout)
        done = self.command("stop", "run", "more", status=2)
        self.assertNotIn("job 2: train was waiting, and leaves the queue", done.stdout)
        self.assertIn("job 3: train was waiting, and leaves the queue", done.stdout)
        self.assertIn("job 2", done.stderr)
        self.assertTrue((self.folder / "more" / "STOP").exists())

    def test_no_stop_in_a_finished_run(self):
        """...where Slurm does not answer; in another it may reach what trains."""
        for name in ("run", "done"):
            self.submitted(name, 1)
        (self.folder / "done" / "DONE").touch()
        self.states([])
        done = self.command("stop", "run", "done", status=2, NO_ANSWER="Unable to contact")
        self.assertEqual([(self.folder / name / "STOP").exists() for name in ("run", "done")], [True, False], done.stderr)
        self.assertIn("done: Slurm does not answer; the run is finished", done.stderr)

    def test_a_squeue_that_hangs(self):
        self.submitted("run", 1)
        self.program("squeue", "#!/bin/sh\nexec sleep 60\n")
        jobs = self.folder / "short"
        shutil.copytree(ROOT / "jobs", jobs, ignore=shutil.ignore_patterns("__pycache__"))
        slurm = jobs / "lib" / "status" / "slurm.py"
        slurm.write_text(slurm.read_text().replace("TIMEOUT_S = 30", "TIMEOUT_S = 1"))
        done = self.submit("run", command=jobs / "status")
        self.assertIn("  Slurm does not answer: squeue did not end within 1 s\n", done.stdout, done.stderr)

    def test_squeue_is_asked_for_all_jobs(self):
        """SQUEUE_STATES and such of the user's environment hide jobs."""
        self.submitted("run", 1)
        self.states(["1 0 RUNNING 0"])
        again = self.command("again", "run", status=2, SQUEUE_STATES="PENDING")
        self.assertIn("job 1 is queued or running", again.stderr)
        self.assertIn("RUNNING", self.command("status", "run", SQUEUE_STATES="PENDING").stdout)
        script = (f'source {ROOT}/jobs/lib/job/step.sh; this_job() {{ echo 1; }}; ask_for_end; echo "${{end_at:-none}}"')
        self.program("squeue", '#!/bin/sh\n[ -z "$SQUEUE_STATES" ] || exit 0\necho 12:00\n')
        done = self.submit("-c", script, command="bash", SQUEUE_STATES="PENDING")
        self.assertRegex(done.stdout, r"^7[12]\d$", done.stderr)

    def test_a_file_stop_at_submission(self):
        (self.folder / "run").mkdir()
        (self.folder / "run" / "STOP").touch()
        for words in (["train"], ["chain", "COUNT=2"]):
            done = self.submit("generic", *words, "RECIPE=mlp.toml", "RUN_DIR=run")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("/run/STOP is there: the job will not start (jobs/again removes it)"), 1,
                             done.stderr)
        (self.folder / "run" / "STOP").unlink()
        self.assertEqual(self.submit("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run").stderr, "")

    def test_again_with_other_values(self):
        """They replace those of the same key, of SET and such those of the same setting, and are kept."""
        job = self.folder / "run" / "job"
        job.mkdir(parents=True)
        words = ["generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run", "NODES=4", "SET=seed=7", "SET=train.epochs=2",
                 "SBATCH=--nice=5"]
        command = job / "command-train.txt"
        command.write_text(f"folder {self.folder}\n" + "".join(f"word {word}\n" for word in words))

        def printed(*more):
            return self.command("again", "-n", "run", *more).stdout.partition("RUN_DIR=run")[2].split()

        self.assertEqual(printed(), words[4:])
        self.assertEqual(printed("NODES=1"), [*words[5:], "NODES=1"])
        self.assertEqual(printed("train", "TIME=10", "NODES=1"), [*words[5:], "TIME=10", "NODES=1"])
        self.assertEqual(printed("SET=train.epochs=3"), ["NODES=4", "SET=seed=7", "SBATCH=--nice=5", "SET=train.epochs=3"])
        self.assertEqual(printed("SET="), ["NODES=4", "SBATCH=--nice=5", "SET="])
        self.assertEqual(printed("SBATCH=--nice=6", "SBATCH=--x=1"), [*words[4:7], "SBATCH=--nice=6", "SBATCH=--x=1"])
        self.command("again", "-n", "run", "RUN_DIR=run")
        for name, value in ("RUN_DIR=other", "its command has RUN_DIR=run"), ("NODS=1", "unknown key 'NODS'"), ("nodes=1", "did you mean NODES?"), ("NODES=x", "NODES=x"):
            self.assertIn(value, self.command("again", "run", name, status=2).stderr)
        self.program("sbatch", "#!/bin/sh\necho 42\n")
        self.assertEqual(self.command("again", "run", "NODES=1").stderr, "")
        self.assertIn("--nodes=1\n", (job / "train.sbatch").read_text())
        kept = command.read_text()
        self.assertEqual(kept.count("word NODES="), 1)
        self.assertIn("word NODES=1\n", kept)

    def test_again_with_a_file_stop(self):
        """It is gone when the job is queued, and stays where the job is refused, by jobs/submit or by Slurm."""
        (self.folder / "run" / "job").mkdir(parents=True)
        command = self.folder / "run" / "job" / "command-train.txt"
        words = ["generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run"]

        def keep(*more):
            command.write_text(f"folder {self.folder}\n" + "".join(f"word {word}\n" for word in [*words, *more]))

        stop = self.folder / "run" / "STOP"
        stop.write_text("tired\n")
        self.program("sbatch", '#!/bin/sh\nls "$SEEN/run" >"$SEEN/at-sbatch"\n[ ! -e "$SEEN/closed" ] || exit 1\necho 42\n')
        keep("NODES=0")
        self.assertIn("NODES=0", self.command("again", "run", status=2).stderr)
        keep()
        (self.folder / "closed").touch()
        self.assertIn("Slurm refused the job", self.command("again", "run", status=2).stderr)
        self.assertEqual(stop.read_text(), "tired\n")
        self.assertNotIn("STOP", (self.folder / "at-sbatch").read_text())
        (self.folder / "closed").unlink()
        done = self.command("again", "run")
        self.assertEqual(done.stderr, "")
        self.assertFalse(stop.exists())
        # A STOP that comes while Slurm refuses is the user's.
        self.program("sbatch", '#!/bin/sh\ntouch "$SEEN/run/STOP"\nexit 1\n')
        self.command("again", "run", status=2)
        self.assertTrue(stop.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
