#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LeNet and the MLP split by samples, by layers and inside of layers, on 2, 3 and 4 ranks.

Each way is a word of parallel.strategy: "data", "pipeline", "tensor". First each trains a few steps on random images,
and its weights must be those of one rank, to the bit ("tensor": of one rank that computes as many slices). Then
training steps are timed, in changing order, at the same global batch. Prints time, bytes that a rank sends in a step
and memory of a rank, both of the rank with most, and checks that the weights were equal: exit status 1 if not. Each
time is said on standard error when it is measured; --json is written after each repeat, and whoever interrupts gets the
figures of the repeats that are whole (exit status 1). --docs writes the table into docs/parallelism.md.
"""

import argparse
import os
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

from contender import output_of, step_figures
from readme_tables import facts_of, with_tables
from readme_text import table
from script import ROOT, add_json, add_launcher, add_quern, add_recipes, exit_status, one_thread_a_rank
from turns import compare_in_turns, spread_of, tell
from words import numbers, positive

NETWORKS = {"LeNet": "lenet-fashion.toml", "MLP": "mlp-mnist.toml"}
STRATEGIES = {"samples": "data", "layers": "pipeline", "inside of layers": "tensor"}


def slices_of(ranks):
    """What parallel.tensor_slices is by default."""
    while ranks < 8:
        ranks *= 2
    return ranks


def random_data(text):
    """The recipe without files: random images of the same shape."""
    lines = [line for line in text.splitlines() if not line.startswith(("train =", "test =", "batch_per_rank", "global_batch"))]
    return "\n".join(lines).replace("[data]", '[data]\nsource = "random"', 1) + "\n"


class Way:
    """One network, split in one way over so many ranks; one rank is what the others are compared with."""

    def __init__(self, arguments, network, recipe, split, ranks):
        self.arguments, self.network, self.recipe, self.split, self.ranks = arguments, network, recipe, split, ranks
        self.times = []

    @property
    def name(self):
        return f"{self.network}, {self.split}, {self.ranks} ranks" if self.split else f"{self.network}, one rank"

    def settings(self, *more):
        found = [f"data.global_batch={self.arguments.batch}", *more]
        if self.split:
            found.append(f"parallel.strategy={STRATEGIES[self.split]}")
        return [word for setting in found for word in ("--set", setting)]

    def launch(self):
        return shlex.split(self.arguments.launcher.format(ranks=self.ranks)) if self.ranks > 1 else []

    def train(self, folder, slices=0):
        """The hash of the weights after a few steps."""
        run = folder / f"{self.name}-{slices}".replace(" ", "-").replace(",", "")
        more = [f"data.samples={4 * self.arguments.batch}", "train.epochs=1"]
        more += [f"parallel.tensor_slices={slices}"] if slices else []
        output_of([*self.launch(), self.arguments.quern, "train", str(self.recipe), "--run-dir", str(run),
                   *self.settings(*more)])
        return output_of([self.arguments.quern, "checkpoint", "hash", str(run)]).strip()

    def measure(self):
        command = [*self.launch(), self.arguments.quern, "bench", "step", str(self.recipe), "--rounds", "1", "--steps",
                   str(self.arguments.steps), *self.settings("data.samples=60000")]
        step_us, *counts = step_figures(command, self.ranks, ("step_us", "sent_bytes", "memory_bytes"))
        self.sent, self.memory = (int(count) for count in counts)
        self.times.append(step_us * 1e-6)


def ways(arguments, folder):
    """For each network one rank, and each split on each number of ranks."""
    found = []
    for network, file in NETWORKS.items():
        recipe = folder / file
        recipe.write_text(random_data((arguments.recipes / file).read_text()))
        found.append(Way(arguments, network, recipe, "", 1))
        found += [Way(arguments, network, recipe, split, ranks) for split in STRATEGIES for ranks in arguments.ranks]
    return found


def compare_weights(contenders, folder):
    """Sets is_equal of each: has it the weights of one rank?"""
    wholes = {}
    for way in contenders:
        if not way.split:
            whole = way
        slices = slices_of(way.ranks) if way.split == "inside of layers" else 0
        key = (way.network, slices)
        if key not in wholes:
            wholes[key] = whole.train(folder, slices)
        way.is_equal = not way.split or way.train(folder) == wholes[key]
        if way.split:
            tell(f"weights: {way.name}: {'those' if way.is_equal else 'NOT those'} of one rank")


def summary(way, whole):
    mean, spread = spread_of(way.times)
    return {"network": way.network, "split": way.split, "ranks": way.ranks, "is_equal": way.is_equal,
            "mean_s": mean, "deviation_s": spread, "times_s": way.times,
            "speedup": statistics.mean(whole.times) / mean, "sent_bytes": way.sent, "memory_bytes": way.memory}


def summaries(contenders):
    rows = []
    for way in contenders:
        whole = whole if way.split else way
        rows.append(summary(way, whole))
    return rows


def docs_table(arguments, repeats, rows):
    """The table for people, and above it what was measured where."""
    facts = facts_of(arguments.quern)
    cores = len(os.sched_getaffinity(0))
    settings = f"{arguments.steps} steps of `benchmarks/split_ways.py`"
    lines = [f"Batch {arguments.batch}, one thread a rank, the mean of {repeats} repeat{'s' * (repeats > 1)} of {settings} on {cores} cores of an "
             f"{facts['processor']} ({facts['vectors']}), commit `{facts['commit'][:7]}`, {facts['date']}."]
    if max(row["ranks"] for row in rows) > cores:
        lines.append(f"Ranks beyond these {cores} cores take turns on them: their times say what splitting costs, not what "
                     "as many cores would gain.")
    equal = all(row["is_equal"] for row in rows)
    lines.append("The weights were those of one rank each time." if equal else "SOME WEIGHTS WERE NOT THOSE OF ONE RANK.")
    cells = [[row["network"], row["split"] or "nothing", str(row["ranks"]), f"{row['mean_s'] * 1e3:.2f}",
              f"{row['speedup']:.2f}", f"{row['sent_bytes'] / 1e3:.0f}", f"{row['memory_bytes'] / 1e6:.1f}"] for row in rows]
    header = ["network", "split by", "ranks", "ms of a step", "speed-up", "KB sent", "MB of a rank"]
    return "\n".join([*lines, "", table(header, cells)])


def write_docs(path, text):
    path.write_text(with_tables(path, path.read_text(encoding="utf-8"), {"ways": text}), encoding="utf-8")


def print_rows(rows):
    print("| network | split by | ranks | weights of one rank | ms | deviation | speed-up | KB sent | MB of memory |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        equal = ("yes" if row["is_equal"] else "NO") if row["split"] else "-"
        print(f"| {row['network']} | {row['split'] or '-'} | {row['ranks']} | {equal} | {row['mean_s'] * 1e3:.2f} | "
              f"{row['deviation_s'] * 1e3:.2f} | {row['speedup']:.2f} | {row['sent_bytes'] / 1e3:.0f} | "
              f"{row['memory_bytes'] / 1e6:.1f} |")


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=positive, default=768, help="samples of a step (default: 768)")
    parser.add_argument("--ranks", type=numbers, default=[2, 3, 4], metavar="R,...", help="(default: 2,3,4)")
    parser.add_argument("--repeats", type=positive, default=5, help="(default: 5)")
    parser.add_argument("--steps", type=positive, default=20, help="timed steps of a repeat (default: 20)")
    parser.add_argument("--quick", action="store_true", help="a batch of 96, two ranks, one repeat: only to see that it works")
    add_launcher(parser, "mpirun --oversubscribe -n {ranks}")
    add_quern(parser)
    add_recipes(parser)
    add_json(parser)
    parser.add_argument("--docs", type=Path, nargs="?", const=ROOT / "docs/parallelism.md", metavar="PAGE",
                        help="write the table into this page (default: %(const)s)")
    arguments = parser.parse_args(words)
    if arguments.quick:
        arguments.batch, arguments.ranks, arguments.repeats, arguments.steps = 96, [2], 1, 2
    return arguments


def compare(arguments):
    with tempfile.TemporaryDirectory() as folder:
        contenders = ways(arguments, Path(folder))
        compare_weights(contenders, Path(folder))

        def show(rows, repeats):
            print(f"Training steps, batch {arguments.batch}, {repeats} repeats of {arguments.steps} steps")
            print_rows(rows)
            if arguments.docs:
                write_docs(arguments.docs, docs_table(arguments, repeats, rows))

        status = compare_in_turns(arguments, contenders, lambda: summaries(contenders), show)
    return status if all(way.is_equal for way in contenders) else 1


def main(words=None):
    arguments = parse_arguments(words)
    one_thread_a_rank()
    return exit_status("split_ways", lambda: compare(arguments))


if __name__ == "__main__":
    sys.exit(main())
