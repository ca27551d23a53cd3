#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several builds of Quern: the same training steps, in turn, in one run.

Of two compilers, two commits, two sets of flags. Prints the time of a step of the first build, and for each
other one its speed relative to the first (above 1: it is faster). Each round runs all of them, each time
in another order; the figures are medians, with the ranges of the rounds' own ratios.
"""

import argparse
import sys

from comparison import run_comparison, run_rounds, spread
from contender import QuernStep, pin
from script import add_json, add_recipes
from words import core_list, name_list, positive
from workloads import RECIPES, RESIDUAL, STEPS, read_recipe, settings_of


def build(text):
    """(name, program) of NAME=PROGRAM."""
    name, sign, program = text.partition("=")
    if not (name and sign and program):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=PROGRAM")
    return name, program


def measure(arguments, workload, precision):
    path, recipe = read_recipe(arguments.recipes, workload)
    settings = [*settings_of(arguments.recipes, workload, precision), *arguments.set]
    contenders = {name: QuernStep(program, path, arguments.steps or STEPS[workload], settings)
                  for name, program in arguments.builds.items()}
    seconds = {name: [answer["seconds"] / contenders[name].steps for answer in answers]
               for name, answers in run_rounds(contenders, arguments.rounds).items()}
    first = seconds[next(iter(seconds))]
    return {"workload": workload, "precision": precision, "recipe": recipe["name"],
            "builds": {name: {"step_us": spread([1e6 * second for second in times]),
                              "ratio": spread([one / other for one, other in zip(first, times)])}
                       for name, times in seconds.items()}}


def print_rows(figures):
    what = f"{figures['workload']} {figures['precision']}"
    for number, (name, row) in enumerate(figures["builds"].items()):
        text = f"{what:14}{name:20}{row['step_us']['median']:>10.0f}"
        if number:
            ratio = row["ratio"]
            text += f"{ratio['median']:>9.3f} ({ratio['min']:.3f} to {ratio['max']:.3f})"
        print(text, flush=True)


def compare_all(arguments):
    cores = pin(arguments.threads, arguments.cores)
    base = next(iter(arguments.builds))
    print(f"Times of a step in us on core(s) {', '.join(map(str, cores))}, medians of {arguments.rounds} rounds; "
          f"speed over that of {base}")
    print(f"{'':14}{'build':20}{'us a step':>10}{'over ' + base + ' (range)':>27}", flush=True)
    results = []
    for workload in arguments.workloads:
        for precision in arguments.precision:
            results.append(measure(arguments, workload, precision))
            print_rows(results[-1])
    return {"results": results}


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("builds", nargs="+", type=build, metavar="NAME=PROGRAM",
                        help="at least two; the first is what the others are compared with")
    known = [*RECIPES, *RESIDUAL]
    parser.add_argument("--workloads", type=name_list(known), default=list(RECIPES), metavar="W,...",
                        help=f"of {', '.join(known)} (default: {','.join(RECIPES)})")
    parser.add_argument("--precision", type=name_list(("fp32", "bf16")), default=["fp32"], metavar="P,...",
                        help="of fp32,bf16 (default: fp32)")
    parser.add_argument("--rounds", type=positive, default=7, help="of all (default: 7)")
    parser.add_argument("--steps", type=positive, help="of a round (default: an epoch, or 3 or 20 steps)")
    parser.add_argument("--threads", type=positive, default=1, help="of each build (default: 1)")
    parser.add_argument("--cores", type=core_list, metavar="N,...", help="run on these (default: the last)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="passed on to quern bench; may be repeated")
    add_recipes(parser)
    add_json(parser)
    arguments = parser.parse_args(words)
    names = [name for name, _ in arguments.builds]
    if len(names) < 2 or len(set(names)) < len(names):
        parser.error("two builds or more, each with a name of its own")
    arguments.builds = dict(arguments.builds)
    return run_comparison("compare_builds", arguments, compare_all)


if __name__ == "__main__":
    sys.exit(main())
