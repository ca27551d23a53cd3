#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 whole on one rank, and cut into two stages on two ranks, without and with pieces.

Times training steps at the same global batch: the whole network on one rank; two stages, cut in front of the third
group of blocks, with the batch in one piece (one rank computes, the other waits); and with the batch in several
pieces, which both compute at the same time. The same pieces are timed for the cut that quern chooses by itself. Every
repeat runs all of them, in changing order. Prints mean and standard deviation, and draws a bar chart. Each time is said
on standard error when it is measured; --json is written after each repeat, and whoever interrupts gets the figures of
the repeats that are whole (exit status 1).

Batch normalisation takes its statistics from each micro-block, because those of the whole batch would need all of it
in one piece.
"""

import argparse
import re
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

from contender import step_figures
from script import ROOT, add_json, add_launcher, add_quern, exit_status, one_thread_a_rank
from turns import compare_in_turns, spread_of
from words import numbers, positive
from workloads import ProblemError

CUT = "layer3"
CHOSEN = "chosen"
BLOCK = 15  # samples of a micro-block at most: with 16 lanes, one stays empty
QUICK = ("network.input=[3, 64, 64]", "data.samples=64")


def with_block_statistics(text):
    """The recipe with statistics = "block" in all of its batch normalisations."""
    return re.sub(r'(type = "(?:batch_norm|bottleneck|basic_block)")', r'\1, statistics = "block"', text)


class Way:
    """A way to compute the step, timed once for each repeat."""

    def __init__(self, arguments, recipe, stages, pieces, cut):
        self.stages, self.pieces, self.cut = stages, pieces, cut
        self.times = []
        block = min(BLOCK, -(-arguments.batch // pieces))
        settings = [f"data.global_batch={arguments.batch}", f"train.micro_block={block}",
                    f"parallel.pipeline={stages}", f"parallel.micro_batches={pieces}",
                    *(QUICK if arguments.quick else ())]
        if cut == CUT:
            settings.append(f'parallel.cut=["{CUT}"]')
        launch = shlex.split(arguments.launcher.format(ranks=stages))
        self.command = [*launch, arguments.quern, "bench", "step", str(recipe), "--rounds", "1",
                        "--warmup", "1", "--steps", str(arguments.steps)]
        for setting in settings:
            self.command += ["--set", setting]

    @property
    def name(self):
        if self.stages == 1:
            return "whole, one rank"
        where = f"cut at {CUT}" if self.cut == CUT else "cut chosen"
        return f"{where}, {self.pieces} piece{'s' if self.pieces > 1 else ''}"

    def measure(self):
        self.times.append(step_figures(self.command, self.stages)[0] * 1e-6)


def ways(arguments, recipe):
    found = [Way(arguments, recipe, 1, 1, ""), Way(arguments, recipe, 2, 1, CUT)]
    for cut in (CUT, CHOSEN):
        found += [Way(arguments, recipe, 2, pieces, cut) for pieces in arguments.pieces]
    return found


def summary(way, whole):
    """Speed-up: of the means, and that of each repeat."""
    each = [one / time for one, time in zip(whole.times, way.times)]
    mean, spread = spread_of(way.times)
    return {"name": way.name, "stages": way.stages, "pieces": way.pieces, "cut": way.cut,
            "mean_s": mean, "deviation_s": spread, "times_s": way.times,
            "speedup": statistics.mean(whole.times) / mean,
            "speedup_min": min(each), "speedup_max": max(each)}


def print_rows(rows):
    print(f"{'':28}{'mean / s':>10}{'deviation':>11}{'speed-up (range)':>26}")
    for row in rows:
        print(f"{row['name']:28}{row['mean_s']:>10.3f}{row['deviation_s']:>11.3f}{row['speedup']:>10.2f} "
              f"({row['speedup_min']:.2f} to {row['speedup_max']:.2f})")


def draw(rows, batch, path):
    try:
        import matplotlib
    except ImportError as error:
        raise ProblemError("--png needs matplotlib (Debian: python3-matplotlib)") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(9, 4.5))
    colours = ["tab:gray" if row["stages"] == 1 else "tab:blue" if row["cut"] == CUT else "tab:green"
               for row in rows]
    axes.bar(range(len(rows)), [row["mean_s"] for row in rows], yerr=[row["deviation_s"] for row in rows],
             capsize=4, color=colours)
    axes.set_xticks(range(len(rows)), [row["name"].replace(", ", ",\n") for row in rows], fontsize=8)
    axes.set_ylabel("seconds of a training step")
    axes.set_title(f"ResNet-50, batch {batch}: whole, and cut into two stages")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=positive, default=120, help="samples of a step (default: 120)")
    parser.add_argument("--pieces", type=numbers, default=[2, 4, 8, 16], metavar="M,...",
                        help="into how many the batch is cut (default: 2,4,8,16)")
    parser.add_argument("--repeats", type=positive, default=10, help="(default: 10)")
    parser.add_argument("--steps", type=positive, default=1, help="timed steps of a repeat (default: 1)")
    parser.add_argument("--quick", action="store_true",
                        help="small images and a batch of 32, twice: only to see that it works")
    add_launcher(parser)
    add_quern(parser)
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes/resnet50.toml",
                        help="(default: %(default)s)")
    parser.add_argument("--png", type=Path, metavar="OUT", help="draw a bar chart into this file")
    add_json(parser)
    arguments = parser.parse_args(words)
    if arguments.quick:
        arguments.batch, arguments.repeats, arguments.pieces = 32, 2, [2]
    return arguments


def compare(arguments):
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder) / "resnet50.toml"
        recipe.write_text(with_block_statistics(arguments.recipe.read_text()))
        contenders = ways(arguments, recipe)

        def show(rows, repeats):
            print(f"Training step of ResNet-50, batch {arguments.batch}, {repeats} repeats")
            print_rows(rows)
            if arguments.png:
                draw(rows, arguments.batch, arguments.png)

        return compare_in_turns(arguments, contenders, lambda: [summary(way, contenders[0]) for way in contenders], show)


def main(words=None):
    arguments = parse_arguments(words)
    one_thread_a_rank()
    return exit_status("split_resnet", lambda: compare(arguments))


if __name__ == "__main__":
    sys.exit(main())
