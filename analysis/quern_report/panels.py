# SPDX-License-Identifier: Apache-2.0
"""Pictures that are no curves: bars, strips, matrices, a timeline, pixels."""

import base64
import math
import struct
import zlib
from html import escape

from . import forms
from .ranges import ticks
from .svg import line, picture, rectangle, text

CHARACTER = 7  # about its width in a label
WIDTH = 980  # of pictures that take the width of the page
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200)  # s


def shade(share):
    """Fill of a cell of a heat map: from paper to the first colour."""
    return f"fill-opacity:{max(0.0, min(1.0, share)):.3f}"


def stacked_bars(title, rows, phases, value_form=forms.seconds):
    """`rows`: (label, {phase: value}); `phases`: (phase, class)."""
    if not rows:
        return ""
    left, right, top, step = 110, 90, 40, 24
    longest = max(sum(values.values()) for _, values in rows) or 1
    scale = (WIDTH - left - right) / longest
    parts, x = [], left
    for phase, style in phases:
        parts += [rectangle(x, 8, 12, 12, f"bar {style}"), text(x + 18, 19, phase, "legend", "start")]
        x += 44 + 7.3 * len(phase)
    for index, (label, values) in enumerate(rows):
        y, x = top + index * step, left
        parts.append(text(left - 10, y + 14, label, "tick", "end"))
        for phase, style in phases:
            width = values.get(phase, 0) * scale
            if width > 0.05:
                share = values[phase] / (sum(values.values()) or 1)
                hint = f"{label}: {phase} {value_form(values[phase])}, {share:.1%}"
                parts.append(rectangle(x, y, width, step - 7, f"bar {style}", hint))
            x += width
        parts.append(text(x + 8, y + 14, value_form(sum(values.values())), "tick", "start"))
    return picture(WIDTH, top + len(rows) * step + 6, parts, title)


