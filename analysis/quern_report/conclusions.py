# SPDX-License-Identifier: Apache-2.0
"""What the results of a sweep say, in sentences, and nothing that they do not show: settings are compared where
there are results of several, and what reads the same is called the same."""

import statistics

from . import differences, forms
from .compare import best_of


MOST_LISTED = 3  # settings that are best of all alike


class Mean(float):
    """The mean of what several seeds of the same settings led to."""

    def __new__(cls, values):
        mean = super().__new__(cls, statistics.fmean(values))
        mean.number = len(values)
        mean.deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        return mean

    def text(self, show):
        if self.number == 1:
            return show(self)
        return f"{show(self)} (mean of {self.number} seeds, standard deviation {show(self.deviation)})"


def of_others(best, means, show):
    """What is as good as the best within its standard deviation. `means`: {settings in words: mean}."""
    figure = means[best[0]]
    near = [words for words, mean in means.items() if words not in best and abs(mean - figure) <= figure.deviation]
    if not near or figure.number == 1:
        return ""
    return f" Within that deviation of it: {forms.listed([f'{words} ({show(means[words])})' for words in near], MOST_LISTED)}."


def joined(texts):
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def listed(values):
    return joined([differences.shown(value) for value in values])


def of_row(head, column_key, row, best, name, show):
    """`row`: {column value: mean}; `best`: those of the best."""
    figure = row[best[0]].text(show)
    if len(row) == 1:
        return f"{head}, only {column_key} = {differences.shown(best[0])} has a result: {name} {figure}."
    if len(best) == len(row):
        return f"{head}, {column_key} makes no difference: {name} {figure} with {listed(best)}."
    others = of_others([differences.shown(value) for value in best],
                       {differences.shown(value): mean for value, mean in row.items()}, show)
    return f"{head}, {column_key} = {listed(best)} {'is' if len(best) == 1 else 'are'} best: {name} {figure}.{others}"


def of_all(means, axes, better, name, show):
    """`means`: {(row value, column value): Mean}."""
    best = best_of(means, better, show)
    figure = means[best[0]].text(show)
    if len(best) == len(means):
        return f"All settings lead to the same {name}: {figure}."
    if len(best) > MOST_LISTED:
        return f"{forms.count(len(best))} of {forms.plural(len(means), 'setting')} are best alike: {name} {figure}."
    places = [f"{axes[0]} = {differences.shown(column)} with {axes[1]} = {differences.shown(row)}"
              for row, column in best]
    return f"Best of all {'is' if len(best) == 1 else 'are'} {joined(places)}: {name} {figure}."


def of_rows(rows, axes, better, show):
    """Does the best column depend on the row? Told by the columns of which all rows have results; rows of one
    result say nothing."""
    rows = [row for row in rows if len(row) > 1]
    shared = [column for column in rows[0] if all(column in row for row in rows)] if rows else []
    if len(rows) < 2 or len(shared) < 2:
        return ""
    best = [best_of({column: row[column] for column in shared}, better, show) for row in rows]
    if all(len(columns) == len(shared) for columns in best):
        return ""  # each row's sentence says so
    among = "" if all(len(row) == len(shared) for row in rows) else f" of {listed(shared)}"
    if all(columns == best[0] for columns in best):
        return f"The best {axes[0]}{among} is the same in all rows."
    always = [column for column in shared if all(column in columns for columns in best)]
    if always:
        return f"{axes[0]} = {listed(always)} is among the best{among} in all rows."
    return f"The best {axes[0]}{among} changes with {axes[1]}."


def answers(means, axes, better, name, show):
    """The best settings of all, where there are several rows; one sentence for each row of the map; then what
    differs between the rows. `means`: {row value: {column value: Mean}}, in order."""
    texts = []
    for row, columns in means.items():
        head = f"With {axes[1]} = {differences.shown(row)}" if len(axes) > 1 else "Over all runs"
        texts.append(of_row(head, axes[0], columns, best_of(columns, better, show), name, show))
    if len(means) > 1:
        texts.insert(0, of_all({(row, column): mean for row, columns in means.items()
                                for column, mean in columns.items()}, axes, better, name, show))
        texts.append(of_rows(list(means.values()), axes, better, show))
    return [text for text in texts if text]


def way_to_split(settings):
    """The settings that say how the ranks share which work; `parallel.strategy` is another name for the others."""
    return {key: value for key, value in settings.items()
            if key.startswith(("parallel.", *differences.WORK)) and key != "parallel.strategy"}


def speeds(runs, settings, outcomes):
    """How much faster more ranks are, a sentence for each way to split of which there are several numbers."""
    ways = []  # [settings, {ranks: [samples a second]}]
    for run, row, one in zip(runs, settings.rows, outcomes):
        if len(run.ranks) == 1 and one["samples_per_s"]:
            way = {**way_to_split(row), "threads of a rank": run.last_start.get("threads")}
            found = next((told for of, told in ways if of == way), None)
            if found is None:
                ways.append((way, found := {}))
            found.setdefault(run.ranks[-1], []).append(one["samples_per_s"])
    texts = []
    for way, found in ways:
        if len(found) < 2:
            continue
        medians = {ranks: statistics.median(values) for ranks, values in sorted(found.items())}
        fewest = min(medians)
        told = [f"{ranks} ranks {medians[ranks] / medians[fewest]:.2f} times" for ranks in medians
                if ranks != fewest]
        differing = [f"{key} = {differences.shown(value)}" for key, value in way.items()
                     if any(other.get(key) != value for other, _ in ways)]
        head = f"With {', '.join(differing)}, against" if differing else "Against"
        texts.append(f"{head} {forms.plural(fewest, 'rank')} ({forms.count(medians[fewest])} samples / s), "
                     f"{', '.join(told)} as many samples a second.")
    return texts
