# SPDX-License-Identifier: Apache-2.0
"""What becomes of a job after its step has ended (jobs/lib/job/run.sh), decided without a Slurm; with one:
tests/slurm/requeue_test.py and watch_test.py."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

JOB = pathlib.Path(__file__).resolve().parents[2] / "jobs" / "lib" / "job"

# As train.sbatch has them: start 3 of job 7, which began at step 10.
PRELUDE = """
set -u
for part in environment requeue run; do source "$1/$part.sh"; done
run_dir="$2" start_step=10 max_restarts=20 retries=0 may_requeue=no ended_because="" stop_asked=no
SLURM_JOB_ID=7 SLURM_RESTART_COUNT=2
"""


class EndsTest(unittest.TestCase):
    def setUp(self):
        self.run_dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.run_dir / "checkpoints").mkdir()
        (self.run_dir / "job").mkdir()
        self.idle = self.run_dir / "job" / "idle-starts-7"

    def end(self, status, *, step=10, because=""):
        """(exit status, what was said) after a step that ended with `status` and its newest checkpoint at `step`."""
        (self.run_dir / "checkpoints" / f"ckpt-{step:010d}.h5").touch()
        command = f"{PRELUDE}ended_because='{because}'; end_run {status}"
        done = subprocess.run(["bash", "-c", command, "bash", JOB, self.run_dir], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_starts_without_progress_are_counted_in_a_row(self):
        for count in "1234":
            self.assertNotIn("no progress", self.end(137, because="hung")[1])
            self.assertEqual(self.idle.read_text(), f"{count}\n")
        self.assertIn("not requeued here", self.end(85, step=11)[1])
        self.assertFalse(self.idle.exists())
        for file in (self.run_dir / "checkpoints").iterdir():
            file.unlink()
        for _ in range(4):
            self.assertNotIn("no progress", self.end(137, because="hung")[1])
        self.assertIn("no progress in 5 starts", self.end(137, because="hung")[1])

    def test_a_stop_that_the_program_finds_is_no_wrong_input(self):
        self.assertEqual(self.end(2)[0], 2)
        (self.run_dir / "STOP").touch()
        status, said = self.end(2)
        self.assertEqual(status, 85)
        self.assertIn("asked to stop", said)

    def test_statuses(self):
        for status, expected, text in ((0, 0, "done"), (85, 85, "no progress"), (137, 137, "RETRIES is 0"),
                                       (126, 126, "failed"), (138, 85, "before the training had begun")):
            with self.subTest(status):
                self.assertEqual(self.end(status)[0], expected)
                self.assertIn(text, self.end(status)[1])
        self.assertEqual(self.end(93)[0], 93)
        self.assertIn("exit status 93 of job 7", (self.run_dir / "job" / "GAVE_UP").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
