#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several ranks against one, alone on the machine and beside a process that keeps one core busy.

The neighbour is pinned to one core (by default the last) and never waits. Every round measures a training step on
one rank and on several, without and with it, in changing order; figures are medians of the rounds' own ratios:

  quiet      one rank / several ranks, nobody else
  beside     the same, both beside the neighbour: below 1.0 the ranks are slower than one alone
  loss       several ranks beside it / several ranks alone, as times
"""

import contextlib
import os
import subprocess
import sys

from comparison import run_comparison, spread
from scaling import Step, compare_workloads, global_batch, make_parser, parse_arguments, ratios
from workloads import RECIPES, RESIDUAL, ProblemError, read_recipe, settings_of

WORKLOADS = [*RECIPES, "resnet20"]
# Ends by itself when whoever started it is gone.
SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
parent = os.getppid()
print("spinning", flush=True)
while os.getppid() == parent:
    for _ in range(100000):
        pass
"""


@contextlib.contextmanager
def neighbour(core):
    """A process that takes as much of the core as it is given."""
    with subprocess.Popen([sys.executable, "-c", SPIN, str(core)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        try:
            if process.stdout.readline() != b"spinning\n":
                raise ProblemError(f"nothing can be pinned to core {core}: see --core")
            yield process
        finally:
            process.kill()


def measure(arguments, workload):
    path, recipe = read_recipe(arguments.recipes, workload)
    batch = arguments.batch or global_batch(recipe, arguments.ranks)
    settings = [*settings_of(arguments.recipes, workload), *arguments.set]
    steps = {ranks: Step(arguments, path, batch, ranks, "rank-invariant", settings) for ranks in (1, arguments.ranks)}
    cases = [(ranks, beside) for beside in (False, True) for ranks in steps]
    times = {case: [] for case in cases}
    for number in range(arguments.rounds):
        first = number % len(cases)
        for ranks, beside in cases[first:] + cases[:first]:
            with neighbour(arguments.core) if beside else contextlib.nullcontext():
                times[ranks, beside].append(steps[ranks].time_us())
    several = arguments.ranks
    return {"workload": workload, "recipe": path.stem, "global_batch": batch,
            "quiet": ratios(times[1, False], times[several, False]),
            "beside": ratios(times[1, True], times[several, True]),
            "loss": ratios(times[several, True], times[several, False]),
            "one_rank_us": spread(times[1, False]), "ranks_us": spread(times[several, False]),
            "one_rank_beside_us": spread(times[1, True]), "ranks_beside_us": spread(times[several, True])}


def ratio_text(figures):
    return f"{figures['median']:.2f} ({figures['min']:.2f} to {figures['max']:.2f})"


def print_row(figures):
    print(f"{figures['workload']:9}{figures['global_batch']:>6}"
          f"{figures['one_rank_us']['median']:>10.0f}{figures['ranks_us']['median']:>10.0f}"
          f"{figures['one_rank_beside_us']['median']:>10.0f}{figures['ranks_beside_us']['median']:>10.0f}  "
          + "  ".join(f"{ratio_text(figures[name]):20}" for name in ("quiet", "beside", "loss")).rstrip(), flush=True)


def compare_all(arguments):
    ranks = arguments.ranks
    head = (f"Times of a step in us, medians of {arguments.rounds} rounds, alone and beside a busy process on core "
            f"{arguments.core}; speed of {ranks} ranks over one, alone and beside it; time of {ranks} ranks beside "
            f"it over alone\n"
            f"{'':9}{'batch':>6}{'1 rank':>10}{f'{ranks} ranks':>10}{'1 beside':>10}{f'{ranks} beside':>10}  "
            f"{'quiet (range)':20}  {'beside (range)':20}  loss (range)")
    return {"core": arguments.core, "set": arguments.set, **compare_workloads(arguments, head, measure, print_row)}


def main(words=None):
    parser = make_parser(__doc__, workloads=[*RECIPES, *RESIDUAL], default_workloads=WORKLOADS, rounds=5)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)),
                        help="of the neighbour (default: the last)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a key of the recipes")
    return run_comparison("busy_neighbour", parse_arguments(parser, words), compare_all)


if __name__ == "__main__":
    sys.exit(main())
