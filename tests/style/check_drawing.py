#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The drawing of the rooms in docs/architecture.md is that of src/rooms.txt. With QUERN_UPDATE_DOCS=1
in the environment it is written anew."""
import os

import rooms
import tree

PAGE = "docs/architecture.md"
BEGIN = "<!-- Drawn from src/rooms.txt by tests/style/check_drawing.py -->\n```\n"
END = "```\n<!-- End of the drawing -->\n"


def check(root):
    read = rooms.Rooms((root / rooms.FILE).read_text(encoding="utf-8"))
    if read.mistakes:
        return read.mistakes
    page = (root / PAGE).read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return [f"{PAGE}: no place for the drawing (expected the lines {(BEGIN + END).splitlines()})"]
    wanted = before + BEGIN + read.drawing() + END + after
    if os.environ.get("QUERN_UPDATE_DOCS"):
        (root / PAGE).write_text(wanted, encoding="utf-8")
    elif page != wanted:
        return [f"{PAGE}: the drawing parts from {rooms.FILE} (QUERN_UPDATE_DOCS=1 in the environment "
                "of this check, ctest -R style.drawing, writes it anew)"]
    return []


if __name__ == "__main__":
    tree.run(check, __doc__)
