# SPDX-License-Identifier: Apache-2.0
"""A sweep: which settings led to what. Rows and columns of the map are the two settings that vary most."""

import json

from . import conclusions, differences, forms, panels
from .blocks import Figure, Section, Text
from .compare import MEASURES, outcome, ranking, sections_of as compare_sections
from .runlog import RunError


def ordered(values):
    """Numbers by size, then texts."""
    return sorted(values, key=lambda value: (not isinstance(value, (int, float)), value
                                             if isinstance(value, (int, float)) else 0, str(value)))


def axes_of(runs, wanted=()):
    """The settings that make rows and columns: those named, or the two with the most values (seeds
    only when nothing else varies)."""
    keys = differences.differing_keys(runs)
    for key in wanted:
        if key not in keys:
            raise RunError(f"the runs do not differ in {key} (they do in: {', '.join(keys) or 'nothing'})")
    if wanted:
        return list(wanted)[:2]
    def rank(key):
        return (key == "seed", -len(differences.values_of(runs, key)))
    keys = sorted((key for key in keys if key != "network.layers"), key=rank)
    return [key for key in keys if key != "seed"][:2] or keys[:1]


def cells_of(runs, outcomes, axes, key):
    """{(row value, column value): [figures of the runs there]}"""
    column_key, row_key = axes[0], (axes[1] if len(axes) > 1 else None)
    cells = {}
    for run, one in zip(runs, outcomes):
        settings = differences.settings_of(run)
        place = tuple(json.dumps(value) if isinstance(value, list) else value for value in
                      (settings.get(row_key) if row_key else "", settings.get(column_key)))
        if one[key] is not None:
            cells.setdefault(place, []).append(one[key])
    return cells


def heat_map(runs, outcomes, axes, key):
    column_key, row_key = axes[0], (axes[1] if len(axes) > 1 else None)
    cells = cells_of(runs, outcomes, axes, key)
    rows = ordered({place[0] for place in cells})
    columns = ordered({place[1] for place in cells})
    means = {place: sum(values) / len(values) for place, values in cells.items()}
    low, high = min(means.values()), max(means.values())
    name, show, _ = MEASURES[key]

    def entry(r, c):
        value = means.get((rows[r], columns[c]))
        if value is None:
            return None
        share = (value - low) / (high - low) if show(high) != show(low) else 0.5
        return (0.06 + 0.94 * (share if key == "best_accuracy" else 1 - share), value)

    def hint(r, c):
        count = len(cells[rows[r], columns[c]])
        return (f"{column_key} {differences.shown(columns[c])}"
                + (f", {row_key} {differences.shown(rows[r])}" if row_key else "")
                + f": {show(means[rows[r], columns[c]])}" + (f", mean of {count} runs" if count > 1 else ""))

    svg = panels.matrix(name, [differences.shown(value) for value in rows],
                        [differences.shown(value) for value in columns],
                        [[entry(r, c) for c in range(len(columns))] for r in range(len(rows))],
                        (lambda value: f"{100 * value:.1f}") if key == "best_accuracy"
                        else (lambda value: f"{value:.3g}"), hint, row_key or "", column_key)
    many = any(len(values) > 1 for values in cells.values())
    return Figure("sweep", svg, f"{name[0].upper()}{name[1:]} by {' and '.join(axes)}",
                  ("In per cent. " if key == "best_accuracy" else "") + "The stronger the colour, the better."
                  + (" Where settings were run several times, the mean." if many else ""), wide=True)


def answers(runs, outcomes, axes, key):
    means = {place: sum(values) / len(values) for place, values in cells_of(runs, outcomes, axes, key).items()}
    rows = {row: {column: means[row, column] for column in ordered({place[1] for place in means})
                  if (row, column) in means} for row in ordered({place[0] for place in means})}
    name, show, better = MEASURES[key]
    return conclusions.answers(rows, axes, better, name, show)


def sections_of(runs, wanted=()):
    outcomes = [outcome(run) for run in runs]
    axes = axes_of(runs, wanted)
    key, _ = ranking(outcomes)
    if not axes or key is None:
        why = "The runs differ in no setting." if not axes else "No run has completed an epoch."
        return [Section("Answers", [Text(why, True)]), *compare_sections(runs)]
    texts = [Text(text) for text in [*answers(runs, outcomes, axes, key), *conclusions.speeds(runs, outcomes)]]
    missing = sum(one[key] is None for one in outcomes)
    if missing:
        texts.append(Text(f"{forms.plural(missing, 'run')} without a result: diverged, or not begun.", True))
    return [Section("Answers", [*texts, heat_map(runs, outcomes, axes, key)]), *compare_sections(runs)]
