# SPDX-License-Identifier: Apache-2.0
"""Names of runs, of any length and letters."""
import unittest
from pathlib import Path
from types import SimpleNamespace

from compare_test import run_of
from report_test import ReportCase

from quern_report import differences, forms


def labels(*paths, name="same"):
    return differences.labels_of([SimpleNamespace(path=Path(path), name=name) for path in paths])


class LabelsTest(unittest.TestCase):
    def test_paths_lose_what_they_share(self):
        self.assertEqual(labels("/data/me/a/seed-0", "/data/me/a/seed-1", "/data/me/b/seed-0"), ["a/seed-0", "a/seed-1", "b/seed-0"])
        self.assertEqual(labels("/data/a/run", "/data/b/run"), ["a", "b"])
        self.assertEqual(labels("/data/run/run", "/data/run"), ["run/run", "run"])
        self.assertEqual(labels("/data/run", "/data/run"), ["run", "run (2)"])

    def test_long_ones_stay_different(self):
        long = "exp-learning-rate-1e-%d-batch-with-many-more-words/seed-%d"
        for paths in ([f"/data/{long % (i, j)}" for i in (2, 3) for j in (0, 1)],
                      [f"/data/{'x' * 40}{letter}{'y' * 40}/{n}" for n in (0, 1) for letter in "ab"]):
            found = labels(*paths)
            self.assertEqual(len(set(found)), 4)
            self.assertLessEqual(max(map(len, found)), differences.LONG_LABEL)
        self.assertEqual(labels(*(f"/data/{n}/{'x' * 40}/{n}/run" for n in "ab")), [f"{n}/{'x' * 14}...{'x' * 14}/{n}" for n in "ab"])

    def test_wide_letters_count_twice(self):
        self.assertEqual((forms.columns("run"), forms.columns("\u5b9e\u9a8c")), (3, 4))
        self.assertLessEqual(forms.columns(forms.shortened("\u5b9e\u9a8c" * 20, 36)), 36)


class PagesOfLongNamesTest(ReportCase):
    def test_titles_and_tables(self):
        runs = [run_of(self.folder / f"projects/an-experiment-of-some-kind-that-is-long-{i}/seed-{j}", 0.5) for i in range(2) for j in range(2)]
        out = self.folder / self.report("compare", *runs)[0].strip()
        self.page(out)
        self.assertIn("<h1>4 runs</h1>", out.read_text())
        self.assertIn('<td class="l s">an-experiment-of...', out.read_text())  # in one line
        self.assertNotIn("projects", out.read_text())
        self.report(*runs, "--out", "all")
        self.assertIn("<h1>4 runs", (self.folder / "all" / "report.html").read_text())

if __name__ == "__main__":
    unittest.main(verbosity=2)
