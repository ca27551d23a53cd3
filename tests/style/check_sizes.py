#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No file is longer than 500 lines (tests 600), no room's CMakeLists.txt longer than 60."""
import tree

CODE = {".hpp", ".cpp", ".cu", ".py", ".sh", ".cmake", ".txt", ".sbatch", ""}


def limit(path):
    if path.name == "CMakeLists.txt":
        return 60
    if path.suffix not in CODE or path.name == "LICENSE":
        return None
    return 600 if path.parts[0] == "tests" else 500


def check(root):
    offences = []
    for path in tree.files(root):
        most = limit(path)
        text = tree.text(root, path) if most else None
        if text is not None and text.count("\n") > most:
            offences.append(f"{path}: {text.count(chr(10))} lines, at most {most} allowed")
    return offences


if __name__ == "__main__":
    tree.run(check, __doc__)
