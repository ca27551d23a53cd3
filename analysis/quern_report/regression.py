# SPDX-License-Identifier: Apache-2.0
"""What a regression predicts: against the true targets, and how far off, output by output."""

import math
import statistics

from . import forms, ranges, svg
from .blocks import Cell, Figure, Table, Text
from .program import ProgramError

MOST_FIGURES = 4  # outputs that have figures of their own
MOST_ROWS = 200  # outputs that are listed
MOST_POINTS = 800  # of a figure: every n-th value
BINS = 40


def pairs_of(values, targets):
    """For each output [(true, predicted)], in order of the samples."""
    shared = sorted(values.keys() & targets.keys())
    if not shared:
        raise ProgramError("the test set is empty")
    if len(values[shared[0]]) != len(targets[shared[0]]):
        raise ProgramError(f"there are {len(values[shared[0]])} outputs for {len(targets[shared[0]])} targets")
    columns = zip(zip(*(targets[index] for index in shared)), zip(*(values[index] for index in shared)))
    found = [[pair for pair in zip(*column) if all(map(math.isfinite, pair))] for column in columns]
    if not all(found):
        raise ProgramError("no prediction is a finite number")
    return found


def squares_of(pairs):
    """(sum of the squared errors, sum of the targets' squared distances from their mean)"""
    middle = statistics.fmean(true for true, _ in pairs)
    return (math.fsum((said - true) ** 2 for true, said in pairs), math.fsum((true - middle) ** 2 for true, _ in pairs))


def row_of(name, pairs):
    errors = [said - true for true, said in pairs]
    wrong, spread = squares_of(pairs)
    deviation = math.sqrt(spread / len(pairs))
    figures = (math.sqrt(wrong / len(pairs)), statistics.fmean(errors), max(errors, key=abs), deviation)
    share = 1 - wrong / spread if spread > 0 else None
    return [name, *(Cell(forms.significant(value), order=value) for value in figures),
            Cell(forms.form(share), order="" if share is None else share)]


def step_between(pairs, outputs):
    """From one pair that is drawn to the next, so that all `outputs` of the samples have their turns."""
    step = math.ceil(len(pairs) / MOST_POINTS)
    while math.gcd(step, outputs) > 1:
        step += 1
    return step


def scatter(name, pairs, step):
    """Predictions against targets, every `step`-th, with the line on which both are the same."""
    shown = pairs[::step]
    edges = ranges.padded([value for pair in shown for value in pair])
    axes = svg.Axes(edges, edges)
    svg.draw_axes(axes, "true", "predicted", integer_x=False)
    axes.parts.append(svg.line(axes.x(edges[0]), axes.y(edges[0]), axes.x(edges[1]), axes.y(edges[1]), "curve c7 dashed"))
    axes.parts += [f'<circle cx="{svg.number(axes.x(true))}" cy="{svg.number(axes.y(said))}" r="2" class="point"/>'
                   for true, said in shown]
    return svg.picture(axes.width, axes.height, axes.parts, f"Predicted against true {name}")


def histogram(name, pairs, unit):
    """Of the residuals, predicted - true, with a line at 0; `unit`: what is counted."""
    errors = [said - true for true, said in pairs]
    low, high = (min(errors), max(errors)) if min(errors) < max(errors) else ranges.padded(errors)
    width = (high - low) / BINS
    counts = [0] * BINS
    for error in errors:
        counts[min(BINS - 1, int((error - low) / width))] += 1
    axes = svg.Axes((min(low, 0), max(high, 0)), ranges.padded(counts, from_zero=True))
    svg.draw_axes(axes, "predicted - true", f"{unit}s", integer_x=False)
    base = axes.height - axes.bottom
    for index, count in enumerate(counts):
        begin, end = low + index * width, low + (index + 1) * width
        hint = f"{forms.significant(begin, 3)} to {forms.significant(end, 3)}: {forms.plural(count, unit)}"
        axes.parts.append(svg.rectangle(axes.x(begin), axes.y(count), max(0.5, axes.x(end) - axes.x(begin) - 1),
                                        base - axes.y(count), "bar c1", hint))
    axes.parts.append(svg.line(axes.x(0), axes.top, axes.x(0), base, "limit"))
    return svg.picture(axes.width, axes.height, axes.parts, f"Residuals of {name}")


def figures_of(name, pairs, file, outputs=1):
    """`pairs`: of so many outputs, in order of the samples."""
    step, unit = step_between(pairs, outputs), "sample" if outputs == 1 else "value"
    return [Figure(f"predicted-{file}", scatter(name, pairs, step), f"Predicted against true: {name}",
                   "Dashed: where both are the same." + (f" One {unit} in {step} is drawn." if step > 1 else "")),
            Figure(f"residuals-{file}", histogram(name, pairs, unit), f"Residuals: {name}", "Red: no error.")]


def blocks_of(names, values, targets, with_which):
    """`values`, `targets`: {index: [number of each output]}; `with_which`: says which checkpoint predicted."""
    outputs = pairs_of(values, targets)
    samples = len(values.keys() & targets.keys())
    wrong, spread = (math.fsum(column) for column in zip(*map(squares_of, outputs)))
    share = f", R\N{SUPERSCRIPT TWO} {1 - wrong / spread:.4f}" if spread > 0 else ""
    rmse = math.sqrt(wrong / sum(map(len, outputs)))
    blocks = [Text(f"{forms.plural(samples, 'test sample')} of {forms.plural(len(outputs), 'output')}: RMSE "
                   f"{forms.significant(rmse)}{share}, {with_which}.")]
    if len(outputs) <= MOST_ROWS:
        blocks.append(Table(["output", "RMSE", "mean error", "largest error", "deviation of the targets",
                             "R\N{SUPERSCRIPT TWO}"], [row_of(*one) for one in zip(names, outputs)],
                            caption="Errors are predicted - true, in the units of the targets."))
    if len(outputs) > MOST_FIGURES:
        together = [pair for pairs in zip(*outputs) for pair in pairs]
        return [*blocks, *figures_of("all outputs together", together, "all", len(outputs))]
    for number, (name, pairs) in enumerate(zip(names, outputs)):
        blocks += figures_of(name, pairs, number)
    return blocks
