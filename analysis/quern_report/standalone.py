# SPDX-License-Identifier: Apache-2.0
"""Pictures of a page as files of their own. Their colours and fonts stand at each element: LaTeX, office programs and
converters do not know variables of CSS, and many know no classes; and a file looks alike in light and dark browsers."""

import functools
import re

from .style import LIGHT, SVG_STYLE

# An attribute that the page alone needs, or whose place others take.
DROPPED = ("class", "style", "data-plot")
NO_ATTRIBUTES = ("font-variant-numeric",)
TAG = re.compile(r'<([a-z]+)((?: [\w:-]+="[^"]*")*)(/?)>')
ATTRIBUTE = re.compile(r' ([\w:-]+)="([^"]*)"')
RULE = re.compile(r"(svg[^{}@]*)\{([^{}]*)\}")


def declarations(text):
    """{property: value} of "fill:red;stroke:blue", with the light colours."""
    colours = dict(re.findall(r"(--[\w-]+):(#[0-9a-f]+)", LIGHT))
    text = re.sub(r"var\((--[\w-]+)\)", lambda found: colours[found[1]], text)
    pairs = [part.split(":", 1) for part in text.split(";") if part.strip()]
    return {name.strip(): value.strip().replace('"', "'") for name, value in pairs}


@functools.lru_cache(maxsize=None)
def rules():
    """[(element or "", classes, {property: value})]; those of more classes last, as CSS has it."""
    found = []
    for selectors, text in RULE.findall(SVG_STYLE):
        for selector in selectors.split(","):
            last = selector.split()[-1]
            element, *classes = last.split(".")
            found.append((element, frozenset(classes), declarations(text)))
    return sorted(found, key=lambda rule: len(rule[1]))


@functools.lru_cache(maxsize=None)
def look(element, classes):
    """The attributes that the rules give."""
    found = {}
    for of, wanted, properties in rules():
        if of in ("", element) and wanted <= set(classes.split()):
            found.update(properties)
    return {name: value for name, value in found.items() if name not in NO_ATTRIBUTES}


def literal_tag(found):
    element, text, end = found.groups()
    attributes = dict(ATTRIBUTE.findall(text))
    own = declarations(attributes.get("style", "")) if element != "svg" else {}
    more = {**look(element, attributes.get("class", "")), **own}
    kept = {name: value for name, value in attributes.items() if name not in DROPPED}
    return "<" + "".join([element, *(f' {name}="{value}"' for name, value in {**kept, **more}.items()), end]) + ">"


def as_file(source):
    """`source`: a picture of svg.picture()."""
    head, rest = source.split(">", 1)
    width, height = head.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    return TAG.sub(literal_tag, f'{head} width="{width}" height="{height}">'
                                f'<rect width="100%" height="100%" class="paper"/>{rest}\n')
