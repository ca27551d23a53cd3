# SPDX-License-Identifier: Apache-2.0
"""What a report is drawn with: charts, pictures, tables of sheets, colours, and facts in words."""
import re
import struct
import unittest

import example_run  # noqa: F401  (finds the package)

from quern_report import answers, panels, pixels, provenance, ranges, signs, style, svg


class GalleryTest(unittest.TestCase):
    def test_a_sheet_has_pictures_and_texts(self):
        image = panels.png([[0, 255]])
        drawn = panels.contact_sheet("worst", [(image, f"a very long name of a class {i}", f"no. {i}") for i in range(7)], False)
        width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', drawn).groups())
        places = [tuple(map(int, place)) for place in re.findall(r'<image x="(\d+)" y="(\d+)"', drawn)]
        self.assertEqual(len(set(places)), 7)
        self.assertEqual(len({y for _, y in places}), 2)
        self.assertTrue(all(x + 128 <= width and y + 128 + 38 <= height for x, y in places))
        self.assertIn("no. 6", drawn)
        self.assertNotIn("name of a class", drawn)  # longer than its picture is wide
        self.assertNotIn("<text", panels.contact_sheet("filters", [(image, "", "filter 0")], True))

    def test_pixels_keep_their_edges(self):
        self.assertEqual(pixels.enlarged([[1, 2], [3, 4]], 4), [[1, 1, 2, 2]] * 2 + [[3, 3, 4, 4]] * 2)
        self.assertEqual(pixels.enlarged([[1, 2, 3]], 2), [[1, 2, 3]])


class FactsTest(unittest.TestCase):
    def test_the_optimizer_in_words(self):
        for optimizer, text in (
                ({"type": "sgd", "lr": 0.2, "momentum": 0.0, "nesterov": False, "clip_norm": 0.0,
                  "schedule": {"type": "constant", "warmup_steps": 0}}, "sgd, lr 0.2"),
                ({"type": "adam", "lr": 0.1, "betas": [0.9, 0.99], "eps": 1e-8, "decay": "all", "weight_decay": 0.01,
                  "schedule": {"type": "cosine", "warmup_steps": 9}},
                 "adam, lr 0.1, weight_decay 0.01, schedule cosine (warmup_steps 9)"),
                ({"type": "sgd", "lr": 1, "schedule": {"type": "constant", "warmup_steps": 9}},
                 "sgd, lr 1, schedule constant (warmup_steps 9)"),
                ({"type": "sgd", "lr": 1, "schedule": "cosine"}, "sgd, lr 1, schedule cosine"),
                ({}, "\N{EN DASH}, lr \N{EN DASH}")):
            self.assertEqual(provenance.optimizer_text(optimizer), text)

    def test_numbers_of_samples_have_no_spaces(self):
        rows = answers.worst_images([(1852, 1, 2, 0.9, 3.0)], ["a", "b", "c"], "/nowhere")[1].rows
        self.assertEqual(rows[0][0].text, "1852")


class MapTest(unittest.TestCase):
    def draw(self, labels, title):
        return panels.matrix("map", labels, labels, [[(0.5, 1)] * 2] * 2, str, lambda r, c: "", title, title)

    def assert_inside(self, drawn):
        width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', drawn).groups())
        for x, y, anchor, more, content in re.findall(
                r'<text x="(\S+)" y="(\S+)"[^>]*text-anchor="(\w+)"([^>]*)>([^<]*)<', drawn):
            x, y, long = float(x), float(y), 6.5 * len(content)
            if "rotate(-90" in more:
                self.assertTrue(long / 2 <= y <= height - long / 2, content)
            elif "rotate(-40" in more:
                self.assertTrue(x + 0.77 * long <= width and y - 0.64 * long >= 16, content)
            else:
                begin = x - {"start": 0, "middle": long / 2, "end": long}[anchor]
                self.assertTrue(0 <= begin and begin + long <= width, content)

    def test_long_labels_have_room(self):
        drawn = self.draw(["linear-relu-linear-relu-linear", "linear-tanh-linear-relu-linear"], "optimizer.lr")
        self.assert_inside(drawn)
        self.assertEqual(drawn.count("rotate(-40"), 2)
        self.assertNotIn("rotate(-40", self.draw(["a", "b"], "seed"))

    def test_long_titles_have_room(self):
        self.assert_inside(self.draw(["1", "2"], "network.layers.layer1.downsample.channels.of.blocks"))


def curves(labels, points=3):
    return [svg.Series(label, list(range(1, points + 1)), [i + 1.0] * points, i + 1) for i, label in enumerate(labels)]


