# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG. Colours are classes, so that a page can be light or dark."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from . import forms, signs
from .ranges import MOST_POINTS, outliers, padded, parts_below, running_mean, thinned, ticks

COLOURS = len(signs.SHAPES)  # classes c1 to c7; some look alike to the colour-blind, so curves of runs have signs too
SMOOTH_FROM = 60  # points from which on a running mean is drawn over a curve
LETTER = 9.6  # its most width: phones show letters larger beside the plot


@dataclass
class Series:
    label: str
    x: list
    y: list
    colour: int = 1
    look: str = ""  # "dashed" or "dotted": what others are compared with, a line without points
    mean: str = ""  # what the running mean is called that is drawn over a long curve, which becomes faint

    @property
    def is_smoothed(self):
        return bool(self.mean) and len(self.x) >= SMOOTH_FROM

    @property
    def style(self):
        return f"curve c{self.colour} {self.look}".rstrip()


@dataclass
class Mark:
    x: float
    y: float
    text: str
    colour: int = 1
    below: bool = False


@dataclass
class Axes:
    """Of a chart: the place of the plot in the picture, and what its edges stand for."""
    x_range: tuple
    y_range: tuple
    width: int = 480
    height: int = 290
    left: int = 78
    right: int = 14
    top: int = 14
    bottom: int = 44
    log_y: bool = False
    log_x: bool = False
    y_form: Callable = forms.short
    parts: list = field(default_factory=list)

    def __post_init__(self):
        longest = max((len(self.y_form(value)) for value in self.y_ticks()), default=0)
        self.left = max(self.left, math.ceil(30 + LETTER * longest))

    def y_ticks(self):
        if not self.log_y:
            return ticks(*self.y_range)
        low, high = (math.log10(value) for value in self.y_range)
        found = [10.0 ** power for power in range(math.ceil(low), math.floor(high) + 1)]
        if len(found) < 3:
            found = [factor * 10.0 ** power for power in range(math.floor(low), math.ceil(high) + 1)
                     for factor in (1, 2, 5)]
        return [value for value in found if self.y_range[0] <= value <= self.y_range[1]]

    def x(self, value):
        low, high = self.x_range
        if self.log_x:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.left + (value - low) / (high - low) * (self.width - self.left - self.right)

    def y(self, value):
        low, high = self.y_range
        if self.log_y:
            low, high, value = math.log(low), math.log(high), math.log(value)
        share = (value - low) / (high - low)
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(x, y, content, style="", anchor="middle", extra=""):
    kind = f' class="{style}"' if style else ""
    return (f'<text x="{number(x)}" y="{number(y)}"{kind} text-anchor="{anchor}"{extra}>'
            f"{escape(content)}</text>")


def line(x1, y1, x2, y2, style):
    return (f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" '
            f'class="{style}"/>')


def rectangle(x, y, width, height, style, hint="", fill=""):
    inside = f"<title>{escape(hint)}</title>" if hint else ""
    colour = f' style="{fill}"' if fill else ""
    return (f'<rect x="{number(x)}" y="{number(y)}" width="{width:.2f}" height="{height:.2f}" '
            f'class="{style}"{colour}>{inside}</rect>')


def picture(width, height, parts, label, extra=""):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(label)}"{extra}>' + "".join(parts) + "</svg>")


def draw_axes(axes, x_label, y_label, integer_x=True, x_ticks=()):
    base = axes.height - axes.bottom
    for value in axes.y_ticks():
        y = axes.y(value)
        axes.parts += [line(axes.left, y, axes.width - axes.right, y, "grid"),
                       text(axes.left - 8, y + 4.5, axes.y_form(value), "tick", "end")]
    free = 0.0  # from here on no label stands
    for value in x_ticks or ticks(*axes.x_range, wanted=5, integer=integer_x):
        x, label = axes.x(value), forms.short(value)
        axes.parts.append(line(x, base, x, base + 4, "axis"))
        if x - LETTER * len(label) / 2 >= free:
            axes.parts.append(text(x, base + 19, label, "tick"))
            free = x + LETTER * len(label) / 2
    axes.parts += [line(axes.left, base, axes.width - axes.right, base, "axis"),
                   text(axes.width - axes.right, axes.height - 5, x_label, "label", "end")]
    middle = number((axes.top + base) / 2)
    axes.parts.append(text(15, (axes.top + base) / 2, y_label, "label", "middle", f' transform="rotate(-90 15 {middle})"'))


def path(axes, x, y, style):
    return "".join('<polyline points="{}" class="{}"/>'.format(
        " ".join(f"{number(axes.x(a))},{number(axes.y(b))}" for a, b in piece), style)
        for piece in parts_below(x, y, axes.y_range[1]))


