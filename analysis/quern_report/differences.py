# SPDX-License-Identifier: Apache-2.0
"""In which settings runs differ, under the keys of --set."""

import json
import re

from . import forms, networks

# What changes nothing about what a run learns.
SKIPPED = ("name", "checkpoint.", "train.log_every_steps", "train.per_rank_loss")
# Computed from the data, with a mean and a deviation for each channel or target: one setting each.
STATISTICS = ("data.normalize", "data.normalize_targets")
# What a step computes for a sample: speeds of runs that differ in it cannot be compared as those of more ranks.
WORK = ("network.input", "network.layers", "train.precision", "train.bf16_sums", "train.convolution", "train.recompute",
        "train.micro_block", "train.determinism")
LONG = 40  # characters of a value that are shown
LONG_LABEL = 36  # of the name of a run: as many as a legend has room for


def flat(table, prefix=""):
    """{dotted key: value}; lists and what is in them are one value."""
    items = {}
    for key, value in table.items():
        if isinstance(value, dict):
            items.update(flat(value, f"{prefix}{key}."))
        else:
            items[prefix + key] = value
    return items


def statistics_text(table):
    """Of the table's numbers the first of each list, or else its type."""
    def first(values):
        values = values if isinstance(values, list) else [values]
        texts = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in values[:1]]
        return ", ".join(texts + ["..."] * (len(values) > 1))
    return "; ".join(f"{key} {first(table[key])}" for key in ("mean", "std") if key in table) or str(table.get("type"))


def settings_of(run):
    """The recipe's keys, those of layers by the layers' names, ranks: how many the run ended with, global batch: where these
    made it, and changes: what of the recipe it had otherwise before."""
    settings = {}
    for key, value in flat(run.recipe).items():
        table = next((table for table in STATISTICS if key.startswith(table + ".")), None)
        if table:
            settings.setdefault(table, {})[key[len(table) + 1:]] = value
        elif key == networks.PREFIX:
            settings.update(networks.settings_of(networks.layers_of(run.recipe)))
        elif not key.startswith(SKIPPED):
            settings[key] = value
    if run.ranks:
        settings["ranks"] = run.ranks[-1]
        per_rank = run.recipe.get("data", {}).get("batch_per_rank")
        if per_rank:
            settings["global batch"] = per_rank * run.ranks[-1]
    if run.changes:
        settings["changes"] = run.changes_text
    return settings


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value, default=str)


def shown(value):
    """Of a value of Settings, which is short."""
    return forms.NONE if value is None else as_text(value)


def readable(key, values):
    """{value as JSON: number, None or short text} of the different values of a setting, no two of them alike."""
    texts = {json.dumps(value, default=str): value for value in values}
    for raw, value in texts.items():
        if isinstance(value, dict) and key in STATISTICS:
            texts[raw] = statistics_text(value)
        elif value is not None and not isinstance(value, (bool, int, float)):
            texts[raw] = as_text(value)
    words = {raw: text for raw, text in texts.items() if isinstance(text, str)}
    return {**texts, **dict(zip(words, forms.apart(words.values(), LONG)))}


