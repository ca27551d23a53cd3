# SPDX-License-Identifier: Apache-2.0
"""Specs, as little of their grammar as our recipe and environment need: `name@range +on ~off
key=value %compiler ^dependency`."""

import re

TOKEN = re.compile(
    r"""(?P<dependency>\^\S+)|(?P<compiler>%\S+)|(?P<version>@\S+?(?=[+~\s^%]|$))"""
    r"""|(?P<flag>[+~][a-z_0-9]+)|(?P<pair>[a-z_0-9]+=[^\s+~]\S*)|(?P<name>[a-z][a-z0-9-]*)|(?P<space>\s+)"""
)


class Spec:
    """name; variants: {name: True, False or text}; others: what follows @, % and ^."""

    def __init__(self, text):
        self.name, self.variants, self.others = "", {}, []
        self.dependencies = {}
        position = 0
        while position < len(text):
            token = TOKEN.match(text, position)
            if token is None:
                raise ValueError(f"spec '{text}': cannot read '{text[position:]}'")
            position = token.end()
            kind, found = token.lastgroup, token[0]
            if kind == "name":
                self.name = found
            elif kind == "flag":
                self.variants[found[1:]] = found[0] == "+"
            elif kind == "pair":
                key, _, value = found.partition("=")
                self.variants[key] = value
            elif kind != "space":
                self.others.append(found)

    def __getitem__(self, name):
        return self.dependencies[name]

    def satisfies(self, condition):
        """True if all that the condition says of variants holds; False if it says anything else."""
        asked = Spec(condition)
        return not asked.others and all(
            self.variants.get(name) == value for name, value in asked.variants.items()
        )
