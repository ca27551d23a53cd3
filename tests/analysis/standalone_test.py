# SPDX-License-Identifier: Apache-2.0
"""The SVG files beside report.md, for programs that are no browsers: colours at each element, axes with titles, a legend
for several lines."""
import re
import unittest
import xml.etree.ElementTree as ElementTree

from compare_test import run_of
from example_run import EVENTS, make_records, make_times, write_run
from report_test import ReportCase

from quern_report import standalone, svg
from quern_report.style import DARK, LIGHT

SHAPES = ("rect", "line", "polyline", "circle", "text")


def texts_of(path):
    return [element.text for element in ElementTree.parse(path).iter() if element.tag.endswith("}text")]


class FilesTest(ReportCase):
    def files(self):
        """Of pages with all kinds of pictures."""
        records = [{**record, "rank_times_s": make_times(2)} if record["kind"] == "epoch" else record
                   for record in make_records(epochs=4)]
        odd = {**EVENTS[0], "hosts": {'<node> & "1"': 2}}
        run = write_run(self.folder / "run", records, events=[odd, *EVENTS[1:]])
        self.report(run)
        self.report("sweep", *(run_of(self.folder / f"r{lr}", 0.5 + lr, lr) for lr in (0.1, 0.2)))
        found = sorted([*(run / "report").glob("*.svg"), *(self.folder / "sweep").glob("*.svg")])
        self.assertEqual(len(found), 6 + 1 + 5)
        return found

    def test_colours_are_literal_and_light(self):
        light = set(re.findall(r"#[0-9a-f]{6}", LIGHT))
        for path in self.files():
            text = path.read_text(encoding="utf-8")
            for word in ("var(", "<style", " class=", " style=", "data-plot", "@media"):
                self.assertNotIn(word, text, path.name)
            self.assertLessEqual(set(re.findall(r"#[0-9a-f]{6}", text)), light, path.name)
            for element in ElementTree.fromstring(text).iter():
                if element.tag.split("}")[1] in SHAPES:
                    self.assertTrue({"fill", "stroke"} & set(element.attrib), (path.name, element.attrib))
        self.assertNotEqual(set(re.findall(r"#[0-9a-f]{6}", DARK)) & light, light)

    def test_a_page_follows_the_reader(self):
        run = write_run(self.folder / "run")
        text = (self.folder / self.report(run)[0].strip()).read_text(encoding="utf-8")
        self.assertIn("prefers-color-scheme:dark", text)
        self.assertIn("var(--paper)", text)

    def test_axes_have_titles(self):
        found = {path.stem: texts_of(path) for path in self.files()}
        for name, titles in {"loss": ("epoch", "loss"), "accuracy": ("epoch", "share of correct answers"),
                             "learning-rate": ("step", "learning rate"), "throughput": ("step", "samples a second"),
                             "compare-test-loss": ("epoch", "test loss"), "compare-accuracy": ("epoch", "test accuracy"),
                             "compare-training-loss": ("epoch", "training loss"),
                             "compare-throughput": ("step", "samples a second"),
                             "sweep": ("optimizer.lr", "cells: test accuracy / %")}.items():
            for title in titles:
                self.assertIn(title, found[name], name)

    def test_several_lines_have_a_legend(self):
        found = {path.stem: texts_of(path) for path in self.files()}
        for label in ("single batches", "their running mean", "training", "test"):
            self.assertIn(label, found["loss"])
        for label in ("each record", "running mean"):
            self.assertIn(label, found["throughput"])
        for label in ("r0.1", "r0.2"):
            self.assertIn(label, found["compare-test-loss"])
        self.assertIn("faint: single records", found["compare-throughput"])

    def test_no_mean_is_promised_where_none_is_drawn(self):
        run = write_run(self.folder / "run", make_records(epochs=1))
        page = self.folder / self.report(run)[0].strip()
        self.assertNotIn("running mean", self.page(page))
        self.assertNotIn("their running mean", texts_of(page.parent / "loss.svg"))


class LookTest(unittest.TestCase):
    def test_more_classes_win(self):
        self.assertEqual(standalone.look("polyline", "curve c1")["stroke"], "#1c6796")
        self.assertEqual(standalone.look("text", "tick")["fill"], "#6a665e")
        self.assertEqual(standalone.look("text", "in-cell on-dark")["fill"], "#ffffff")
        self.assertEqual(standalone.look("circle", "tick").get("font-size"), None)

    def test_an_elements_own_style_stays(self):
        drawn = standalone.as_file(svg.picture(10, 20, [svg.rectangle(1, 2, 3, 4, "heat", "<hint>", "fill-opacity:0.5")], "a"))
        rectangle = list(ElementTree.fromstring(drawn))[1]
        self.assertEqual((rectangle.attrib["fill"], rectangle.attrib["fill-opacity"]), ("#1c6796", "0.5"))
        self.assertEqual(rectangle[0].text, "<hint>")


if __name__ == "__main__":
    unittest.main(verbosity=2)
