# SPDX-License-Identifier: Apache-2.0
"""A sweep: which settings led to what. Rows and columns of the map are the two settings that vary most."""

import json
import statistics

from . import differences, forms, panels
from .blocks import Figure, Section, Text
from .compare import outcome, ranking, sections_of as compare_sections
from .runlog import RunError

WORDS = {"best_accuracy": ("best test accuracy", forms.percent),
         "best_loss": ("lowest test loss", forms.significant),
         "train_loss": ("last training loss", forms.significant)}


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
        return (key == "seed", -len({json.dumps(differences.settings_of(run).get(key)) for run in runs}))
    keys = sorted((key for key in keys if key != "network.layers"), key=rank)
    return [key for key in keys if key != "seed"][:2] or keys[:1]


def cells_of(runs, outcomes, row_key, column_key, key):
    """{(row value, column value): [figures of the runs there]}"""
    cells = {}
    for run, one in zip(runs, outcomes):
        settings = differences.settings_of(run)
        place = (settings.get(row_key) if row_key else "", settings.get(column_key))
        if one[key] is not None:
            cells.setdefault(place, []).append(one[key])
    return cells


def heat_map(runs, outcomes, axes, key):
    column_key, row_key = axes[0], (axes[1] if len(axes) > 1 else None)
    cells = cells_of(runs, outcomes, row_key, column_key, key)
    rows = ordered({place[0] for place in cells})
    columns = ordered({place[1] for place in cells})
    means = {place: sum(values) / len(values) for place, values in cells.items()}
    low, high = min(means.values()), max(means.values())
    name, show = WORDS[key]

    def entry(r, c):
        value = means.get((rows[r], columns[c]))
        if value is None:
            return None
        share = (value - low) / (high - low) if high > low else 0.5
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
    return Figure("sweep", svg, f"{name.capitalize()} by {' and '.join(axes)}",
                  ("In per cent. " if key == "best_accuracy" else "") + "The stronger the colour, the better."
                  + (" Where settings were run several times, the mean." if many else ""), wide=True)


def answers(runs, outcomes, axes, key):
    """The best settings of all, where there are several rows; one sentence per row of the map: its best
    column; then what differs between the rows."""
    name, show = WORDS[key]
    better = max if key == "best_accuracy" else min
    column_key, row_key = axes[0], (axes[1] if len(axes) > 1 else None)
    cells = cells_of(runs, outcomes, row_key, column_key, key)
    means = {place: sum(values) / len(values) for place, values in cells.items()}
    texts, best_columns = [], []
    for row in ordered({place[0] for place in means}):
        place = better((place for place in means if place[0] == row), key=means.get)
        best_columns.append(place[1])
        head = f"With {row_key} = {differences.shown(row)}" if row_key else "Over all runs"
        texts.append(f"{head}, {column_key} = {differences.shown(place[1])} is best: {name} "
                     f"{show(means[place])}.")
    if row_key and len(best_columns) > 1:
        column, row = (differences.shown(value) for value in reversed(better(means, key=means.get)))
        texts.insert(0, f"Best of all is {column_key} = {column} with {row_key} = {row}: {name} "
                        f"{show(better(means.values()))}.")
        same = len({json.dumps(value) for value in best_columns}) == 1
        texts.append(f"The best {column_key} is the same in all rows." if same else
                     f"The best {column_key} changes with {row_key}.")
    return texts


def speed_text(runs, outcomes):
    """How much faster more ranks are, when the runs tell."""
    speeds = {}
    for run, one in zip(runs, outcomes):
        if run.ranks and one["samples_per_s"]:
            speeds.setdefault(run.ranks[-1], []).append(one["samples_per_s"])
    if len(speeds) < 2:
        return ""
    medians = {ranks: statistics.median(values) for ranks, values in sorted(speeds.items())}
    fewest = min(medians)
    told = [f"{ranks} ranks {medians[ranks] / medians[fewest]:.2f} times" for ranks in medians
            if ranks != fewest]
    return (f"Against {forms.plural(fewest, 'rank')} ({forms.count(medians[fewest])} samples / s), "
            f"{', '.join(told)} as many samples a second.")


def sections_of(runs, wanted=()):
    outcomes = [outcome(run) for run in runs]
    axes = axes_of(runs, wanted)
    key, _ = ranking(outcomes)
    if not axes or key is None:
        why = "The runs differ in no setting." if not axes else "No run has completed an epoch."
        return [Section("Answers", [Text(why, True)]), *compare_sections(runs)]
    texts = [Text(text) for text in answers(runs, outcomes, axes, key)]
    speed = speed_text(runs, outcomes)
    if speed:
        texts.append(Text(speed))
    missing = sum(one[key] is None for one in outcomes)
    if missing:
        texts.append(Text(f"{forms.plural(missing, 'run')} without a result: diverged, or not begun.", True))
    return [Section("Answers", [*texts, heat_map(runs, outcomes, axes, key)]), *compare_sections(runs)]
