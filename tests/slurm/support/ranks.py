# SPDX-License-Identifier: Apache-2.0
"""The ranks of a run as processes of this machine: found, stopped and killed without a word to Slurm."""
import os
from pathlib import Path


def _read(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().split(b"\0")
    except OSError:
        return []


def _is_rank(pid, run):
    words = _read(pid, "cmdline")
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False
    return program.startswith("quern") and b"train" in words and os.fsencode(run) in words


def find(run):
    """Process ids of the ranks that train in this folder, in the order of their ranks."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and _is_rank(name, run)]
    return sorted(pids, key=lambda pid: variable(pid, "SLURM_PROCID"))


def send(pids, number):
    """Those that have ended meanwhile do not count; how many got it."""
    reached = 0
    for pid in pids:
        try:
            os.kill(pid, number)
            reached += 1
        except ProcessLookupError:
            pass
    return reached


def variable(pid, name):
    """Of the process's environment; an empty text where it has none."""
    found = [word for word in _read(pid, "environ") if word.startswith(os.fsencode(name) + b"=")]
    return os.fsdecode(found[0].split(b"=", 1)[1]) if found else ""


def parent(pid):
    """Of a rank it is the slurmstepd of its node."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("PPid:"):
            return int(line.split()[1])
    raise ProcessLookupError(pid)
