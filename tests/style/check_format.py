#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-format would change no C++ file. Versions of clang-format differ in small things, so only
the one that the tree is formatted with is asked; with another the check is skipped (status 77)."""
import re
import shutil
import subprocess
import sys

import tree

VERSION = "14"


def find_clang_format():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
            if re.search(rf"version {VERSION}\.", said.stdout):
                return program
    return None


def check(root):
    program = find_clang_format()
    if not program:
        print(f"skipped: no clang-format {VERSION}")
        sys.exit(77)
    names = [str(path) for path in tree.cpp_files(root)]
    if not names:
        return []
    result = subprocess.run([program, "--dry-run", "--Werror", "--style=file", *names], cwd=root,
                            capture_output=True, text=True, check=False)
    found = sorted({line.split(": error:")[0] for line in result.stderr.splitlines()
                    if ": error:" in line})
    if result.returncode and not found:
        found = [result.stderr]
    return [f"{where}: clang-format -i would change this" for where in found]


if __name__ == "__main__":
    tree.run(check, __doc__)
