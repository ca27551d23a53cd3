#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Headers that a vendor's toolkit may lack: which of them are there, and new enough."""
import re
import subprocess

OLDEST_NCCL = 2, 20  # as in cmake/QuernNccl.cmake; RCCL's header has NCCL's numbers


def macros(command, header):
    """{name: value} of what the header defines, None where it is not found."""
    result = subprocess.run([*command, "-include", header, "/dev/null"], capture_output=True, text=True,
                            check=False)
    return dict(re.findall(r"#define (\w+) (.*)", result.stdout)) if result.returncode == 0 else None


def is_new_enough(defined):
    """Takes what macros() gives for the header of NCCL or RCCL."""
    return defined is not None and tuple(
        int(defined.get(f"NCCL_{part}", 0)) for part in ("MAJOR", "MINOR")) >= OLDEST_NCCL
