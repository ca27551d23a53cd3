#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank against several on the same machine, at the same global batch.

Prints for each workload and mode the time of a training step on one rank and on several, the
speed-up, the efficiency (speed-up over ranks), and what rank-invariant sums cost against fast ones.
Every round runs all four, in changing order; figures are medians of the rounds' own ratios. With --threads
one rank with as many threads takes part, too.
"""

import argparse
import shlex
import sys

from comparison import run_comparison, spread
from contender import step_figures
from script import add_json, add_launcher, add_quern, add_recipes, one_thread_a_rank
from words import name_list, positive
from workloads import RECIPES, read_recipe

MODES = ("rank-invariant", "fast")


def global_batch(recipe, ranks):
    """Samples per step when the recipe is started on so many ranks."""
    data = recipe["data"]
    return data.get("global_batch") or data["batch_per_rank"] * ranks


class Step:
    """`quern bench step` on a number of ranks, started anew for each round."""

    def __init__(self, arguments, recipe_path, batch, ranks, mode, settings=()):
        self.ranks, self.mode = ranks, mode
        launch = shlex.split(arguments.launcher.format(ranks=ranks))
        self.command = [*launch, arguments.quern, "bench", "step", str(recipe_path), "--rounds", "1",
                        "--set", f"data.global_batch={batch}", "--set", f"train.determinism={mode}"]
        for setting in settings:
            self.command += ["--set", setting]
        if arguments.steps:
            self.command += ["--steps", str(arguments.steps)]

    def time_us(self):
        return step_figures(self.command, self.ranks)[0]


class ThreadStep(Step):
    """The same on one rank with several threads, without a launcher: launchers bind a rank to one core."""

    def __init__(self, arguments, recipe_path, batch, threads):
        super().__init__(arguments, recipe_path, batch, 1, "rank-invariant")
        first = self.command.index(arguments.quern)
        self.command = ["env", f"OMP_NUM_THREADS={threads}", *self.command[first:]]


def ratios(above, below):
    return spread([a / b for a, b in zip(above, below)])


def measure(arguments, workload):
    path, recipe = read_recipe(arguments.recipes, workload)
    batch = arguments.batch or global_batch(recipe, arguments.ranks)
    steps = [Step(arguments, path, batch, ranks, mode)
             for mode in MODES for ranks in (1, arguments.ranks)]
    times = {(step.mode, step.ranks): [] for step in steps}
    threads = ThreadStep(arguments, path, batch, arguments.ranks) if arguments.threads else None
    threads_us = []
    for number in range(arguments.rounds):
        first = number % len(steps)
        for step in steps[first:] + steps[:first]:
            times[step.mode, step.ranks].append(step.time_us())
        if threads:
            threads_us.append(threads.time_us())
    figures = {"workload": workload, "recipe": RECIPES[workload], "global_batch": batch}
    for mode in MODES:
        one, several = times[mode, 1], times[mode, arguments.ranks]
        figures[mode] = {"one_rank_us": spread(one), "ranks_us": spread(several),
                         "speedup": ratios(one, several)}
        figures[mode]["efficiency"] = figures[mode]["speedup"]["median"] / arguments.ranks
    figures["rank_invariant_over_fast"] = {
        f"{ranks}": ratios(times["rank-invariant", ranks], times["fast", ranks])
        for ranks in (1, arguments.ranks)}
    if threads:
        figures["threads"] = {"threads_us": spread(threads_us),
                              "speedup": ratios(times["rank-invariant", 1], threads_us)}
    return figures


def print_rows(figures, ranks):
    for mode in MODES:
        row = figures[mode]
        speedup = row["speedup"]
        text = (f"{figures['workload']:9}{figures['global_batch']:>6}  {mode:15}"
                f"{row['one_rank_us']['median']:>10.0f}{row['ranks_us']['median']:>10.0f}"
                f"{speedup['median']:>9.2f} ({speedup['min']:.2f} to {speedup['max']:.2f})"
                f"{100 * row['efficiency']:>7.0f} %")
        if mode == "rank-invariant":
            cost = figures["rank_invariant_over_fast"][str(ranks)]
            text += (f"{100 * (cost['median'] - 1):>+8.1f} % ({100 * (cost['min'] - 1):+.1f} to "
                     f"{100 * (cost['max'] - 1):+.1f})")
        print(text, flush=True)
    if "threads" in figures:
        speedup = figures["threads"]["speedup"]
        print(f"{figures['workload']:9}{figures['global_batch']:>6}  {f'{ranks} threads':15}"
              f"{figures['rank-invariant']['one_rank_us']['median']:>10.0f}"
              f"{figures['threads']['threads_us']['median']:>10.0f}"
              f"{speedup['median']:>9.2f} ({speedup['min']:.2f} to {speedup['max']:.2f})"
              f"{100 * speedup['median'] / ranks:>7.0f} %", flush=True)


def make_parser(doc, *, workloads, default_workloads, rounds):
    """`doc`: of the script; `workloads`: what it knows."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--workloads", type=name_list(workloads), default=default_workloads, metavar="W1,...",
                        help=f"of {', '.join(workloads)} (default: {','.join(default_workloads)})")
    parser.add_argument("--ranks", type=positive, default=2, help="how many (default: 2)")
    parser.add_argument("--batch", type=positive,
                        help="global batch (default: what the recipe says for so many ranks)")
    parser.add_argument("--rounds", type=positive, default=rounds, help="(default: %(default)s)")
    parser.add_argument("--steps", type=positive, help="of a round (default: about 0.4 s worth)")
    add_launcher(parser)
    add_quern(parser)
    add_recipes(parser)
    add_json(parser)
    return parser


def parse_arguments(parser, words):
    arguments = parser.parse_args(words)
    if arguments.ranks < 2:
        parser.error("--ranks must be at least 2")
    return arguments


def compare_workloads(arguments, head, measure_one, print_one):
    """What --json gets of all workloads; prints the head and, as soon as they are there, each one's figures."""
    one_thread_a_rank()
    print(head)
    results = []
    for workload in arguments.workloads:
        results.append(measure_one(arguments, workload))
        print_one(results[-1])
    return {"ranks": arguments.ranks, "launcher": arguments.launcher, "results": results}


def compare_all(arguments):
    ranks = arguments.ranks
    head = (f"Times of a step in us, medians of {arguments.rounds} rounds; speed-up of {ranks} "
            f"ranks over one and cost of rank-invariant sums: medians of the rounds' ratios\n"
            f"{'':9}{'batch':>6}  {'mode':15}{'1 rank':>10}{f'{ranks} ranks':>10}"
            f"{'speed-up (range)':>24}{'efficiency':>11}  invariant / fast (range)")
    return compare_workloads(arguments, head, measure, lambda figures: print_rows(figures, ranks))


def main(words=None):
    known = list(RECIPES)
    parser = make_parser(__doc__, workloads=known, default_workloads=known, rounds=9)
    parser.add_argument("--threads", action="store_true", help="measure one rank with as many threads, too")
    return run_comparison("scaling", parse_arguments(parser, words), compare_all)


if __name__ == "__main__":
    sys.exit(main())
