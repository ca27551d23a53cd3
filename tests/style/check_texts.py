#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Licence lines, programs that can be called, no names of machines or package registries, documents that stay true (no diary), one word
for one thing, and links that lead somewhere."""
import os
import re

import tree

SPDX = "SPDX-License-Identifier: Apache-2.0"
# Written apart, so that this file does not offend itself.
HOSTS = ("deb." + "debian.org", "security." + "debian.org", "snapshot." + "debian.org",
         "archive." + "ubuntu.com", "pypi." + "org", "files." + "pythonhosted.org",
         "registry." + "npmjs.org", "conda." + "anaconda.org", "proxy." + "golang.org")
# Somebody's home. Documents say /home/you.
MACHINE_PATH = re.compile(r"(?<![\w./}])/(?:root|(?:home|Users)/(?!you\b)\w+)(?:/|\b)")
# A document says what is so, with commit and processor; when it was written is git's to know.
DIARY = re.compile(r"\b(?:today|yesterday|so\s+far|at\s+hand|this\s+(?:x86-64\s+)?machine|this\s+(?:Zen|Xeon|EPYC)"
                   r"|another\s+hour|of\s+ours|for\s+the\s+moment|currently|nowadays|at\s+present|recently"
                   r"|(?:version|build)\s+(?:from\s+)?before|last\s+changes)\b", re.IGNORECASE)
# One word for one thing: documents say image. (A report calls its charts pictures.)
OTHER_WORDS = re.compile(r"\bpictures?\b", re.IGNORECASE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)


SOURCES = {".hpp", ".cpp", ".cu", ".py", ".sh", ".cmake", ".yaml", ".yml", ".toml", ".cff"}


def needs_licence(path, text):
    return (path.suffix in SOURCES or path.name in ("CMakeLists.txt", ".clang-format", ".clang-tidy")
            or path.name.endswith(".cmake.in") or text.startswith("#!"))


def licence(path, text):
    first_is_taken = text.startswith(("#!", "# shellcheck"))
    head = text.split("\n", 2)[:2] if first_is_taken else text.split("\n", 1)[:1]
    if needs_licence(path, text) and not any(SPDX in line for line in head):
        yield f"{path}: no line '{SPDX}' at its top"


def executable(root, path, text):
    """Documents call these by their names."""
    if (text.startswith("#!") and path.suffix != ".sbatch" and path.parts[0] in ("benchmarks", "jobs", "scripts")
            and not os.access(root / path, os.X_OK)):
        yield f"{path}: begins with '#!' and is not executable (git update-index --chmod=+x)"


def names(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for host in HOSTS:
            if host in line:
                yield f"{path}:{number}: names the registry host {host}"
        found = MACHINE_PATH.search(line)
        if found:
            yield f"{path}:{number}: names a path of one machine, {found[0]}"


def diary(path, text):
    for found in DIARY.finditer(text):
        number = text.count("\n", 0, found.start()) + 1
        yield f"{path}:{number}: '{' '.join(found[0].split())}' is of a diary: name the commit, the processor, the command"


def anchors(text):
    """GitHub's anchors of a document's headings."""
    plain = (re.sub(r"[`*]", "", title).lower() for title in HEADING.findall(FENCED.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def other_words(path, text):
    for found in OTHER_WORDS.finditer(text):
        number = text.count("\n", 0, found.start()) + 1
        yield f"{path}:{number}: '{found[0]}', expected the documents' word: image"


def links(root, path, text):
    for found in LINK.finditer(FENCED.sub("", text)):
        target = found[1] or found[2]
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        aim = (root / path).parent / name if name else root / path
        if not aim.exists():
            yield f"{path}: link to '{target}', which is not there"
        elif anchor and aim.suffix == ".md" and anchor not in anchors(aim.read_text("utf-8")):
            yield f"{path}: link to '{target}', which has no such heading"


def check(root):
    offences = []
    for path in tree.files(root):
        text = tree.text(root, path)
        if text is None or path.name in ("LICENSE", "NOTICE"):
            continue
        offences += licence(path, text)
        offences += executable(root, path, text)
        offences += names(path, text)
        if path.parts[0] in ("src", "docs", "jobs", "README.md"):
            offences += other_words(path, text)
        if path.suffix == ".md":
            offences += diary(path, text)
            offences += links(root, path, text)
    return offences


if __name__ == "__main__":
    tree.run(check, __doc__)
