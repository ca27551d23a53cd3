# SPDX-License-Identifier: Apache-2.0
"""Finds what a document tells its readers to type: commands in blocks of code, and in the text."""
import re
import shlex
from typing import NamedTuple

FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)(?:(?: {4}[^\n]*)?\n)+", re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
PROGRAM = re.compile(r"(?:quern|ctest|cmake|(?:\./|build/\w[\w-]*/bin/)?quern"
                     r"|(?:\./)?(?:jobs|scripts|analysis|benchmarks|tests)/[\w./-]+)$")
# What stands before the program: variables, launchers, interpreters.
ASSIGNMENT = re.compile(r"[A-Z_][A-Z0-9_]*=")
LAUNCHERS = ("mpirun", "mpiexec", "srun", "sudo", "exec", "time", "nohup")
INTERPRETERS = re.compile(r"(?:[\w./-]*/)?python3?$|bash$")


class Command(NamedTuple):
    where: str  # document:line
    words: list  # from the program on
    whole: bool  # a line of a block, not a mention in the text

    @property
    def program(self):
        return re.sub(r"^\./", "", self.words[0])

    def __str__(self):
        return f"{self.where}: {' '.join(self.words)}"


def split_words(line):
    """The words of a line of shell up to its comment; None where it is not one."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();&|<>")
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None


def simple_commands(words):
    """The parts between ; && | and parentheses, redirections left out."""
    part, skip = [], False
    for word in words:
        if word and set(word) <= set("();&|"):
            yield part
            part = []
        elif word and set(word) <= set("<>") or skip:
            skip = not skip and bool(set(word) <= set("<>"))
        else:
            part.append(word)
    yield part


def without_prefix(words):
    """From the program on; [] where none of ours is called."""
    words = list(words)
    while words and (ASSIGNMENT.match(words[0]) or words[0] in ("then", "do", "$")):
        words.pop(0)
    if words and words[0] in LAUNCHERS:
        own = [place for place, word in enumerate(words) if PROGRAM.match(word)]
        words = words[own[0]:] if own else []
    elif words and INTERPRETERS.match(words[0]):
        words.pop(0)
    return words if words and PROGRAM.match(words[0]) else []


def in_lines(where, first_line, text, whole):
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        start, line = number, lines[number].strip()
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line[:-1] + " " + lines[number].strip()
        number += 1
        line = re.sub(r"^\$ ", "", line)
        for part in simple_commands(split_words(line) or []):
            words = without_prefix(part)
            if words:
                yield Command(f"{where}:{first_line + start}", words, whole)


def commands(where, text):
    """All commands of a Markdown document that call a program of this repository, cmake or ctest."""
    def line_of(place):
        return text.count("\n", 0, place) + 1

    rest = text
    for found in FENCED.finditer(text):
        if found[1] in ("", "sh", "bash", "console"):
            yield from in_lines(where, line_of(found.start(2)), found[2], True)
        rest = rest.replace(found[0], "\n" * found[0].count("\n"), 1)
    for found in INDENTED.finditer(rest):
        yield from in_lines(where, rest.count("\n", 0, found.start()) + 1, found[0], True)
    for found in INLINE.finditer(rest):
        line = rest.count("\n", 0, found.start()) + 1
        yield from in_lines(where, line, " ".join(found[1].split()), False)


def paths(text):
    """Files of the repository that the text names in code spans."""
    fenceless = FENCED.sub("", text)
    for found in INLINE.finditer(fenceless):
        name = found[1]
        if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+\.(?:hpp|cpp|py|sh|toml|md|env|sbatch|txt|cmake)", name):
            yield name