class SignsTest(unittest.TestCase):
    """Seven colours are too many for readers who do not tell red from green."""

    def shapes(self, drawn, colour):
        """Of the signs of a colour, without their places: circle, or corners around the first one."""
        found = ["circle"] * len(re.findall(f'<circle [^>]*class="dot c{colour}"', drawn))
        for points in re.findall(f'<polygon points="([^"]*)" class="dot c{colour}"', drawn):
            corners = [tuple(map(float, point.split(","))) for point in points.split()]
            found.append(tuple((round(x - corners[0][0]), round(y - corners[0][1])) for x, y in corners))
        return found

    def test_each_curve_of_several_runs_has_its_own(self):
        drawn = svg.chart("runs", curves("abcdefg"), "epoch", "loss", of_runs=True)
        shapes = [self.shapes(drawn, colour) for colour in range(1, 8)]
        self.assertEqual([len(one) for one in shapes], [3 + 1] * 7)  # one in the legend
        self.assertEqual(len({one[0] for one in shapes}), 7)

    def test_long_curves_have_a_few_that_do_not_hide_each_other(self):
        for count in (13, 31, 500):
            places = [signs.places(count, colour) for colour in range(1, 8)]
            self.assertTrue(all(len(set(one)) == signs.MOST and max(one) < count for one in places))
        self.assertEqual(len({place for one in places for place in one}), 7 * signs.MOST)
        drawn = svg.chart("runs", curves("ab", 100), "step", "loss", of_runs=True)
        self.assertEqual(len(self.shapes(drawn, 2)), signs.MOST + 1)

    def test_a_chart_of_one_run_is_plain(self):
        self.assertNotIn("<polygon", svg.chart("run", curves("ab"), "epoch", "loss"))

    def test_signs_are_not_cut_off(self):
        high = svg.Series("high", [1, 2, 3], [1.0, 900.0, 1.0], 4)
        drawn = svg.chart("runs", [*curves("abc"), high], "epoch", "loss", cut=True, of_runs=True)
        self.assertEqual(len(self.shapes(drawn, 4)), 2 + 1)


class LegendTest(unittest.TestCase):
    def test_the_curve_of_a_run_is_named_even_alone(self):
        self.assertIn('class="legend"', svg.chart("runs", curves("a"), "epoch", "loss", of_runs=True))
        self.assertNotIn('class="legend"', svg.chart("run", curves("a"), "epoch", "loss"))

    def test_names_stay_in_the_picture_and_different(self):
        for letter in ("m", "\u5b9e"):
            labels = [f"{letter * 50}{i}{letter * 50}" for i in range(7)]
            drawn = svg.chart("runs", curves(labels), "epoch", "loss", of_runs=True)
            named = re.findall(r'<text x="(\S+)" y="\S+" class="legend"[^>]*>([^<]*)<', drawn)
            self.assertEqual(len({name for _, name in named}), 7)
            for x, name in named:
                wide = sum(16 if letter > "\u2e80" else 9.6 for letter in name)  # on a phone
                self.assertLessEqual(float(x) + wide, 480, name)


class AxesTest(unittest.TestCase):
    def test_numbers_keep_off_the_title(self):
        drawn = svg.chart("rates", [svg.Series("lr", [1, 2], [0.001, 0.001])], "step", "learning rate", from_zero=True)
        x = next(float(x) for x, text in re.findall(r'<text x="(\S+)"[^>]*>([^<]*)<', drawn) if text == "0.0005")
        self.assertGreaterEqual(x - 9.2 * len("0.0005"), 20)  # letters of a phone; the title is 16 wide

    def ticks(self, drawn):
        base = max(float(y) for y in re.findall(r'<text x="\S+" y="(\S+)" class="tick" text-anchor="middle"', drawn))
        return [(float(x), text) for x, y, text in
                re.findall(r'<text x="(\S+)" y="(\S+)" class="tick" text-anchor="middle">([^<]*)<', drawn) if float(y) == base]

    def test_counts_that_double_are_as_far_from_each_other(self):
        counts = [1, 2, 4, 64]
        drawn = svg.chart("speed", [svg.Series("measured", counts, counts)], "nodes", "speed-up", x_counts=counts)
        places, labels = zip(*self.ticks(drawn))
        self.assertEqual(labels, ("1", "2", "4", "64"))
        self.assertAlmostEqual(places[1] - places[0], (places[3] - places[0]) / 6, delta=0.2)
        self.assertIn("&quot;isLog&quot;:true", drawn)
        many = list(range(1, 65))
        places, labels = zip(*self.ticks(svg.chart("speed", [svg.Series("measured", many, many)], "nodes", "y", x_counts=many)))
        self.assertTrue(all(b - a >= 9 for a, b in zip(places, places[1:])), places)
        self.assertIn("measured", svg.chart("measured", [svg.Series("a", [4], [1.0])], "nodes", "y", x_counts=[4]))


