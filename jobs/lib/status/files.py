# SPDX-License-Identifier: Apache-2.0
"""Reads what jobs write while they write it: files that are missing, half-written, huge, or no files at all give
nothing or less, and never an error or an endless wait."""

import json
import os
import re
import stat

WINDOW = 1 << 16  # bytes of a large file that are looked at, at its end or its beginning
RECORDS = 1 << 18  # the same of a file of records
MOST_RECORDS = 1 << 24


def read(path, window=WINDOW, end=False):
    """The beginning or the end of a plain file as text; empty for anything else."""
    try:
        descriptor = os.open(str(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return ""
        if end and facts.st_size > window:
            os.lseek(descriptor, facts.st_size - window, os.SEEK_SET)
        data = b""
        while len(data) < window:
            part = os.read(descriptor, window - len(data))
            if not part:
                break
            data += part
        return data.decode("utf-8", errors="replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def exists(path):
    try:
        return os.path.lexists(str(path))
    except (OSError, ValueError):
        return False


def age(path, now):
    """Seconds since it was written; None without it."""
    try:
        return max(0.0, now - os.stat(str(path)).st_mtime)
    except (OSError, ValueError):
        return None


def names(folder, pattern):
    """Names in a folder that match, sorted; none where there is no folder."""
    try:
        return sorted(name for name in os.listdir(str(folder)) if re.match(pattern, name))
    except (OSError, ValueError):
        return []


def size(path):
    try:
        return os.stat(str(path)).st_size
    except (OSError, ValueError):
        return 0


def records(path, enough=lambda found: True):
    """The JSON objects of the end of a file of one a line; more of it, within limits, until there are `enough`: a line
    may hold figures of thousands of ranks. A line that is torn, or is no object, is left out."""
    window = RECORDS
    while True:
        found = objects(read(path, window, end=True).split("\n"))
        if enough(found) or window >= min(size(path), MOST_RECORDS):
            return found
        window *= 4


def objects(lines):
    found = []
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def number(value, least=None):
    """A finite number, or None. JSON of others may hold anything."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if value != value or abs(value) > 1e300 or (least is not None and value < least):
        return None
    return value


def whole(value, least=0):
    found = number(value, least)
    return int(found) if found is not None else None


def printable(text):
    """Nothing that a terminal would obey: a log may hold anything. Of a line that a progress bar wrote over, its
    last state."""
    text = re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?", "", text)
    text = text.rstrip("\r").rsplit("\r", 1)[-1].replace("\t", "    ")
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def last_lines(path, count):
    """Of a log, without empty ones."""
    lines = [printable(line).rstrip() for line in read(path, end=True).split("\n")]
    return [line for line in lines if line][-count:] if count > 0 else []
