# SPDX-License-Identifier: Apache-2.0
"""The times of a run's life: events have whole seconds, and may lack a zone."""
import unittest

from example_run import EVENTS, make_records, write_run
from report_test import ReportCase

from quern_report import forms


class TimesTest(ReportCase):
    def row(self, name, seconds):
        """Of the table of starts, of a run that ended so many seconds after its start."""
        events = [EVENTS[0], {**EVENTS[-1], "time": f"2026-01-02T10:{seconds // 60:02}:{seconds % 60:02}Z"}]
        run = write_run(self.folder / name, make_records(epochs=1), events=events)
        self.page(self.folder / self.report(run)[0].strip())
        return next(line for line in (run / "report" / "report.md").read_text().splitlines() if "2026-01-02 10:00:00" in line)

    def test_whole_seconds(self):
        for seconds, told in ((0, "&lt; 1 s"), (1, "1 s"), (59, "59 s"), (90, "1:30 min")):
            self.assertIn(f"| 60 | {told} | 0 |", self.row(str(seconds), seconds))
            drawn = (self.folder / str(seconds) / "report" / "timeline.svg").read_text()
            self.assertNotRegex(drawn, r">\d+\.\d+ s<")
        self.assertEqual([forms.whole_seconds(value) for value in (0.52, 1.4, 59.6)], ["< 1 s", "1 s", "1:00 min"])

    def test_times_without_a_zone_are_utc(self):
        events = [{**EVENTS[0], "time": "2026-01-02T10:00:00"}, EVENTS[-1]]
        run = write_run(self.folder / "run", events=events)
        self.page(self.folder / self.report(run)[0].strip())
        self.assertIn("5:31 min", (run / "report" / "report.md").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
