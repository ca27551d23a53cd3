# SPDX-License-Identifier: Apache-2.0
"""How #SBATCH lines are written: what Slurm does not read, refuses, or takes for something else."""

import difflib
import re

from .options import BATCH_OPTIONS, FLAGS, full_name, nearest
from .script import Finding
from .values import megabytes_of, seconds_of

# What word processors and web pages put in the place of - ' " and blanks.
TYPOGRAPHIC = {"\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "--", "\u2212": "-", "\u2018": "'",
               "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"', "\u00a0": "a blank",
               "\u200b": "nothing", "\u2026": "..."}
NOT_FILLED = re.compile(r"<[^<>]*>|X{4,}|\b[A-Za-z]+_\d*X{2,}|\b(YOUR|your)[-_ ]?\w+|CHANGE[-_]?ME|\bTODO\b|\bFIXME\b|"
                        r"PLACEHOLDER|\{\{.*\}\}|@[A-Z][A-Z_]+@|\.\.\.$|\bmy_?(account|project|partition)\b", re.IGNORECASE)
PLACEHOLDER_IN_COMMAND = re.compile(r"(^|[\s=/_\"'])<[A-Za-z][\w .-]*>(?=$|[\s/\"'])|(?<![\w.])/path/to/|CHANGE_?ME|"
                                    r"\b(YOUR|your)_\w+|\{\{\s*\w+\s*\}\}")
