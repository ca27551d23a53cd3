# SPDX-License-Identifier: Apache-2.0
"""A report as Markdown; its figures become SVG files beside it."""

from urllib.parse import quote

from .blocks import Cards, Cell, Facts, Figure, Gallery, Listing, Table, Text
from .panels import contact_sheet
from .standalone import as_file


def cell_text(cell):
    text = cell.text if isinstance(cell, Cell) else str(cell)
    text = text.replace("|", "\\|").replace("\n", " ")
    return f"**{text}**" if isinstance(cell, Cell) and cell.style == "mark" else text


def table(header, rows, left=0):
    head, *body = ["| " + " | ".join(map(cell_text, row)) + " |" for row in [header, *rows]]
    rule = "|" + "|".join(" --- " if i < left else " ---: " for i in range(len(header))) + "|"
    return "\n".join([head, rule, *body])


def figure(block):
    picture = f"![{block.title}]({quote(block.name)}.svg)"
    return f"{picture}\n\n{block.caption}" if block.caption else picture


def gallery(block):
    listed = "\n".join(f"- {caption} {hint}".rstrip() for _, caption, hint in block.images if caption)
    return "\n\n".join(filter(None, [figure(block), listed]))


def cards(block):
    return "\n".join(f"- {name}: {figure}{f' ({of})' if of else ''}"
                     for name, figure, of in block.items)


def listing(block):
    fence = "```"
    while fence in block.text:
        fence += "`"
    return f"{literal(block.summary)}:\n\n{fence}\n{block.text.rstrip()}\n{fence}"


def literal(text):
    """Names of users are no HTML."""
    return text.replace("<", "&lt;")


FORMS = {
    Table: lambda block: table(block.header, block.rows, block.left) + (f"\n\n{block.caption}" if block.caption else ""),
    Figure: figure,
    Gallery: gallery,
    Facts: lambda block: "\n".join(f"- {name}: {text}" for name, text in block.items),
    Cards: cards,
    Text: lambda block: block.text,
}


def text_of(report):
    parts = [literal(f"# {report.title}"), literal(report.subtitle)]
    for section in report.sections:
        if section.title:
            parts.append(literal("#" * section.level + " " + section.title))
        parts += [listing(block) if isinstance(block, Listing) else literal(FORMS[type(block)](block))
                  for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def picture_of(block):
    """The SVG of a block that has a file of its own, or ""."""
    if isinstance(block, Gallery):
        return contact_sheet(block.title, block.images, block.size == "small") if block.images else ""
    return block.svg if isinstance(block, Figure) else ""


def write(report, path):
    for section in report.sections:
        for block in section.blocks:
            picture = picture_of(block)
            if picture:
                (path.parent / f"{block.name}.svg").write_text(as_file(picture), encoding="utf-8")
    path.write_text(text_of(report), encoding="utf-8")
