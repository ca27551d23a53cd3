# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from example_run import ANALYSIS, make_records, write_run

import plots

PNG = b"\x89PNG\r\n\x1a\n"


def run_report(*words, folder=None):
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    return subprocess.run([sys.executable, "-B", ANALYSIS / "report.py", *map(str, words)],
                          capture_output=True, text=True, check=False, env=environment, cwd=folder)


class ReportTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def test_report_of_one_run(self):
        run = write_run(self.folder / "run", done="ab" * 32)
        done = run_report(run)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = Path(done.stdout.strip())
        self.assertEqual(report, run / "report" / "report.md")
        text = report.read_text()
        self.assertIn("- steps: 60\n", text)
        self.assertIn("- ranks: 2\n", text)
        self.assertIn("- state: finished\n", text)
        self.assertIn("2, newest `ckpt-0000000060.h5`", text)
        self.assertIn("ab" * 32, text)
        last = make_records()[-2]
        self.assertIn(f"| 3 | {last['loss']:.5g} | {100 * last['accuracy']:.2f} |", text)
        for name in ("loss-per-step", "loss-per-epoch", "test-accuracy", "samples-per-second"):
            self.assertIn(f"({name}.png)", text)
            image = (report.parent / f"{name}.png").read_bytes()
            self.assertTrue(image.startswith(PNG))

    def test_several_runs_in_one_report(self):
        runs = [write_run(self.folder / f"seed-{seed}", seed=seed) for seed in range(2)]
        done = run_report(*runs, "--out", self.folder / "both")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "both" / "report.md").read_text()
        self.assertIn("# Runs seed-0, seed-1\n", text)
        self.assertIn("| best test accuracy / % |", text)
        self.assertIn("## seed-1\n", text)

    def test_no_accuracy_no_accuracy_plot(self):
        run = write_run(self.folder / "run", make_records(with_accuracy=False))
        done = run_report(run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((run / "report" / "test-accuracy.png").exists())
        self.assertNotIn("test-accuracy.png", (run / "report" / "report.md").read_text())

    def test_a_run_that_has_just_begun(self):
        run = write_run(self.folder / "run", [], tail='{"kind"')
        done = run_report(run)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (run / "report" / "report.md").read_text()
        self.assertIn("No epoch was completed.", text)
        self.assertIn("not finished", text)
        self.assertIn("unreadable lines of metrics.jsonl: 1", text)

    def test_a_folder_that_is_no_run(self):
        good = write_run(self.folder / "run")
        for words in ([self.folder], [good, self.folder / "nothing"]):
            done = run_report(*words, "--out", self.folder / "out")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertFalse((self.folder / "out").exists())

    def test_usage_errors(self):
        self.assertEqual(run_report().returncode, 2)
        (self.folder / "file").touch()
        done = run_report(write_run(self.folder / "run"), "--out", self.folder / "file")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write the report", done.stderr)


class RunningMeanTest(unittest.TestCase):
    def test_mean_of_the_last_values(self):
        self.assertEqual(plots.running_mean([1, 2, 3, 4, 5], 2), [1, 1.5, 2.5, 3.5, 4.5])


if __name__ == "__main__":
    unittest.main(verbosity=2)