def draw_series(axes, series, has_signs):
    x, y = thinned(series.x, series.y)
    if series.is_smoothed:
        axes.parts.append(path(axes, x, y, f"{series.style} faint"))
        mean = running_mean(series.y, max(5, len(series.y) // 40))
        x, y = thinned(series.x, mean, MOST_POINTS // 2)
    axes.parts.append(path(axes, x, y, series.style))
    inside = [(axes.x(a), axes.y(b)) if b <= axes.y_range[1] else None for a, b in zip(x, y)]
    if has_signs:
        axes.parts += [signs.sign(*inside[i], series.colour) for i in signs.places(len(x), series.colour) if inside[i]]
    elif len(x) <= 30 and not series.look:
        axes.parts += [f'<circle cx="{number(a)}" cy="{number(b)}" r="3" class="dot c{series.colour}"/>'
                       for a, b in filter(None, inside)]
    return {"label": series.mean if series.is_smoothed else series.label, "colour": series.colour,
            "points": [[round(a, 4), float(f"{b:.6g}")] for a, b in zip(x, y)]}


def draw_mark(axes, mark):
    x, y = axes.x(mark.x), axes.y(mark.y)
    right = x > (axes.left + axes.width) / 2
    low = mark.below or y < axes.top + 24
    axes.parts += [f'<circle cx="{number(x)}" cy="{number(y)}" r="6.5" class="ring c{mark.colour}"/>',
                   *(text(x + (4 if right else 0), y + (25 if low else -12), mark.text, style,
                          "end" if right else "start") for style in ("mark halo", "mark"))]


def legend_entries(series, has_signs):
    """(label, classes of its line, colour of its sign or 0) of all lines that are drawn; several smoothed curves share one
    entry of the faint."""
    entries = []
    for one in series:
        if one.is_smoothed and one.mean != one.label:
            entries += [(one.label, f"{one.style} faint", 0), (one.mean, one.style, 0)]
        else:
            entries.append((one.label, one.style, one.colour if has_signs else 0))
    if any(one.is_smoothed and one.mean == one.label for one in series):
        entries.append(("faint: single records", f"{series[0].style} faint", 0))
    return entries


def legend(entries, left, right, top):
    """(elements, height) of legend_entries(), in as many rows as they need."""
    parts, x, y = [], left, top + 9
    labels = forms.apart([label for label, _, _ in entries], int((right - left - 30) / LETTER))
    for label, (_, style, colour) in zip(labels, entries):
        width = 30 + LETTER * forms.columns(label)
        if x > left and x + width > right:
            x, y = left, y + 21
        parts += [line(x, y - 4, x + 18, y - 4, style), text(x + 24, y, label, "legend", "start")]
        parts += [signs.sign(x + 9, y - 4, colour)] if colour else []
        x += width + 14
    return parts, y + 13 - top


def chart(title, series, x_label, y_label, *, marks=(), y_form=forms.short, from_zero=False,
          log_y=False, y_high=None, lines=(), unit="", factor=1, cut=False, x_counts=(), of_runs=False):
    """A chart of curves, or "" when there is nothing to draw. `lines`: (y, text, class) across the plot; `cut`: curves that
    would press the others flat are cut off, and named; `x_counts`: what the x axis marks, on which each doubling is as
    wide; `of_runs`: a curve for each run, with a sign of its own and, even of one, a legend."""
    series = [one for one in series if one.x]
    if not series:
        return ""
    high_ones = outliers(series) if cut else []
    xs = [x for one in series for x in one.x]
    ys = [y for one in series if one not in high_ones for y in one.y] + [y for y, _, _ in lines]
    log_y = log_y and min(ys) > 0
    if log_y:
        y_range = (min(ys) / 1.15, max(ys) * 1.15)
    else:
        low, high = padded(ys, from_zero)
        y_range = (low, min(high, y_high) if y_high is not None and max(ys) <= y_high else high)
    around = (min(xs) / 2, 2 * max(xs)) if x_counts else (min(xs) - 1, max(xs) + 1)
    span = (min(xs), max(xs)) if min(xs) < max(xs) else around
    axes = Axes(span, y_range, log_y=log_y, log_x=bool(x_counts), y_form=y_form)
    entries = legend_entries(series, of_runs)
    if of_runs or len(entries) > 1:
        axes.parts, height = legend(entries, axes.left, axes.width - axes.right, 6)
        axes.top += height
        axes.height += height - 24 if height > 24 else 0
    draw_axes(axes, x_label, y_label, x_ticks=x_counts)
    for y, words, style in lines:
        axes.parts += [line(axes.left, axes.y(y), axes.width - axes.right, axes.y(y), style),
                       text(axes.width - axes.right, axes.y(y) - 6, words, "tick", "end")]
    data = [draw_series(axes, one, of_runs) for one in series]
    if high_ones:
        named = ", ".join(f"{one.label} (up to {y_form(max(one.y))})" for one in high_ones[:2])
        named += f" and {len(high_ones) - 2} more" if len(high_ones) > 2 else ""
        axes.parts.append(text(axes.width - axes.right, axes.top + 12, f"cut off: {named}", "tick", "end"))
    for mark in marks:
        draw_mark(axes, mark)
    plot = {"left": axes.left, "right": axes.width - axes.right, "top": axes.top,
            "bottom": axes.height - axes.bottom, "x": span, "isLog": axes.log_x, "xLabel": x_label, "unit": unit,
            "factor": factor, "series": data}
    return picture(axes.width, axes.height, axes.parts, title,
                   f' class="chart" data-plot="{escape(json.dumps(plot, separators=(",", ":")))}"')
