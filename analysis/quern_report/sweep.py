# SPDX-License-Identifier: Apache-2.0
"""A sweep: which settings led to what. Rows and columns of the map are the two settings that vary most."""

import collections

from . import conclusions, differences, forms, panels
from .blocks import Figure, Section, Text
from .compare import MEASURES, OTHER_LOSSES, OTHER_TESTS, are_of_other_tests, is_ranked, outcome, ranking, sections_of as compare_sections
from .runlog import RunError

MOST_NAMED = 8  # settings in a sentence

def ordered(values):
    """Numbers by size, then texts."""
    return sorted(values, key=lambda value: (not isinstance(value, (int, float)), value
                                             if isinstance(value, (int, float)) else 0, str(value)))


def is_exact(run):
    """Does its seed say every bit of what it learned?"""
    return run.recipe.get("train", {}).get("determinism", "rank-invariant") == "rank-invariant"


def is_free_of_ranks(run):
    """Would it have learned the same, bit by bit, on any number of ranks?"""
    return is_exact(run) and bool(run.recipe.get("data", {}).get("global_batch"))


def repeated_by(runs):
    """What makes no settings of the runs: repetitions have other seeds, ranks may change no bit, and changes on the way
    are of some runs only."""
    return ("seed", "changes", "ranks") if all(map(is_free_of_ranks, runs)) else ("seed", "changes")


def axes_of(settings, wanted=(), repeated=("seed",)):
    """The settings that make rows and columns: those named, or the two with the most values (those of `repeated` only
    when nothing else varies)."""
    keys = [settings.find(key) for key in wanted]
    if None in keys:
        raise RunError(f"the runs do not differ in {wanted[keys.index(None)]} "
                       f"(they do in: {', '.join(settings.keys) or 'nothing'})")
    if keys:
        return list(dict.fromkeys(keys))[:2]
    keys = sorted(settings.keys, key=lambda key: preference(settings, key))
    axes = [key for key in keys if key not in repeated][:1] or keys[:1]
    others = [key for key in keys if key not in (*axes, *repeated)]
    told = [key for key in others if follows(settings, axes[0], key)]  # a row of it would have a single column
    apart = [key for key in others if key not in told] or [key for key in told if not settings.is_derived(key)]
    return [*axes, *apart[:1]]


def preference(settings, key):
    """Small for what varies most. Statistics follow from the data, and paths may be those of copies: both come after
    what is set by hand, and seeds last."""
    counts = collections.Counter(row.get(key) for row in settings.rows)
    return (key == "seed", key in differences.STATISTICS, key in ("data.train", "data.test"),
            -len(settings.values(key)), max(counts.values()))


def follows(settings, axis, key):
    """Does the value of `axis` say that of `key`, though several runs share it or `key` is derived?"""
    told = {}
    if len(settings.values(axis)) == len(settings.rows) and not settings.is_derived(key):
        return False
    return all(told.setdefault(row.get(axis), row.get(key)) == row.get(key) for row in settings.rows)


def cells_of(runs, settings, outcomes, axes, key):
    """({(row value, column value): {other settings: [figures of the runs there]}}, how many runs repeat another one).
    Runs of the same settings differ in their seeds. Those of the same seed as well are copies, or differ in ranks that
    change no bit: the one of most epochs counts."""
    column_key, row_key = axes[0], (axes[1] if len(axes) > 1 else None)
    others = others_of(settings, axes)
    found, told = {}, 0
    for run, row, one in zip(runs, settings.rows, outcomes):
        if one[key] is None or not is_ranked(one) or changed_in(run, axes):
            continue
        told += 1
        place = (row.get(row_key) if row_key else "", row.get(column_key))
        group = tuple(None if other == "ranks" and is_free_of_ranks(run) else row.get(other) for other in others)
        runs_there = found.setdefault(place, {}).setdefault(group, {})
        same = (run.recipe.get("seed"), None if is_exact(run) else one[key])
        if same not in runs_there or one["epochs"] > runs_there[same][0]:
            runs_there[same] = (one["epochs"], one[key])
    cells = {place: {group: [figure for _, figure in there.values()] for group, there in groups.items()}
             for place, groups in found.items()}
    return cells, told - sum(len(values) for groups in cells.values() for values in groups.values())


def changed_in(run, keys):
    """Had the run one of these settings otherwise before (--change)? Then its figures are not of the last value."""
    return any(key in keys for _, key, _, _ in run.changes)


def others_of(settings, axes):
    """The settings that tell apart what lies at one place of the map."""
    return [key for key in settings.keys if key not in (*axes, "seed")]


def figures_of(cells, better):
    """{place: the mean of the runs of the same settings; of several settings the best of their means}"""
    return {place: better(map(conclusions.Mean, groups.values())) for place, groups in cells.items()}


def hidden(settings, axes, cells):
    """The settings that differ within a cell."""
    others = others_of(settings, axes)
    return [key for index, key in enumerate(others)
            if any(len({values[index] for values in groups}) > 1 for groups in cells.values())]


