# SPDX-License-Identifier: Apache-2.0
"""The numbers of charts: marks and ranges of axes, curves with fewer points, their means and pieces."""

import math
import statistics

MOST_POINTS = 500  # of a curve: more are not told apart on a screen
FLATTENING = 4  # times as high as most other curves: such a one is cut off


def nice_step(span, wanted):
    raw = span / wanted
    unit = 10 ** math.floor(math.log10(raw))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw * 0.999)


def ticks(low, high, wanted=5, integer=False):
    step = nice_step(high - low, wanted)
    if integer:
        step = max(1, round(step))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def padded(values, from_zero=False, share=0.06):
    """(low, high) around the values, never of width 0."""
    low, high = min(values), max(values)
    if from_zero:
        low = min(0, low)
    room = (high - low) * share or abs(high) * 0.1 or 1
    return (low if from_zero and low == 0 else low - room), high + room


def thinned(x, y, most=MOST_POINTS):
    """At most about so many points: of each stretch its first, lowest and highest value."""
    if len(x) <= most:
        return x, y
    kept = []
    stretch = math.ceil(3 * len(x) / most)
    for begin in range(0, len(x), stretch):
        part = range(begin, min(begin + stretch, len(x)))
        kept += sorted({begin, min(part, key=lambda i: y[i]), max(part, key=lambda i: y[i])})
    kept = kept if kept[-1] == len(x) - 1 else [*kept, len(x) - 1]
    return [x[i] for i in kept], [y[i] for i in kept]


def running_mean(values, width):
    """Mean of the last `width` values at each place (fewer at the start)."""
    means, total = [], 0.0
    for index, value in enumerate(values):
        total += value - (values[index - width] if index >= width else 0.0)
        means.append(total / min(index + 1, width))
    return means


def parts_below(x, y, top):
    """[(x, y)] of the pieces of a curve that lie below `top`, with their ends on it."""
    pieces, piece = [], []
    for index, (a, b) in enumerate(zip(x, y)):
        if index and (y[index - 1] > top) != (b > top):
            share = (top - y[index - 1]) / (b - y[index - 1])
            piece.append((x[index - 1] + share * (a - x[index - 1]), top))
        if b > top:
            pieces.append(piece)
            piece = []
        else:
            piece.append((a, b))
    return [one for one in [*pieces, piece] if one]


def spans_decades(ys):
    """Do they need a logarithmic axis?"""
    return bool(ys) and min(ys) > 0 and max(ys) > 50 * min(ys)


def outliers(series):
    """Those that would press the others flat: several times above most of them."""
    highest = [max(one.y) for one in series if one.y]
    limit = FLATTENING * statistics.median(highest) if highest else math.inf
    return [one for one in series if one.y and max(one.y) > limit]
