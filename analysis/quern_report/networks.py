# SPDX-License-Identifier: Apache-2.0
"""The networks of several runs: settings of layers under the keys of --set, a label for each list of layers."""

import json
import re

PREFIX = "network.layers"
SHORT = 40  # characters of a label
LINKS = ("input", "inputs")
BLOCK = re.compile(r"(.+?)\.(\d+)\.")  # "layer1.0.conv1", as a block of the recipe becomes layers
BLOCK_KEYS = ("channels", "stride", "statistics", "trainable")


def layers_of(recipe):
    """{name: table}, in order. A layer without a name has its number, which --set takes as well."""
    network = recipe.get("network")
    layers = network.get("layers") if isinstance(network, dict) else None
    named = {}
    for index, layer in enumerate(layers if isinstance(layers, list) else []):
        layer = layer if isinstance(layer, dict) else {"type": str(layer)}
        name = str(layer.get("name", index))
        named[str(index) if name in named else name] = layer
    return named


def structure(layers):
    """What makes lists of layers different ones: names, types, and what reads what."""
    return tuple((name, str(layer.get("type")), json.dumps([layer.get(key) for key in LINKS], default=str))
                 for name, layer in layers.items())


def settings_of(layers):
    """{"network.layers.NAME.KEY": value} of what structure() leaves out."""
    return {f"{PREFIX}.{name}.{key}": value for name, layer in layers.items() for key, value in layer.items()
            if key not in ("name", "type", *LINKS)}


def layer_of(key):
    """The name in "network.layers.NAME.KEY"."""
    return key[len(PREFIX) + 1:].rpartition(".")[0]


def middles(lists):
    """The types without those that all lists begin and end with, but one beside them where nothing else is left."""
    shortest = min(map(len, lists))
    head = 0
    while head < shortest and len({types[head] for types in lists}) == 1:
        head += 1
    tail = 0
    while tail < shortest - head and len({types[-1 - tail] for types in lists}) == 1:
        tail += 1
    if head + tail == shortest:
        head, tail = (head - 1, tail) if head else (head, max(0, tail - 1))
    dots = ["..."]
    return ["-".join([*dots[:head], *types[head:len(types) - tail], *dots[:tail]]) for types in lists]


def labels_of(structures):
    """A text for each of several different structures: their types, or where these differ, or a number."""
    lists = [[kind for _, kind, _ in layers] for layers in structures]
    for labels in (["-".join(types) for types in lists], middles(lists)):
        if len(set(labels)) == len(labels) and all(0 < len(label) <= SHORT for label in labels):
            return labels
    return [f"network {number} ({len(types)} layers)" for number, types in enumerate(lists, 1)]


def listing_of(layers):
    """A line for each layer, with all that it has set."""
    return "\n".join(" ".join([name, str(layer.get("type"))] + [
        f"{key}={value if isinstance(value, str) else json.dumps(value, default=str)}"
        for key, value in layer.items() if key not in ("name", "type")]) for name, layer in layers.items())


def folded_blocks(rows, differ):
    """{key of a layer: key of its block} of the settings of blocks in `rows`, dictionaries of settings, that `differ`.
    A block sets its channels, statistics and trainable in all of its layers, its stride in its first repetition."""
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key.startswith(PREFIX + ".")]
    groups = {}
    for key in keys:
        name, what = layer_of(key), key.rpartition(".")[2]
        found = BLOCK.match(name)
        if found and what in BLOCK_KEYS:
            groups.setdefault((found[1], what), []).append((int(found[2]), key))
    folded = {}
    for (block, what), members in groups.items():
        changed = [key for number, key in members if differ(key) and (what != "stride" or number == 0)]
        whole = len(changed) > 1 if what == "stride" else all(differ(key) for _, key in members)
        if changed and whole and all(follows(rows, changed[0], key) for key in changed):
            folded.update({key: f"{PREFIX}.{block}.{what}" for key in changed})
    return folded


def follows(rows, first, key):
    """Does the value of `first` say that of `key`, in all rows that have it?"""
    told = {}
    return all(first in row and told.setdefault(str(row[first]), row[key]) == row[key] for row in rows if key in row)
