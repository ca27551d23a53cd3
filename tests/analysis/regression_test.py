# SPDX-License-Identifier: Apache-2.0
"""The predictions of a regression: figures of each output, pictures, and where there are none."""
import re
import stat
import sys
import unittest

import h5py
import numpy
from example_run import make_records, write_run
from report_test import ReportCase

from quern_report import regression
from quern_report.program import ProgramError

RECIPE = '[loss]\ntype = "mse"\n'
PROGRAM = '''#!{python}
import sys
words = sys.argv[1:]
if words[0] == "predict":
    open(words[words.index("--out") + 1], "w").write("{csv}")
else:
    print("quern: error: what is", words, file=sys.stderr)
    sys.exit(2)
'''
CSV = ("index,value0,value1,target0,target1\n"
       "0,1.0,10.0,1.5,10.0\n1,2.0,10.0,2.5,20.0\n2,3.0,40.0,3.5,30.0\n3,4.0,40.0,4.5,40.0\n").replace("\n", "\\n")
TARGETS = [[1.5, 10.0], [2.5, 20.0], [3.5, 30.0], [4.5, 40.0]]


class BlocksTest(unittest.TestCase):
    def blocks(self, values, targets):
        return regression.blocks_of([f"value{i}" for i in range(len(values[0]))], dict(enumerate(values)),
                                    dict(enumerate(targets)), "with the file")

    def test_figures_from_the_definition(self):
        text, table, *figures = self.blocks([[1.0, 10.0], [2.0, 10.0], [3.0, 40.0], [4.0, 40.0]], TARGETS)
        # Squared errors 4 x 0.25 and 2 x 100, of 8 numbers; squared distances 5 and 500.
        self.assertEqual(text.text, "4 test samples of 2 outputs: RMSE 5.012, R\N{SUPERSCRIPT TWO} 0.6020, with the file.")
        self.assertEqual([[getattr(cell, "text", cell) for cell in row] for row in table.rows],
                         [["value0", "0.5000", "-0.5000", "-0.5000", "1.118", "0.8000"],
                          ["value1", "7.071", "0.000", "-10.00", "11.18", "0.6000"]])
        self.assertEqual([figure.name for figure in figures],
                         ["predicted-0", "residuals-0", "predicted-1", "residuals-1"])

    def test_pictures_hold_every_sample(self):
        _, _, scatter, histogram = self.blocks([[float(i)] for i in range(100)], [[i + i % 3 - 1.0] for i in range(100)])
        self.assertEqual(scatter.svg.count('class="point"'), 100)
        hints = re.findall(r": (\d+) samples?</title>", histogram.svg)
        self.assertEqual((len(hints), sum(map(int, hints))), (regression.BINS, 100))
        for words in ("true", "predicted"):
            self.assertIn(f">{words}</text>", scatter.svg)
        for words in ("predicted - true", "samples"):
            self.assertIn(f">{words}</text>", histogram.svg)

    def test_small_residuals_fill_the_picture(self):
        histogram = self.blocks([[i / 1000] for i in range(80)], [[0.079]] * 80)[3]
        hints = re.findall(r": (\d+) samples?</title>", histogram.svg)
        self.assertEqual(sum(map(int, hints)), 80)
        self.assertGreater(sum(hint != "0" for hint in hints), 35)

    def test_many_samples_and_outputs(self):
        _, _, scatter, _ = self.blocks([[float(i)] for i in range(2000)], [[float(i)] for i in range(2000)])
        self.assertEqual(scatter.svg.count('class="point"'), 667)
        self.assertIn("One sample in 3 is drawn.", scatter.caption)
        _, table, *figures = self.blocks([[float(i)] * 9 for i in range(9)], [[float(i)] * 9 for i in range(9)])
        self.assertEqual((len(table.rows), [figure.name for figure in figures]), (9, ["predicted-all", "residuals-all"]))
        self.assertEqual(len(self.blocks([[1.0] * 300] * 2, [[2.0] * 300] * 2)), 3)

    def test_all_outputs_of_a_field_are_drawn(self):
        samples, outputs = 200, 64  # every 16th number would be of four outputs only
        values = [[float(output) for output in range(outputs)]] * samples
        _, _, scatter, histogram = self.blocks(values, values)
        drawn = {x for x in re.findall(r'<circle cx="([^"]+)" cy="[^"]+" r="2"', scatter.svg)}
        self.assertEqual(len(drawn), outputs)
        self.assertIn("One value in 17 is drawn.", scatter.caption)
        self.assertIn(">values</text>", histogram.svg)
        self.assertRegex(histogram.svg, r": [\d\N{NARROW NO-BREAK SPACE}]+ values</title>")

    def test_targets_that_are_all_the_same(self):
        text, table, *_ = self.blocks([[1.0], [1.0]], [[1.0], [1.0]])
        self.assertEqual(text.text, "2 test samples of 1 output: RMSE 0.000, with the file.")
        self.assertEqual(table.rows[0][-1].text, "\N{EN DASH}")

    def test_what_does_not_fit(self):
        for values, targets, why in (([[1.0]], [[1.0, 2.0]], "1 outputs for 2 targets"), ([[float("nan")]], [[1.0]], "finite")):
            with self.assertRaisesRegex(ProgramError, why):
                self.blocks(values, targets)
        with self.assertRaisesRegex(ProgramError, "empty"):
            regression.blocks_of(["value0"], {}, {}, "")


class PageTest(ReportCase):
    def make(self, target="values", csv=CSV):
        (self.folder / "test").mkdir()
        program = self.folder / "quern"
        program.write_text(PROGRAM.replace("{csv}", csv.replace("\n", "\\n")).format(python=sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        run = write_run(self.folder / "run", make_records(rmse=5.0), extra=RECIPE)
        recipe = run / "recipe.toml"
        recipe.write_text(recipe.read_text().replace("global_batch", f'test = "test"\ntarget = "{target}"\nglobal_batch'))
        return run

    def shown(self, run):
        return self.page(self.folder / self.report(run, "--quern", "./quern")[0].strip())

    def write_shards(self, name="targets"):
        for number in range(2):
            with h5py.File(self.folder / "test" / f"toy-test-{number:05}-of-00002.h5", "w") as file:
                file[name] = numpy.array(TARGETS[2 * number:2 * number + 2], dtype="float32")
                file.attrs["first_index"] = 2 * number

    def test_a_page(self):
        run = self.make()
        self.write_shards()
        shown = self.shown(run)
        self.assertIn("4 test samples of 2 outputs: RMSE 5.012, R\N{SUPERSCRIPT TWO} 0.6020, with the newest checkpoint "
                      "(ckpt-0000000060.h5).", shown)
        for name in ("predicted-0", "residuals-1"):
            self.assertTrue((run / "report" / f"{name}.svg").exists())
        self.assertIn("| value1 | 7.071 |", (run / "report" / "report.md").read_text())

    def test_shards_without_targets(self):
        run = self.make()
        self.write_shards("labels")
        self.assertIn("No predictions of the test set: cannot read the samples in test", self.shown(run))

    def test_why_there_are_none(self):
        run = self.make()
        self.assertIn("No predictions of the test set: ", self.shown(run))  # no shards
        (run / "report" / "predictions.csv").write_text("index,value0\n0\n")
        self.assertIn("No predictions of the test set: cannot read", self.shown(run))
        (run / "report" / "predictions.csv").write_text("")
        self.assertIn("No predictions of the test set: cannot read", self.shown(run))

    def test_an_auto_encoder_has_no_such_section(self):
        self.assertNotIn("Predictions", self.shown(self.make(target="input")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
