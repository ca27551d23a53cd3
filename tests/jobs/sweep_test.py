# SPDX-License-Identifier: Apache-2.0
"""A sweep that is submitted again starts the trials that are not finished. Called as `sweep_test.py .../bin/quern`."""
import sys
import unittest

from submit_case import ROOT, SubmitCase

SWEEP = ["generic", "sweep", "RECIPE=mlp.toml", "RUN_DIR=run", "GRID=six"]


class SweepTest(SubmitCase):
    def setUp(self):
        super().setUp()
        (self.folder / "six").write_text("".join(f"seed={seed}\n" for seed in range(6)))

    def trial(self, number, file):
        path = self.folder / "run" / f"trial-{number}" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    def array(self, *values):
        """Of the filled job, and what is said beside it."""
        done = self.submit("-n", *SWEEP, *values)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stdout.splitlines() if line.startswith("#SBATCH --array=")]
        self.assertEqual(len(lines), 1)
        return lines[0].split("=")[1], done.stderr

    def test_the_first_submission(self):
        array, said = self.array()
        self.assertEqual(array, "0-5%4")
        self.assertNotIn("sweep:", said)

    def test_many_trials_take_a_while(self):
        for trials in (99, 100):
            (self.folder / "six").write_text("".join(f"seed={seed}\n" for seed in range(trials)))
            self.assertEqual("sweep: checking the settings of 100 trials\n" in self.array()[1], trials == 100)

    def test_finished_trials_are_not_started_again(self):
        for number in (0, 2):
            self.trial(number, "DONE")
        self.trial(3, "checkpoints/ckpt-0000000007.h5")
        (self.folder / "run" / "trial-4" / "checkpoints").mkdir(parents=True)  # none was written
        array, said = self.array("TIME=60", "MAX_RESTARTS=0")
        self.assertEqual(array, "1,3-5%4")
        self.assertEqual(said.count("sweep: of 6 trials 2 finished (not started again), 1 resume, 3 begin\n"), 1, said)
        self.assertIn("cost: at most 4 node-hours", said)
        # A task of packed trials keeps its number, too, and starts for the sake of one of them.
        self.assertEqual(self.array("TRIALS_PER_JOB=2", "RANKS=2")[0], "0-2%4")
        for number in (1, 4, 5):
            self.trial(number, "DONE")
        self.assertEqual(self.array("TRIALS_PER_JOB=2", "RANKS=2")[0], "1%4")
        self.assertEqual(self.array("TRIALS_PER_JOB=3", "RANKS=3")[0], "1%4")
        self.trial(3, "DONE")
        self.assert_refused(SWEEP, "all trials are finished: 6 of 6 (FINISHED=again trains them further)")

    def test_all_of_them_again(self):
        """Their marks go, unless Slurm refuses the job; jobs/again does not do it once more."""
        marks = [self.trial(number, "DONE") for number in (0, 2)]
        (self.folder / "run" / "trial-0" / "job").mkdir()
        (self.folder / "run" / "trial-0" / "job" / "common").write_text("recipe of fewer epochs\n")
        self.assert_refused(SWEEP, "is finished with recipe of fewer epochs", "FINISHED=again")
        array, said = self.array("FINISHED=again")
        self.assertEqual(array, "0-5%4")
        self.assertIn("sweep: of 6 trials 2 finished (trained further), 0 resume, 4 begin\n", said)
        self.assertTrue(all(mark.exists() for mark in marks))
        self.program("sbatch", '#!/bin/sh\nls run/trial-*/DONE >"$SEEN/marks" 2>&1\nexit 1\n')
        self.assertEqual(self.submit(*SWEEP, "FINISHED=again").returncode, 2)
        self.assertIn("No such file", (self.folder / "marks").read_text())
        self.assertTrue(all(mark.exists() for mark in marks))
        self.program("sbatch", "#!/bin/sh\necho 42\n")
        self.assertEqual(self.submit(*SWEEP, "FINISHED=again").returncode, 0)
        self.assertFalse(any(mark.exists() for mark in marks))
        again = self.submit("-n", "run", command=ROOT / "jobs" / "again")
        self.assertTrue(again.stdout.endswith(" GRID=six\n"), again.stdout + again.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
