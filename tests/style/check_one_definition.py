#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each type of src/ has one definition: no class, structure, union or enumeration has the name of
one of the same namespace in another file. Two of them in one program are undefined behaviour that
neither compiler nor linker sees: a function may get the other one's destructor.

What is in an unnamed namespace is its file's own; check_joined.py looks at it. Namespaces and types
begin in the first column.
"""
import re

import tree

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
OPENED = re.compile(r"(?:inline )?namespace ?([\w:]*) \{$")
CLOSED = re.compile(r"\}  // namespace\b")
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|union|enum(?: class)?) (?:[A-Z_]+ |alignas\([^)]*\) )*(\w+)"
                  r"(?: final)?(?: : [^;{]*)?(?: \{|$)")


def types(text):
    """The qualified name of each type that the file defines outside of unnamed namespaces."""
    around = []
    for line in text.splitlines():
        if CLOSED.match(line):
            around.pop()
            continue
        line = COMMENT.sub("", line).rstrip()
        if opened := OPENED.match(line):
            around.append(opened[1])
        elif (found := TYPE.match(line)) and all(around):
            yield "::".join([*around, found[1]])


def check(root):
    offences, seen = [], {}
    for path in tree.cpp_files(root, "src"):
        for name in dict.fromkeys(types(tree.text(root, path))):
            first = seen.setdefault(name, path)
            if first != path:
                offences.append(f"{path}: {name} is also defined in {first} (expected a name of its own: rename it)")
    return offences


if __name__ == "__main__":
    tree.run(check, __doc__)
