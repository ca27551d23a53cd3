# SPDX-License-Identifier: Apache-2.0
"""What a report is made of, before it becomes HTML (page.py) or Markdown (markdown.py)."""

from dataclasses import dataclass, field


@dataclass
class Cell:
    """A cell whose order or look is not that of its text."""
    text: str
    order: object = None  # what the column sorts by; None: the text
    share: float = None  # 0 to 1: a bar behind the text
    style: str = ""  # "good", "bad" or "mark"


@dataclass
class Table:
    header: list
    rows: list  # of lists of str or Cell
    left: int = 1  # so many columns are texts, aligned to the left; the rest are numbers
    caption: str = ""


@dataclass
class Figure:
    name: str  # file name of the Markdown's picture, without .svg
    svg: str
    title: str
    caption: str = ""
    wide: bool = False  # takes the width of the page, not half of it


@dataclass
class Gallery:
    images: list  # of (PNG bytes, caption, hint)
    caption: str = ""
    size: str = "medium"  # or "small"
    name: str = "gallery"  # file name of the Markdown's picture, without .svg
    title: str = ""


@dataclass
class Facts:
    items: list  # of (name, text)


@dataclass
class Cards:
    items: list  # of (name, figure, what it is of)


@dataclass
class Text:
    text: str
    is_note: bool = False  # something is missing, or to be careful with


@dataclass
class Listing:
    summary: str
    text: str


@dataclass
class Section:
    title: str
    blocks: list = field(default_factory=list)
    level: int = 2


@dataclass
class Report:
    title: str
    kind: str  # "Training report", "Comparison", ...
    subtitle: str
    sections: list = field(default_factory=list)
    badge: tuple = ()  # (text, "good", "bad" or "open")
