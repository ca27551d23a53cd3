#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What runs of ctest amount to, from their files of --output-junit (with the output of passed tests):
every skip with its reason, every "note:" that a test printed, and last "N passed, N failed, N skipped".

Tests are ctest's entries. A skip is an entry that said so (its skip status or text), or one test
inside a program: GoogleTest's GTEST_SKIP, and unittest's skips, which end with exit status 0. An entry
of which all tests were skipped did not pass. A skip that the list of expected ones does not allow is a
failure. So is an entry that could not run, a run without any test, and a skip without a reason.

An entry that failed beside others and passed when it ran again, alone, has passed with a note.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree

SKIP_MESSAGES = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION", "Disabled")
WHOLE = "*"

# The file lacks the character in front.
COLOUR = re.compile(r"\x1b?\[(?:\d+(?:;\d+)*)?m")
GOOGLE_END = re.compile(r"\[  (?:SKIPPED |     OK |FAILED  )\] (\S+?),? (?:where .*)?\(\d+ ms\)$")
GOOGLE_PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.MULTILINE)
UNITTEST_BEGIN = re.compile(r"^(\w+) \([\w.]+\)")
UNITTEST_SKIP = re.compile(r"(?:\.\.\. |^)skipped (['\"])(.*)\1$")
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
UNITTEST_SKIPPED = re.compile(r"^(?:OK|FAILED) \(.*\bskipped=(\d+)", re.MULTILINE)


def google_skips(lines):
    """[(test, reason)]"""
    found, reason = [], None
    for line in lines:
        end = GOOGLE_END.match(line)
        if end and line.startswith("[  SKIPPED "):
            found.append((end[1], " ".join(reason or [])))
        if end or line.startswith("[ RUN "):
            reason = None
        elif line.endswith(": Skipped"):
            reason = []
        elif reason is not None and line.strip():
            reason.append(line.strip())
    return found


def unittest_skips(lines):
    """[(test, reason)]: what unittest prints with verbosity 2."""
    found, name = [], ""
    for line in lines:
        begin, skip = UNITTEST_BEGIN.match(line), UNITTEST_SKIP.search(line)
        name = begin[1] if begin else name
        if skip:
            found.append((name, skip[2]))
    return found


def skips_inside(output):
    """([(test, reason)], did any test run?) of a program that ended well."""
    output = COLOUR.sub("", output)  # mpirun looks like a terminal to the ranks
    lines = output.splitlines()
    google, other = google_skips(lines), unittest_skips(lines)
    if google:
        passed = GOOGLE_PASSED.search(output)
        return google, not passed or int(passed[1]) > 0
    ran = sum(map(int, UNITTEST_RAN.findall(output)))
    skipped = sum(map(int, UNITTEST_SKIPPED.findall(output)))
    missing = max(skipped - len(other), 0)
    return other + [("?", "")] * missing, skipped == 0 or ran > skipped


class Entry:
    """One testcase: `state` is passed, failed or skipped; `skips` [(test inside or "*", reason)]."""

    def __init__(self, case):
        self.name = case.get("name", "?")
        self.output = case.findtext("system-out") or ""
        self.skips = []
        self.again = False  # passed only in its second run
        element = case.find("skipped")
        message = element.get("message", "") if element is not None else ""
        status = case.get("status")
        if status == "run":
            self.skips, something_ran = skips_inside(self.output)
            self.state = "passed" if something_ran else "skipped"
        elif status == "disabled" or (status == "notrun" and message.startswith(SKIP_MESSAGES)):
            self.state = "skipped"
            reasons = re.findall(r"^skipped: (.*)$", self.output, re.MULTILINE)
            self.skips = [(WHOLE, reasons[-1] if reasons else status if status == "disabled" else "")]
        else:
            self.state = "failed"

    def notes(self):
        said = re.findall(r"^note: (.*)$", self.output, re.MULTILINE)
        return said + ["failed beside others, and passed alone: see its output"] * self.again


