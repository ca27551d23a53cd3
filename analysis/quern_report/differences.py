# SPDX-License-Identifier: Apache-2.0
"""In which settings runs differ."""

import json

# Where a run reads and writes changes nothing about what it learns.
SKIPPED = ("name", "checkpoint.", "train.log_every_steps", "data.train", "data.test")


def flat(table, prefix=""):
    """{dotted key: value}; lists and what is in them are one value."""
    items = {}
    for key, value in table.items():
        if isinstance(value, dict):
            items.update(flat(value, f"{prefix}{key}."))
        else:
            items[prefix + key] = value
    return items


def settings_of(run):
    """The recipe's keys, and ranks: how many the run ended with."""
    settings = {key: value for key, value in flat(run.recipe).items()
                if not key.startswith(SKIPPED)}
    if run.ranks:
        settings["ranks"] = run.ranks[-1]
    return settings


def shown(value):
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def values_of(runs, key):
    """The different values of a setting, as texts. A run that has not trained has no `ranks`, which is no value."""
    values = [settings_of(run) for run in runs]
    return {json.dumps(settings.get(key), default=str) for settings in values if key != "ranks" or key in settings}


def differing_keys(runs):
    """Keys whose values are not the same in all runs, in the order of the recipe."""
    keys = dict.fromkeys(key for run in runs for key in settings_of(run))
    return [key for key in keys if len(values_of(runs, key)) > 1]


def labels_of(runs):
    """The recipes' names where they differ, otherwise the folders' names, otherwise their paths."""
    for labels in ([run.name for run in runs], [run.path.resolve().name for run in runs]):
        if len(set(labels)) == len(runs):
            return labels
    return [str(run.path) for run in runs]
