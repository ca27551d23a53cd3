#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/api.md names the headers of src/public_headers.txt, each once. These, and what
they include, want the standard library, Kokkos and POSIX and nothing else, and come from no folder of
kernels, transports, sums over ranks, measurements or the program. Examples and docs include no others."""
import re

import tree

LIST = "src/public_headers.txt"
API = "docs/api.md"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
ROW = re.compile(r"^\|([^|]*)\|", re.MULTILINE)
NAME = re.compile(r"`([a-z_]+/[a-z0-9_/]+\.hpp)`")
OF_QUERN = re.compile(r"<quern/([a-z_0-9/]+\.hpp)>")
STANDARD = re.compile(r"^([a-z_]+|unistd\.h|sched\.h|sys/types\.h|Kokkos_\w+\.hpp)$")
PRIVATE = re.compile(r"^(app|bench|cpu|parallel|plan)/|/(host|device|cublas|mpi|nccl|serial)/")


def public_headers(root):
    """The headers of the list, in its order."""
    lines = (root / LIST).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def check_headers(root, names):
    """The named headers and whatever they include."""
    ways = {name: name for name in names}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        path = root / "src" / name
        if not path.is_file():
            yield f"{LIST}: {ways[name]} is no file of src/"
            continue
        if PRIVATE.search(name):
            yield f"{LIST}: {ways[name]} is private, as all of its folder is"
        for quote, included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if quote == '"' and included not in ways:
                ways[included] = f"{ways[name]} -> {included}"
                waiting.append(included)
            elif quote == "<" and not STANDARD.match(included):
                yield f"{LIST}: {ways[name]} includes <{included}>, which users need not have"


def check_users(root, names):
    for path in tree.files(root):
        if path.parts[0] not in ("docs", "examples") and path.name != "README.md":
            continue
        for name in OF_QUERN.findall(tree.text(root, path) or ""):
            if name not in names:
                yield f"{path}: <quern/{name}> is not in {LIST}"


def check(root):
    names = public_headers(root)
    told = [name for row in ROW.findall((root / API).read_text(encoding="utf-8"))
            for name in NAME.findall(row)]
    offences = [f"{LIST}: {name} stands there twice" for name in set(names) if names.count(name) > 1]
    offences += [f"{API}: the table does not name {name} of {LIST}" for name in names if name not in told]
    offences += [f"{API}: the table names {name}, which is not in {LIST}"
                 for name in dict.fromkeys(told) if name not in names or told.count(name) > 1]
    if names != sorted(names):
        offences.append(f"{LIST}: the headers are not in order")
    return offences + list(check_headers(root, dict.fromkeys(names))) + list(check_users(root, names))


if __name__ == "__main__":
    tree.run(check, __doc__)