WHOLE = re.compile(r"[1-9]\d*$")
VALUES = {
    "time": (lambda value: seconds_of(value) is not None or value.upper() in ("UNLIMITED", "INFINITE"),
             "minutes, HH:MM:SS or D-HH:MM:SS"),
    "signal": (re.compile(r"([BR]{1,2}:)?(SIG)?(USR[12]|TERM|INT|HUP|QUIT|ABRT|ALRM|CONT|STOP|TSTP|URG|XCPU|KILL|\d+)(@\d+)?$").match,
               "[B:]USR1@SECONDS"),
    "nodes": (re.compile(r"[1-9]\d*[km]?([-,:][1-9]\d*[km]?)*$").match, "a number, or FIRST-LAST"),
    "array": (re.compile(r"\d+(-\d+(:\d+)?)?(,\d+(-\d+(:\d+)?)?)*(%\d*)?$").match, "such as 0-9, 1,3,5 or 0-99%4"),
    "gres": (lambda value: not re.search(r"(^|,)(gpus\b|gpu=)", value), "gpu:COUNT or gpu:TYPE:COUNT"),
}
for _name in ("ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "ntasks-per-core", "threads-per-core"):
    VALUES[_name] = (WHOLE.match, "a number from 1 on")
for _name in ("mem", "mem-per-cpu", "mem-per-gpu"):
    VALUES[_name] = (lambda value: megabytes_of(value) is not None, "a number with K, M, G or T, such as 64G")


def typographic_in(text):
    return sorted(set(text) & set(TYPOGRAPHIC))


def not_expanded(script):
    for directive in script.directives:
        found = re.search(r"\$\{?\w+\}?|`|\$\(", " ".join(directive.words))
        if found:
            yield Finding(directive.number, "variable-in-directive", "'{}' is not expanded".format(found.group()),
                          "to the shell an #SBATCH line is a comment, and Slurm knows no variables",
                          "write the value, use %j, %x, %u, or give it to sbatch: sbatch --name=\"$VALUE\"")


def not_read(script):
    for directive in script.late:
        yield Finding(directive.number, "directive-after-command", "'#SBATCH {}' is not read".format(directive.text),
                      "Slurm stops reading at the first command",
                      "move it up, before line {}".format(script.first))
    for number, line in enumerate(script.lines, 1):
        if number not in script.document_lines and _is_nearly_read(line):
            yield Finding(number, "not-a-directive", "this line is a comment",
                          "only lines that begin with #SBATCH, in capitals, are read",
                          "write #SBATCH at the line's start")


def _is_nearly_read(line):
    found = re.match(r"(\s*)#(\s*)([A-Za-z]{5,8})\s*--?\w", line)
    if not found or found.groups() == ("", "", "SBATCH"):
        return False
    _, between, word = found.groups()
    if between and word != word.upper():
        return False  # a comment that tells how the script is submitted: # sbatch --array=...
    return difflib.SequenceMatcher(None, word.upper(), "SBATCH").ratio() > 0.8


def first_line(script):
    if not script.lines[0].startswith("#!"):
        yield Finding(1, "no-interpreter", "the first line names no shell",
                      "sbatch refuses a script without it", "#!/bin/bash")
    if "\r" in script.text:
        yield Finding(1, "windows-line-ends", "the lines end in CR LF",
                      "the shell's name and every option then end in an invisible character",
                      "sed -i 's/\\r$//' FILE")


def unknown_options(script):
    for part in script.parts:
        for option in part.all:
            if option.name in BATCH_OPTIONS or option.name.startswith("-") and len(option.name) == 1:
                continue
            if typographic_in(option.name) or full_name(option.name):
                continue
            meant = nearest(re.split("[:=]", option.name)[0])
            yield Finding(option.line, "unknown-option", "sbatch has no option --{}".format(option.name),
                          "it refuses the whole script", "--{}".format(meant) if meant else "see man sbatch")


def stray_words(script):
    for directive, word, before in script.stray:
        if typographic_in(directive.text) or NOT_FILLED.search(directive.text):
            continue
        name = word.partition("=")[0]
        if before and before.value == "=" or word.startswith("="):
            text, fix = "a blank beside '='", "--{}={}".format(before.name if before else "NAME", word.lstrip("="))
        elif "=" in word and full_name(name):
            text, fix = "'{}' has no dashes".format(word), "--" + word
        elif before and before.value:
            text = "'{}' is a word of its own after a blank".format(word)
            fix = "no blank in the value: --{}={}{}".format(before.name, before.value, word)
        else:
            text, fix = "'{}' is no option".format(word), "leave it out, or write it as --name=value"
        yield Finding(directive.number, "stray-word", text, "sbatch refuses the whole script", fix)


def one_dash(script):
    for directive in script.directives:
        for word in directive.words:
            found = re.match(r"-([a-z][a-z-]+)(=|$)", word)
            if found and full_name(found.group(1)):
                yield Finding(directive.number, "one-dash", "'{}' begins with one dash".format(word),
                              "Slurm reads it as -{} with the value {}".format(word[1], word[2:]), "-" + word)


def open_quotes(script):
    for directive in script.directives:
        if directive.quote:
            yield Finding(directive.number, "unmatched-quote", "the quote {} is not closed".format(directive.quote),
                          "sbatch refuses the whole script", "close it, or leave quotes out")
    for line, what in script.open[:1]:
        name = "unmatched-quote" if what in "'\"`" else "never-closed"
        yield Finding(line, name, "{} is not closed".format(what),
                      "everything to the end of the file belongs to it, and the shell stops there", "close it")


def bad_values(script):
    for part in script.parts:
        for option in part.all:
            value = option.value
            if value == "=" or "$" in value or "`" in value or typographic_in(value) or NOT_FILLED.search(value):
                continue
            if value.startswith("="):
                expected = "no = after a short option"
            elif option.name in FLAGS:
                expected = "no value" if value else ""
            elif option.name in VALUES and not VALUES[option.name][0](value):
                expected = VALUES[option.name][1]
            else:
                expected = ""
            if expected:
                yield Finding(option.line, "bad-value", "--{}: '{}' is no value for it".format(option.name, value),
                              "sbatch refuses it, or takes it for something else", expected + " was expected")


def given_twice(script):
    for part in script.parts:
        seen = {}
        for option in part.all:
            if option.name in seen and seen[option.name].value != option.value and option.value != "=":
                yield Finding(option.line, "option-twice", "--{} is there twice, {} and {}".format(
                    option.name, seen[option.name].value, option.value), "the last one counts", "one of them")
            seen[option.name] = option


def typographic(script):
    for directive in script.directives:
        found = typographic_in(" ".join(directive.words))
        if found:
            yield _typographic(directive.number, found)
    for command in script.commands:
        for word in command.words:
            found = typographic_in(word.bare)
            if found:
                yield _typographic(word.line, found)
                break


def _typographic(line, found):
    return Finding(line, "typographic", "the character {} (U+{:04X})".format(
        found[0] if found[0].strip("\u00a0\u200b") else "you do not see", ord(found[0])),
        "it looks like the plain one, and neither Slurm nor the shell takes it for that",
        "write {}".format(TYPOGRAPHIC[found[0]]))


def placeholders(script):
    for directive in script.directives:
        found = NOT_FILLED.search(" ".join(directive.words))
        if found:
            yield _placeholder(directive.number, found.group())
    for command in script.commands:
        if command.name in ("echo", "printf", "mktemp"):
            continue
        # "<file>" was read as two redirections, so the lines are looked at as they are.
        last = max([word.line for word in command.words] + [word.line for _, word in command.redirected])
        for number in range(command.line, last + 1):
            found = PLACEHOLDER_IN_COMMAND.search("".join(script.lines[number - 1:number]))
            if found:
                yield _placeholder(number, found.group().strip())


def _placeholder(line, text):
    return Finding(line, "placeholder", "'{}' looks like a place to fill in".format(text),
                   "an example's words are no account, file or program here", "write your own")


def tilde(script):
    for name in ("--output", "--error", "--input", "--chdir"):
        found = script.option(name)
        if found and found.value.startswith("~"):
            yield Finding(found.line, "tilde-in-path", "~ in {} is not expanded".format(name),
                          "to the shell an #SBATCH line is a comment: Slurm looks for a folder named ~",
                          "the whole path, or one that is relative to the folder of submission")


RULES = (not_expanded, not_read, first_line, unknown_options, stray_words, one_dash, open_quotes, bad_values,
         given_twice, typographic, placeholders, tilde)
