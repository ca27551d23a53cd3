#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints "passed failed skipped" of one ctest run, from the file of ctest --output-junit.

A test counts as skipped only when it said so itself (its skip status or text). ctest also calls
tests "not run" whose program or fixture is missing: those failed. So did a run without any test.
"""
import sys
import xml.etree.ElementTree as ElementTree

SKIP_MESSAGES = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION", "Disabled")


def outcome(case):
    status = case.get("status")
    if status == "run":
        return "passed"
    element = case.find("skipped")
    message = element.get("message", "") if element is not None else ""
    if status == "disabled" or (status == "notrun" and message.startswith(SKIP_MESSAGES)):
        return "skipped"
    return "failed"


def main():
    try:
        cases = ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        print(f"no result of ctest: {error}", file=sys.stderr)
        cases = []
    outcomes = [outcome(case) for case in cases] or ["failed"]
    print(*(outcomes.count(name) for name in ("passed", "failed", "skipped")))


main()
