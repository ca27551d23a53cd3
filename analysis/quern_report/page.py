# SPDX-License-Identifier: Apache-2.0
"""A report as one HTML page that needs nothing else: style, script and pictures are inside."""

import base64
import re
from html import escape

from . import forms
from .blocks import Cards, Cell, Facts, Figure, Gallery, Listing, Table, Text
from .style import PAGE_STYLE, SCRIPT, SVG_STYLE

PAGED_FROM = 26  # rows
SHORT = 36  # characters of a text that is not broken into lines


def slug(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def cell_html(cell, is_left):
    cell = cell if isinstance(cell, Cell) else Cell(str(cell))
    classes = (["l", "s"] if len(cell.text) <= SHORT else ["l"]) if is_left else []
    inside = escape(cell.text)
    if cell.share is not None:
        classes.append("bar")
        inside = f'<i style="width:{100 * min(1, cell.share):.1f}%"></i>{inside}'
    if cell.style in ("good", "bad"):
        classes.append(cell.style)
    order = f' data-order="{escape(str(cell.order))}"' if cell.order is not None else ""
    kind = f' class="{" ".join(classes)}"' if classes else ""
    return f"<td{kind}{order}>{inside}</td>"


def table(block):
    head = "".join(f'<th scope="col"{" class=l" if i < block.left else ""}><button>{escape(name)}'
                   "</button></th>" for i, name in enumerate(block.header))
    rows = []
    for row in block.rows:
        best = any(isinstance(cell, Cell) and cell.style == "mark" for cell in row)
        cells = "".join(cell_html(cell, i < block.left) for i, cell in enumerate(row))
        rows.append(f'<tr{" class=best" if best else ""}>{cells}</tr>')
    pager = ('<p class="pager" hidden><button>Back</button><button>On</button><span></span></p>'
             if len(block.rows) >= PAGED_FROM else "")
    caption = f'<p class="caption">{escape(block.caption)}</p>' if block.caption else ""
    return (f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody>'
            f"</table></div>{pager}{caption}")


def figure(block):
    caption = f"<figcaption>{escape(block.caption)}</figcaption>" if block.caption else ""
    if block.wide:
        return (f'<figure class="wide"><h3>{escape(block.title)}</h3><div class="scroll">{block.svg}'
                f"</div>{caption}</figure>")
    return f"<figure><h3>{escape(block.title)}</h3>{block.svg}{caption}</figure>"


def gallery(block):
    images = "".join(
        f'<figure><img src="data:image/png;base64,{base64.b64encode(image).decode()}" '
        f'alt="{escape(f"{caption} {hint}".strip())}">'
        + (f'<figcaption>{escape(caption)} <span class="hint">{escape(hint)}</span></figcaption>'
           if caption or hint else "") + "</figure>" for image, caption, hint in block.images)
    caption = f'<p class="caption">{escape(block.caption)}</p>' if block.caption else ""
    return f'<div class="gallery {block.size}">{images}</div>{caption}'


def facts(block):
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(text))}</dd>" for name, text in block.items)
    return f'<dl class="facts">{rows}</dl>'


def cards(block):
    rows = "".join(f'<div><dt>{escape(name)}</dt><dd class="figure">{escape(value)}</dd>'
                   f'<dd class="of">{escape(of)}</dd></div>' for name, value, of in block.items)
    return f'<dl class="cards">{rows}</dl>'


def text(block):
    return f'<p{" class=note" if block.is_note else ""}>{escape(block.text)}</p>'


def listing(block):
    return f"<details><summary>{escape(block.summary)}</summary><pre>{escape(block.text)}</pre></details>"


FORMS = {Table: table, Figure: figure, Gallery: gallery, Facts: facts, Cards: cards, Text: text,
         Listing: listing}


def blocks_html(blocks):
    """Figures that follow each other share a grid."""
    parts, figures = [], []
    for block in [*blocks, None]:
        if isinstance(block, Figure):
            figures.append(figure(block))
            continue
        if figures:
            parts.append(f'<div class="figures">{"".join(figures)}</div>')
            figures = []
        if block is not None:
            parts.append(FORMS[type(block)](block))
    return "".join(parts)


def html_of(report):
    names, sections = [], []
    for section in report.sections:
        name = forms.unlike(slug(section.title) or "section", names) if section.title else ""
        names.append(name)
        head = f"<h{section.level}>{escape(section.title)}</h{section.level}>" if section.title else ""
        sections.append(f'<section{f" id={name}" if name else ""}>{head}{blocks_html(section.blocks)}'
                        "</section>")
    links = "".join(f'<a href="#{name}">{escape(section.title)}</a>'
                    for name, section in zip(names, report.sections) if section.title)
    badge = f'<span class="badge {report.badge[1]}">{escape(report.badge[0])}</span>' if report.badge else ""
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{escape(report.title)}: {escape(report.kind.lower())}</title>"
            f"<style>{SVG_STYLE}{PAGE_STYLE}</style></head><body>\n"
            f'<header><p class="kind">{escape(report.kind)}</p><h1>{escape(report.title)}{badge}</h1>'
            f'<p class="subtitle">{escape(report.subtitle)}</p></header>\n'
            f"<nav><div>{links}</div></nav>\n<main>\n" + "\n".join(sections) +
            f"\n</main>\n<script>{SCRIPT}</script></body></html>\n")


def write(report, path):
    path.write_text(html_of(report), encoding="utf-8")
