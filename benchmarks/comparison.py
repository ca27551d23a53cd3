# SPDX-License-Identifier: Apache-2.0
"""What comparisons share: the command line of those with peers, the rounds, the end."""

import argparse
import json
import statistics
import sys

from script import add_json, add_quern, add_recipes, exit_status
from words import name_list, positive


def make_parser(doc, *, workloads, peers, program, default_steps, default_workloads=()):
    """`doc`: of the script; `program`: the Quern it takes by default, below the root;
    `default_workloads`: all if empty."""
    chosen = list(default_workloads or workloads)
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--workloads", type=name_list(workloads), default=chosen, metavar="W,...",
                        help=f"of {','.join(workloads)} (default: {','.join(chosen)})")
    parser.add_argument("--peers", type=name_list(peers), default=list(peers), metavar="P,...",
                        help=f"of {','.join(peers)}; none: Quern alone (default: all)")
    parser.add_argument("--rounds", type=positive, default=7, help="of all (default: 7)")
    parser.add_argument("--steps", type=positive, help=f"of a round (default: {default_steps})")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="passed on to quern bench; may be repeated")
    add_quern(parser, program)
    parser.add_argument("--python", default=sys.executable, help="Python of the peers")
    add_recipes(parser)
    add_json(parser)
    return parser


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def run_rounds(contenders, count):
    """{name: answers}; the order rotates, so that no one always follows the same other."""
    names, answers = list(contenders), {name: [] for name in contenders}
    for turn in range(count):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            answers[name].append(contenders[name].ask())
    return answers


def run_comparison(script, arguments, compare_all):
    """Exit status; `compare_all(arguments)` prints, and returns the figures for --json."""
    def run():
        figures = compare_all(arguments)
        if arguments.json:
            arguments.json.write_text(json.dumps({"rounds": arguments.rounds, **figures}, indent=2) + "\n")
    return exit_status(script, run)