class Settings:
    """Of several runs: `rows`, a dictionary of settings for each run; `keys`, those that differ, in the order of the
    recipe; `networks`, [(label, layers)] where the runs have other lists of layers."""

    def __init__(self, runs):
        self.rows = [settings_of(run) for run in runs]
        self.aliases = {}
        self.networks = []
        layers = [networks.layers_of(run.recipe) for run in runs]
        self._add_networks(layers)
        self._fold_blocks()
        for key in dict.fromkeys(key for row in self.rows for key in row):
            texts = readable(key, [row.get(key) for row in self.rows])
            for row in self.rows:
                if key in row or not self._may_lack(key):
                    row[key] = texts[json.dumps(row.get(key), default=str)]
        keys = dict.fromkeys(key for row in self.rows for key in row)
        self.keys = [key for key in keys if len(self.values(key)) > 1]
        self._add_aliases(runs, layers)

    @staticmethod
    def _may_lack(key):
        """A run that has not trained has no ranks, and a network without a layer no settings of it: no difference."""
        return key in ("ranks", "global batch") or key.startswith(networks.PREFIX + ".")

    def values(self, key):
        """The different values of a setting, as JSON."""
        return {json.dumps(row.get(key), default=str) for row in self.rows if key in row or not self._may_lack(key)}

    def is_derived(self, key):
        """Does it follow from others: from the data, or from what the layers have set?"""
        return key in STATISTICS or key == networks.PREFIX

    def _add_networks(self, layers):
        said = {}  # keys by name and type of a layer: one that leaves out what another run states has None
        for named in layers:
            for name, layer in named.items():
                said.setdefault((name, str(layer.get("type"))), {}).update(networks.settings_of({name: layer}))
        for row, named in zip(self.rows, layers):
            for name, layer in named.items():
                for key in said[name, str(layer.get("type"))]:
                    row.setdefault(key, None)
        structures = [networks.structure(named) for named in layers]
        different = list(dict.fromkeys(structures))
        if len(different) > 1:
            labels = dict(zip(different, networks.labels_of(different)))
            self.networks = [(labels[one], layers[structures.index(one)]) for one in different]
            self.rows = [inserted(row, networks.PREFIX, labels[one]) for row, one in zip(self.rows, structures)]

    def _fold_blocks(self):
        self.aliases.update(networks.folded_blocks(self.rows, lambda key: len(self.values(key)) > 1))
        for index, row in enumerate(self.rows):
            self.rows[index] = folded = {}
            for key, value in row.items():
                folded.setdefault(self.aliases.get(key, key), value)

    def _add_aliases(self, runs, layers):
        """Other names that --set has for the keys that differ."""
        for key in self.keys:
            if key.endswith(".type"):
                self.aliases.setdefault(key[:-len(".type")], key)
        for table in STATISTICS:
            self.aliases.update({f"{table}.{key}": table for key in ("type", "mean", "std")})
        prefix = networks.PREFIX + "."
        if not self.networks and not any(networks.BLOCK.match(name) for name in layers[0]):  # a block is one entry
            numbers = {name: number for number, name in enumerate(layers[0])}
            for key in self.keys:
                name = networks.layer_of(key) if key.startswith(prefix) else None
                if name in numbers:
                    self.aliases[f"{prefix}{numbers[name]}{key[len(prefix) + len(name):]}"] = key
        for key in dict.fromkeys(key for run in runs for key in trial_keys(run)):
            if self.networks and key.startswith(prefix) and key not in self.keys:
                self.aliases.setdefault(key, networks.PREFIX)

    def find(self, key):
        """The key of `keys` that is meant, or None."""
        plain = re.sub(r"\[(\d+)\]", r".\1", key)
        plain = plain if plain in self.keys else self.aliases.get(plain, plain)
        return plain if plain in self.keys else None


def inserted(settings, key, value):
    """With the key before those of layers, or at the end."""
    before = next((index for index, one in enumerate(settings) if one.startswith(key + ".")), len(settings))
    items = list(settings.items())
    return dict([*items[:before], (key, value), *items[before:]])


def trial_keys(run):
    """What the grid of a sweep sets in this run (jobs/README.md)."""
    try:
        text = (run.path / "job" / "trial").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return re.findall(r"(?:^|\s)([\w.\[\]-]+)=", text)


def parts_apart(paths):
    """Of paths as lists of folders, without those that all begin with and all end with; of each at least one is left."""
    least = min(map(len, paths)) - 1
    begin = next((i for i in range(least) if len({path[i] for path in paths}) > 1), least)
    end = next((i for i in range(least - begin) if len({path[-1 - i] for path in paths}) > 1), least - begin)
    return ["/".join(path[begin:len(path) - end]) for path in paths]


def labels_of(runs):
    """Short names, no two alike: of the recipes where they differ, otherwise of the folders, otherwise the parts in which
    their paths differ."""
    paths = [run.path.resolve().parts for run in runs]
    for labels in ([run.name for run in runs], [path[-1] for path in paths], parts_apart(paths)):
        if len(set(labels)) == len(runs):
            break
    return forms.apart(labels, LONG_LABEL)