def heat_map(cells, axes, key):
    column_key, row_key = axes[0], (axes[1] if len(axes) > 1 else None)
    rows = ordered({place[0] for place in cells})
    columns = ordered({place[1] for place in cells})
    name, show, better = MEASURES[key]
    figures = figures_of(cells, better)
    low, high = min(figures.values()), max(figures.values())

    def entry(r, c):
        value = figures.get((rows[r], columns[c]))
        if value is None:
            return None
        share = (value - low) / (high - low) if show(high) != show(low) else 0.5
        return (0.06 + 0.94 * (share if key == "best_accuracy" else 1 - share), value)

    def hint(r, c):
        groups = cells[rows[r], columns[c]]
        several = f"best of {len(groups)} settings" if len(groups) > 1 else ""
        runs = sum(map(len, groups.values()))
        if not several and runs > 1:
            several = f"mean of {runs} seeds"
        return (f"{column_key} {differences.shown(columns[c])}"
                + (f", {row_key} {differences.shown(rows[r])}" if row_key else "")
                + f": {show(figures[rows[r], columns[c]])}" + (f", {several}" if several else ""))

    svg = panels.matrix(name, [differences.shown(value) for value in rows],
                        [differences.shown(value) for value in columns],
                        [[entry(r, c) for c in range(len(columns))] for r in range(len(rows))],
                        (lambda value: f"{100 * value:.1f}") if key == "best_accuracy"
                        else (lambda value: f"{value:.3g}"), hint, row_key or "", column_key,
                        value_title="cells: " + name + (" / %" if key == "best_accuracy" else ""))
    groups = [group for place in cells.values() for group in place.values()]
    return Figure("sweep", svg, f"{name[0].upper()}{name[1:]} by {' and '.join(axes)}",
                  ("In per cent. " if key == "best_accuracy" else "") + "The stronger the colour, the better."
                  + (" Where settings were run with several seeds, the mean." if any(len(one) > 1 for one in groups) else "")
                  + (" Where a cell has several settings, the best." if len(groups) > len(cells) else ""), wide=True)


def answers(cells, axes, key):
    name, show, better = MEASURES[key]
    figures = figures_of(cells, better)
    rows = {row: {column: figures[row, column] for column in ordered({place[1] for place in figures})
                  if (row, column) in figures} for row in ordered({place[0] for place in figures})}
    return conclusions.answers(rows, axes, better, name, show)


def left_out(runs, outcomes, axes, key):
    """Why the map lacks some runs."""
    diverged = sum(not is_ranked(one) for one in outcomes)
    has = [bool(key) and one[key] is not None for one in outcomes]
    missing = sum(not told and is_ranked(one) for one, told in zip(outcomes, has))
    changed = sum(changed_in(run, axes) and is_ranked(one) and told for run, one, told in zip(runs, outcomes, has))
    for number, why in ((diverged, "diverged"), (missing, "no complete epoch"),
                        (changed, f"{' or '.join(axes)} changed while it trained")):
        if number:
            yield f"{forms.plural(number, 'run')} without a result here: {why}."


def why_nothing(runs, outcomes, axes, key):
    """Why there is no map."""
    if not axes:
        return ["The runs differ in no setting."]
    if not any(one["epochs"] for one in outcomes):
        return ["No run has completed an epoch."]
    if are_of_other_tests(outcomes):
        return [OTHER_TESTS]
    if key is None and any(map(is_ranked, outcomes)):
        return [OTHER_LOSSES]
    return left_out(runs, outcomes, axes, key)


def sections_of(runs, settings, wanted=(), not_begun=()):
    """`not_begun`: the folders of trials without a run."""
    waiting = [Text(f"Not begun, without recipe.toml or metrics.jsonl: {forms.listed(not_begun, MOST_NAMED)}.",
                    True)] if not_begun else []
    outcomes = [outcome(run) for run in runs]
    axes = axes_of(settings, wanted, repeated_by(runs))
    key, _ = ranking(outcomes)
    tables = compare_sections(runs, settings, axes)
    cells, repeated = cells_of(runs, settings, outcomes, axes, key) if axes and key else ({}, 0)
    if not cells or are_of_other_tests(outcomes):
        why = why_nothing(runs, outcomes, axes, key)
        return [Section("Answers", [*(Text(text, True) for text in why), *waiting]), *tables]
    texts = [Text(text) for text in [*answers(cells, axes, key), *conclusions.speeds(runs, settings, outcomes)]]
    others = hidden(settings, axes, cells)
    if others:
        texts.insert(0, Text(f"The runs differ in {forms.listed(others, MOST_NAMED)} as well: of each "
                             f"{' and '.join(axes)} the best of them counts, not their mean.", True))
    if repeated:
        texts.append(Text(f"{forms.plural(repeated, 'run repeats another one', 'runs repeat another one')}, of the same "
                          "settings and seed, and is not counted again: a copy, or one on other ranks, which change no bit "
                          "under data.global_batch.", True))
    texts += [Text(text, True) for text in left_out(runs, outcomes, axes, key)]
    return [Section("Answers", [*texts, *waiting, heat_map(cells, axes, key)]), *tables]