class DrawingTest(unittest.TestCase):
    def test_running_mean(self):
        self.assertEqual(ranges.running_mean([1, 2, 3, 4, 5], 2), [1, 1.5, 2.5, 3.5, 4.5])

    def test_ticks(self):
        self.assertEqual(ranges.ticks(0, 1), [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0])
        self.assertEqual(ranges.ticks(1, 4, integer=True), [1, 2, 3, 4])
        self.assertEqual(ranges.ticks(-3, 3, wanted=3), [-2, 0, 2])

    def test_long_curves_keep_their_extremes(self):
        x = list(range(10000))
        y = [0.0] * 10000
        y[1234], y[8765] = 7.0, -7.0
        few_x, few_y = ranges.thinned(x, y)
        self.assertLess(len(few_x), 600)
        self.assertEqual((max(few_y), min(few_y), few_x[0], few_x[-1]), (7.0, -7.0, 0, 9999))
        self.assertEqual(few_x, sorted(few_x))

    def test_charts_of_hardly_anything(self):
        self.assertEqual(svg.chart("none", [svg.Series("a", [], [])], "x", "y"), "")
        for y in ([1.0], [0.0], [-5.0, -5.0], [1e-30, 1e30]):
            drawn = svg.chart("few", [svg.Series("a", list(range(len(y))), y)], "x", "y", log_y=True)
            self.assertNotIn("nan", drawn)

    def test_curves_that_would_flatten_others_are_cut_off(self):
        good = [svg.Series(f"good {i}", [1, 2, 3], [0.9, 0.5, 0.4 + i / 100]) for i in range(3)]
        late, bad = svg.Series("late", [1, 2, 3], [0.5, 235.0, 0.5]), svg.Series("bad", [1, 2], [88.0, 99.0])
        self.assertEqual(ranges.outliers([*good, late, bad]), [late, bad])
        self.assertEqual(ranges.outliers([good[0], bad]), [])  # which of them is the odd one?
        drawn = svg.chart("losses", [*good, late, bad], "epoch", "loss", cut=True)
        self.assertIn("cut off: late (up to 235), bad (up to 99)", drawn)
        self.assertEqual(drawn.count("<polyline"), 5)  # none of the bad one, two pieces of the late one
        heights = [float(place.split(",")[1]) for points in re.findall(r'points="([^"]*)"', drawn) for place in points.split()]
        heights += [float(y) for y in re.findall(r'<circle cx="\S+" cy="(\S+)"', drawn)]
        self.assertTrue(all(0 <= height <= 320 for height in heights), heights)
        self.assertNotIn("cut off", svg.chart("losses", good, "epoch", "loss", cut=True))
        self.assertNotIn("cut off", svg.chart("losses", [*good, bad], "epoch", "loss"))

    def test_pieces_of_a_cut_curve_end_at_the_edge(self):
        self.assertEqual(ranges.parts_below([0, 1, 2], [0.0, 4.0, 2.0], 3.0), [[(0, 0.0), (0.75, 3.0)], [(1.5, 3.0), (2, 2.0)]])
        self.assertEqual(ranges.parts_below([0, 1], [5.0, 4.0], 3.0), [])
        self.assertEqual(ranges.parts_below([0, 1], [1.0, 2.0], 3.0), [[(0, 1.0), (1, 2.0)]])

    def test_png(self):
        for rows, colour in (([[0, 255], [128, 1]], 0), ([[(1, 2, 3)]], 2)):
            image = panels.png(rows)
            self.assertEqual(image[:8], b"\x89PNG\r\n\x1a\n")
            width, height, depth, kind = struct.unpack(">IIBB", image[16:26])
            self.assertEqual((width, height, depth, kind), (len(rows[0]), len(rows), 8, colour))

    def test_layout(self):
        """Headers stand over their numbers, a last row of cards is no block of grey, and captions keep their distance."""
        for selector, declaration in (("th button", "width:100%"), (".cards", "background:var(--card)"),
                                      (".caption+*", "margin-top:1.8rem"), ("section>h3", "margin-top:2.2rem")):
            self.assertRegex(style.PAGE_STYLE, rf"(?m)(^|\}} ){re.escape(selector)}\{{[^}}]*{re.escape(declaration)}")

    def test_colours_have_contrast(self):
        """WCAG 2.1: 4.5 for texts, 3 for lines, on the paper and on cards, in both sets."""
        def luminance(colour):
            channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
            return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))

        for colours in (style.LIGHT, style.DARK):
            named = dict(re.findall(r"--([a-z0-9-]+):(#[0-9a-f]{6})", colours))
            for ground in ("paper", "card"):
                for name in ("ink", "soft", "good", "bad", *(f"c{i}" for i in range(1, 8))):
                    a, b = sorted((luminance(named[name]), luminance(named[ground])), reverse=True)
                    wanted = 4.5 if name in ("ink", "soft", "good", "bad") else 3
                    self.assertGreater((a + 0.05) / (b + 0.05), wanted, (name, ground))


if __name__ == "__main__":
    unittest.main(verbosity=2)
