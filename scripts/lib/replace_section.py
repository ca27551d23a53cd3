#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""replace_section.py FILE NAME: puts standard input between the lines <!-- NAME: begin --> and
<!-- NAME: end --> of FILE, in place of what is there."""
import pathlib
import re
import sys


def replaced(text, name, content):
    """`text` with a new section; ValueError when it has no such section."""
    pattern = re.compile(rf"(<!-- {re.escape(name)}: begin -->\n).*?(<!-- {re.escape(name)}: end -->)",
                         re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no lines '<!-- {name}: begin -->' and '<!-- {name}: end -->'")
    return pattern.sub(lambda found: found[1] + content.rstrip("\n") + "\n" + found[2], text)


def main(words):
    path, name = pathlib.Path(words[0]), words[1]
    try:
        path.write_text(replaced(path.read_text(), name, sys.stdin.read()))
    except (OSError, ValueError) as error:
        print(f"replace_section: {path}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
