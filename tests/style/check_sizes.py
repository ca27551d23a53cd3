#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No file is longer than 500 lines (tests 600), no header of src/ with its source longer than 500,
no room's CMakeLists.txt longer than 60."""
import tree

CODE = {".hpp", ".cpp", ".cu", ".py", ".sh", ".cmake", ".txt", ".sbatch", ""}
MOST = 500
MOST_OF_TEST = 600
MOST_OF_CMAKE = 60


def limit(path):
    if path.name == "CMakeLists.txt":
        return MOST_OF_CMAKE
    if path.suffix not in CODE or path.name == "LICENSE":
        return None
    return MOST_OF_TEST if path.parts[0] == "tests" else MOST


def check(root):
    offences = []
    lines = {}
    for path in tree.files(root):
        text = tree.text(root, path) if limit(path) else None
        if text is None:
            continue
        lines[path] = text.count("\n")
        if lines[path] > limit(path):
            offences.append(f"{path}: {lines[path]} lines, at most {limit(path)} allowed")
    for header, count in lines.items():
        source = header.with_suffix(".cpp")
        if header.parts[0] != "src" or header.suffix != ".hpp" or source not in lines:
            continue
        both = count + lines[source]
        if both > MOST:
            offences.append(f"{header} and {source.name}: {both} lines together, "
                            f"at most {MOST} allowed")
    return offences


if __name__ == "__main__":
    tree.run(check, __doc__)
