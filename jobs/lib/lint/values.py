# SPDX-License-Identifier: Apache-2.0
"""What the values of options mean: times, memory, counts."""

import re

UNITS = {"": 1, "K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}


def seconds_of(time):
    """Seconds of a time of Slurm's: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S; None for what is none."""
    found = re.match(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$", time)
    if not found:
        return None
    days, first, second, third = (int(part) if part else None for part in found.groups())
    if days is not None:
        return ((days * 24 + first) * 60 + (second or 0)) * 60 + (third or 0)
    if second is None:
        return first * 60
    if third is None:
        return first * 60 + second
    return (first * 60 + second) * 60 + third


def megabytes_of(memory):
    """Megabytes of a size of Slurm's, such as 4000, 64G or 64GB; None for what is none."""
    found = re.match(r"(\d+)([KMGTkmgt]?)[Bb]?$", memory)
    return int(found.group(1)) * UNITS[found.group(2).upper()] if found else None


def number_of(text):
    """A plain number, or None."""
    return int(text) if re.match(r"\d+$", text or "") else None


def last_number(text):
    """4 of gpu:a100:4, of a100:4 and of 4; None without any."""
    found = re.search(r"(?:^|:)(\d+)$", text or "")
    return int(found.group(1)) if found else None


def gpus_of_gres(gres):
    """GPUs that a --gres value asks for on each node; None without any."""
    found = re.search(r"(?:^|,)gpu(?!\w)((?::[\w.-]+)*)", gres or "")
    return (last_number(found.group(1)) or 1) if found else None