def heat_strip(title, columns, rows, shares, hints, x_label):
    """Cells without gaps: `shares[row][column]` from 0 to 1, None where there is none."""
    left, right, top, bottom = 110, 14, 8, 34
    height = max(8, min(26, 320 // max(1, len(rows))))
    width = (WIDTH - left - right) / max(1, len(columns))
    parts = []
    every = max(1, len(rows) * 14 // max(1, len(rows) * height))
    for r, label in enumerate(rows):
        y = top + r * height
        if r % every == 0 and height >= 12:
            parts.append(text(left - 10, y + height / 2 + 4.5, label, "tick", "end"))
        for c in range(len(columns)):
            if shares[r][c] is not None:
                parts.append(rectangle(left + c * width, y, width + 0.4, height - (height > 12),
                                       "heat", hints[r][c], shade(shares[r][c])))
    base = top + len(rows) * height
    for index in ticks(0, max(1, len(columns) - 1), 12, integer=True):
        if index < len(columns):
            parts.append(text(left + (index + 0.5) * width, base + 17, str(columns[index]), "tick"))
    parts.append(text(WIDTH - right, base + 32, x_label, "label", "end"))
    return picture(WIDTH, base + bottom + 4, parts, title)


def matrix(title, row_labels, column_labels, values, cell_form, hint, row_title, column_title,
           mark=None, value_title=""):
    """A heat map with its numbers in it. `values[r][c]`: (share 0 to 1, number) or None; `value_title`: what they are."""
    n, m = len(row_labels), len(column_labels)
    cell = max(17, min(50, 720 // max(n, m)))
    every = 1 if cell >= 24 else 5
    long = CHARACTER * max(map(len, column_labels), default=0)
    slanted = long > every * cell - 4
    # Titles are centred on the cells; what they are longer goes to all sides.
    beside = max(0, CHARACTER * len(column_title) - m * cell) / 2
    above = max(0, CHARACTER * len(row_title) - n * cell) / 2
    left = max(76 + CHARACTER * max(map(len, row_labels), default=1), math.ceil(beside))
    top = max(58 + math.ceil(0.64 * long - 9 if slanted else 0), math.ceil(above))
    parts = [text(left + m * cell / 2, 16, column_title, "label"),
             text(14, top + n * cell / 2, row_title, "label", "middle",
                  f' transform="rotate(-90 14 {top + n * cell / 2:.0f})"')]
    for c, label in enumerate(column_labels):
        x = left + (c + 0.5) * cell
        if c % every == 0 and slanted:
            parts.append(text(x, top - 9, label, "tick", "start", f' transform="rotate(-40 {x:.1f} {top - 9:.1f})"'))
        elif c % every == 0:
            parts.append(text(x, top - 9, label, "tick"))
    for r, label in enumerate(row_labels):
        if r % every == 0:
            parts.append(text(left - 9, top + (r + 0.5) * cell + 4.5, label, "tick", "end"))
        for c in range(m):
            if values[r][c] is None:
                continue
            share, value = values[r][c]
            style = "heat" + (" diagonal" if mark and mark(r, c) else "")
            parts.append(rectangle(left + c * cell + 1, top + r * cell + 1, cell - 2, cell - 2,
                                   style, hint(r, c), shade(share)))
            if cell >= 34 and value:
                parts.append(text(left + (c + 0.5) * cell, top + (r + 0.5) * cell + 4.5,
                                  cell_form(value), "in-cell" + (" on-dark" if share > 0.55 else "")))
    width = left + m * cell + max(10, math.ceil(beside), math.ceil(0.77 * long - cell / 2) + 10 if slanted else 0)
    height = top + n * cell + max(10, math.ceil(above))
    if value_title:
        width, height = max(width, CHARACTER * len(value_title) + 20), height + 22
        parts.append(text(10, height - 9, value_title, "label", "start"))
    return picture(width, height, parts, title,
                   f' style="max-width:{1.25 * width:.0f}px;min-width:{min(width, 520):.0f}px"')


def timeline(title, spans, points, length, gaps=()):
    """`spans`: (start, end, label, class, hint) of the time that the run ran; `points`: (time, kind,
    hint); kind "checkpoint" is a tick below the bar, others a flag above it. Seconds."""
    left, right, y, height = 24, 24, 54, 26
    scale = (WIDTH - left - right) / (length or 1)
    parts = []
    for start, end, label, style, hint in spans:
        x, width = left + start * scale, max(2, (end - start) * scale)
        parts.append(rectangle(x, y, width, height, f"span {style}", hint))
        if width > 7.5 * len(label):
            parts.append(text(x + 8, y + 17.5, label, "in-span", "start"))
    last = -100.0
    for time, kind, hint in points:
        x = left + time * scale
        if kind == "checkpoint":
            parts.append(f'<g class="tickmark"><title>{escape(hint)}</title>'
                         + line(x, y + height + 3, x, y + height + 13, "axis strong") + "</g>")
        else:
            parts.append(f'<g class="flag"><title>{escape(hint)}</title>'
                         + line(x, y - 16, x, y + height, "axis strong")
                         + (text(x, y - 22, kind, "tick") if x - last > 8 * len(kind) else "") + "</g>")
            last = x
    step = next((one for one in TIME_STEPS if one * 8 >= length), 86400 * math.ceil(length / 86400 / 8))
    for index in range(int((length or 1) / step) + 1):
        value = index * step
        parts.append(text(left + value * scale, y + height + 32, forms.whole_seconds(value) if value else "0",
                          "tick"))
    return picture(WIDTH, y + height + 42, parts, title)


def contact_sheet(title, images, is_small):
    """Of (PNG, caption, hint), row by row; small ones without their texts."""
    columns, tile, texts = (16, 48, 0) if is_small else (6, 128, 38)
    columns = min(columns, len(images))
    parts = []
    for index, (image, caption, hint) in enumerate(images):
        x, y = 12 + index % columns * (tile + 12), 12 + index // columns * (tile + texts + 12)
        data = base64.b64encode(image).decode()
        parts += [f'<image x="{x}" y="{y}" width="{tile}" height="{tile}" image-rendering="optimizeSpeed" '
                  f'href="data:image/png;base64,{data}"/>', rectangle(x, y, tile, tile, "frame")]
        if texts:
            parts += [text(x, y + tile + 15, fitting(caption, tile), "", "start"),
                      text(x, y + tile + 31, fitting(hint, tile), "tick", "start")]
    rows = math.ceil(len(images) / columns)
    return picture(12 + columns * (tile + 12), 12 + rows * (tile + texts + 12), parts, title)


def fitting(words, width):
    most = int(width / CHARACTER)
    return words if len(words) <= most else words[:most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def png(rows):
    """Grey or RGB bytes as a PNG: `rows` of numbers 0 to 255, or of triples of them."""
    is_grey = not hasattr(rows[0][0], "__len__")
    raw = b"".join(b"\0" + (bytes(row) if is_grey else bytes(c for pixel in row for c in pixel))
                   for row in rows)

    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0 if is_grey else 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 9))
            + chunk(b"IEND", b""))


LOW, MIDDLE, HIGH = (33, 92, 138), (245, 243, 238), (186, 79, 22)  # negative, zero, positive


def signed_colour(share):
    """Of a number from -1 to 1."""
    share = max(-1.0, min(1.0, share))
    end = HIGH if share > 0 else LOW
    return tuple(round(m + (e - m) * abs(share)) for m, e in zip(MIDDLE, end))
