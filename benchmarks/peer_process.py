# SPDX-License-Identifier: Apache-2.0
"""The inside of a contender: a process that measures what it is asked for, line by line.

Standard input brings one request per line, standard output takes one JSON object per answer; what
libraries print goes to standard error. The first answer says what was set up, or {"error": ...}.
"""

import json
import os
import sys


def claim_output():
    """Standard output for answers alone; print() and C libraries write to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def serve(set_up):
    """`set_up(words)` gives (facts about the contender, function of a request's words).

    `words` are the program's arguments. The function returns what the answer has to hold.
    """
    answers = claim_output()

    def answer(content):
        answers.write(json.dumps(content) + "\n")

    try:
        facts, measure = set_up(sys.argv[1:])
    except ImportError as error:
        answer({"error": f"this Python ({sys.executable}) has no module '{error.name}'",
                "missing": error.name})
        return 1
    answer(facts)
    for line in sys.stdin:
        answer(measure(line.split()))
    return 0