class Expected:
    """The list of expected skips: its head says what a line is."""

    def __init__(self, file, lacks_program=lambda name: shutil.which(name) is None, flags=None):
        self.lacks_program = lacks_program
        self.flags = processor_flags() if flags is None else flags
        lines = file.read_text(encoding="utf-8").splitlines()
        self.rows = [[part.strip() for part in line.split("|")]
                     for line in lines if line.strip() and not line.startswith("#")]
        for row in self.rows:
            if len(row) != 4 or not all(row):
                raise ValueError(f"{file}: '{' | '.join(row)}': expected [PART:]ENTRY | TEST | WHEN | WHY")
            self.holds(row[2])

    def holds(self, when):
        kind, _, what = when.rpartition(" ")
        if when == "always":
            return True
        if when == "not root":
            return os.geteuid() != 0
        if kind == "without":
            return self.lacks_program(what)
        if kind == "cpu without":
            return what not in self.flags
        raise ValueError(f"'{when}': expected always, not root, without PROGRAM, or cpu without FLAG")

    def allows(self, run, entry, test):
        return any(fnmatch.fnmatchcase(f"{run}:{entry}", row[0] if ":" in row[0] else f"*:{row[0]}")
                   and self.holds(row[2])
                   and (test == row[1] if WHOLE in (row[1], test) else fnmatch.fnmatchcase(test, row[1]))
                   for row in self.rows)


def processor_flags():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return set(found[1].split()) if found else set()


def read(run, file):
    """The entries of a run; a run without any is one that failed."""
    try:
        cases = ElementTree.parse(file).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        print(f"{run}: no result of ctest: {error}", file=sys.stderr)
        cases = []
    return [Entry(case) for case in cases] or [Entry(ElementTree.Element("testcase", name="any test"))]


def second_chance(entries, again):
    """The entries of a run, those that failed as they came out when they ran again."""
    passed = {entry.name: entry for entry in again if entry.state == "passed"}
    chosen = []
    for entry in entries:
        if entry.state == "failed" and entry.name in passed:
            entry = passed[entry.name]
            entry.again = True
        chosen.append(entry)
    return chosen


def skipped_part(reason):
    case = ElementTree.Element("testcase", name="all", status="notrun")
    ElementTree.SubElement(case, "skipped", message=SKIP_MESSAGES[0])
    ElementTree.SubElement(case, "system-out").text = f"skipped: {reason}"
    return case


def unexplained(runs, ended_badly):
    """Failures of ctest itself: runs of this kind in which no test failed."""
    return [f"{run}: ctest" for run in ended_badly
            if all(entry.state != "failed" for entry in runs[run])]


def report(runs, expected, failures=()):
    """(lines to print, passed, failed, skipped) of {name: entries} and other failures."""
    skips, notes, failures = [], [], list(failures)
    passed = 0
    for run, entries in runs.items():
        for entry in entries:
            passed += entry.state == "passed"
            if entry.state == "failed":
                failures.append(f"{run}: {entry.name}")
            notes += [f"{run}: {entry.name}: {note}" for note in entry.notes()]
            for test, reason in entry.skips:
                name = f"{run}: {entry.name}" + ("" if test == WHOLE else f" {test}")
                if not reason:
                    failures.append(f"{name}: skipped without a reason")
                elif not expected.allows(run, entry.name, test):
                    failures.append(f"{name}: skipped, which is not expected: {reason}")
                else:
                    skips.append(f"{name}: {reason}")
    lines = []
    for title, part in (("Notes", notes), ("Skipped", skips), ("Failed", failures)):
        lines += ["", f"{title}:", *(f"  {line}" for line in part)] if part else []
    return lines, passed, len(failures), len(skips)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expected", type=pathlib.Path, required=True, help="the list of expected skips")
    parser.add_argument("--failed", action="append", default=[], metavar="WHAT",
                        help="a failure that is none of a test; may be given again")
    parser.add_argument("--ended-badly", action="append", default=[], metavar="NAME",
                        help="a run that did not end with exit status 0: one of its tests must have failed")
    parser.add_argument("--again", action="append", default=[], metavar="NAME=FILE",
                        help="a second run of tests that failed in the run NAME; may be given again")
    parser.add_argument("--skipped", action="append", default=[], metavar="PART=REASON",
                        help="a part without any test; may be given again")
    parser.add_argument("runs", nargs="*", metavar="NAME=FILE", help="a run and its file")
    options = parser.parse_intermixed_args()  # runs and what failed come in the order of the parts
    runs = {name: read(name, file) for name, file in (run.split("=", 1) for run in options.runs)}
    for name, reason in (part.split("=", 1) for part in options.skipped):
        runs[name] = [Entry(skipped_part(reason))]
    failures = options.failed + unexplained(runs, options.ended_badly)
    for name, file in (run.split("=", 1) for run in options.again):
        runs[name] = second_chance(runs[name], read(name, file))
    lines, passed, failed, skipped = report(runs, Expected(options.expected), failures)
    print("\n".join([*lines, "", f"{passed} passed, {failed} failed, {skipped} skipped"]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
