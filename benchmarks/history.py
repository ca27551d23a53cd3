# SPDX-License-Identifier: Apache-2.0
"""history.jsonl: every table of speeds that was measured, one JSON object a line, oldest first.

A line has `kind` ("speed": against the peers; "scaling": several ranks against one), `name` and `title` of
the processor, what `quern info` says of program and processor, `date`, `command`, `rounds`, perhaps a
`note`, and `workloads`: the figures of each. Lines are added and never changed.
"""

import json
from typing import NamedTuple

from workloads import ProblemError

NEEDED = ("kind", "name", "title", "processor", "commit", "date", "workloads")


def read(path):
    entries = []
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            missing = [key for key in NEEDED if key not in entry]
        except (ValueError, TypeError) as error:
            raise ProblemError(f"{path}:{number}: {error}") from error
        if missing:
            raise ProblemError(f"{path}:{number}: '{missing[0]}' is missing")
        entries.append(entry)
    return entries


def append(path, entry):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, sort_keys=True) + "\n")


def tables(entries, kind):
    """{name: table}: of each workload the newest figures, with where and when they were measured."""
    found = {}
    for entry in entries:
        if entry["kind"] != kind:
            continue
        table = found.setdefault(entry["name"], {"workloads": {}})
        table["title"] = entry["title"]
        facts = {key: value for key, value in entry.items() if key != "workloads"}
        for workload, figures in entry["workloads"].items():
            table["workloads"][workload] = {**facts, **figures}
    return found


class Change(NamedTuple):
    """A figure (larger is better) of the two newest entries that have it."""

    kind: str
    name: str
    workload: str
    figure: str
    before: float
    after: float
    sources: tuple  # texts

    @property
    def percent(self):
        return 100 * (self.after / self.before - 1)

    def is_slower(self, spread):
        return self.percent < -spread

    def __str__(self):
        return (f"{self.name} {self.workload} {self.figure}: {self.before:.2f} ({self.sources[0]}) -> "
                f"{self.after:.2f} ({self.sources[1]}), {self.percent:+.1f} %")


def comparable(figures):
    """{what: figure} of one workload: those that mean the same on another day. No seconds."""
    found = {}
    if "fraction_of_peak" in figures:
        found["of the FMA peak"] = figures["fraction_of_peak"]
    for peer, ratio in figures.get("ratios", {}).items():
        found[f"over {peer}"] = ratio["median"]
    for mode, speedup in figures.get("speedup", {}).items():
        found[f"on {figures['ranks']} ranks, {mode}"] = speedup["median"]
    return found


def changes(entries, name=None):
    """Of every processor, or of the one with this name: newest entry against the one before."""
    newest = {}  # (kind, name, workload, figure): (value, source), the last two
    for entry in entries:
        if name not in (None, entry["name"]):
            continue
        source = f"{entry['commit'][:7]}, {entry['date']}"
        for workload, figures in entry["workloads"].items():
            for figure, value in comparable(figures).items():
                values = newest.setdefault((entry["kind"], entry["name"], workload, figure), [])
                values[:] = [*values[-1:], (value, source)]
    return [Change(*key, values[0][0], values[1][0], (values[0][1], values[1][1]))
            for key, values in newest.items() if len(values) == 2]
