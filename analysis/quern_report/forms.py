# SPDX-License-Identifier: Apache-2.0
"""Numbers and names as people read them. Each that takes a number takes None for "there is none"."""

import os.path
import unicodedata

NONE = "\N{EN DASH}"


def form(value, pattern="{:.4f}", factor=1):
    return NONE if value is None else pattern.format(factor * value)


def percent(share, digits=2):
    return form(share, f"{{:.{digits}f}} %", 100)


def significant(value, digits=4):
    """With zeros at the end, so that columns of numbers stand below each other."""
    return form(value, f"{{:#.{digits}g}}").rstrip(".")


def count(value):
    """With thin spaces between thousands."""
    return NONE if value is None else f"{round(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def short(value):
    """For axes: 1.2 k, 3 M; small numbers as they are."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if unit == ' k' else limit):.4g}{unit}"
    return f"{value:.4g}"


def seconds(value):
    if value is None:
        return NONE
    if value == 0:
        return "0 s"
    if value < 1e-3:
        return f"{significant(1e6 * value, 3)} µs"
    if value < 1:
        return f"{significant(1e3 * value, 3)} ms"
    if value < 60:
        return f"{significant(value, 3)} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02} h"


def whole_seconds(value):
    """Of a time that is known to the second."""
    if value < 1:
        return "< 1 s"
    return f"{round(value)} s" if round(value) < 60 else seconds(round(value))


def size(value):
    if value is None:
        return NONE
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return NONE


def plural(number, word, words=None):
    return f"{count(number)} {word if number == 1 else words or word + 's'}"


def unlike(text, others):
    """`text`, or with a number behind it what none of `others` is."""
    found, number = text, 1
    while found in others:
        number += 1
        found = f"{text}-{number}"
    return found


def spans(numbers):
    """`1, 4 to 6` of rising whole numbers."""
    found = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in found)


def listed(texts, most):
    """`a, b and 3 more`: no more than `most` of them."""
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def columns(text):
    """Its width in letters: those of Chinese, Japanese and Korean are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def shortened(text, most):
    """In at most so many columns: without its middle, as paths differ at both ends."""
    if columns(text) <= most:
        return text
    begin, end, half = text, text, max(0, (most - 3) // 2)
    while columns(begin) > half:
        begin = begin[:-1]
    while columns(end) > half:
        end = end[1:]
    return f"{begin}...{end}"


def apart(texts, most):
    """The texts, each shortened, no two alike. Those that differ in the middle lose the beginning that they share, and what
    still reads the same gets a number."""
    short = {text: shortened(text, most) for text in texts}
    alike = [text for text in short if list(short.values()).count(short[text]) > 1]
    begin = len(os.path.commonprefix(alike))
    short.update((text, shortened(f"...{text[begin:]}", most)) for text in alike)
    found = []
    for text in texts:
        label, number = short[text], 1
        while label in found:
            number += 1
            label = f"{shortened(short[text], most - len(f' ({number})'))} ({number})"
        found.append(label)
    return found
