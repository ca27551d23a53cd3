#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shellcheck finds nothing in the shell scripts (those with a shell's #! line, or *.sh) and what
they source."""
import re
import shutil
import subprocess
import sys

import tree

SHELL = re.compile(r"#! ?(/usr)?/bin/(env )?(ba|da)?sh\b")


def shell_scripts(root):
    for path in tree.files(root):
        text = tree.text(root, path)
        if text is not None and (SHELL.match(text) or path.suffix == ".sh"):
            yield str(path)


def check(root):
    if not shutil.which("shellcheck"):
        print("skipped: no shellcheck")
        sys.exit(77)
    scripts = list(shell_scripts(root))
    if not scripts:
        return []
    result = subprocess.run(["shellcheck", "--external-sources", "--check-sourced", "--format=gcc",
                             *scripts], cwd=root, capture_output=True, text=True, check=False)
    return result.stdout.splitlines() + result.stderr.splitlines()


if __name__ == "__main__":
    tree.run(check, __doc__)
