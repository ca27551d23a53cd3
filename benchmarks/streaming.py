#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What streaming costs: a training step with samples out of shards beside one with all of them in memory.

Both take the samples in the same order. They run in turn, whole runs, and the rate of an epoch counts, the first of a run
left out. Then `quern bench io` goes through the shards with nothing to compute, beside plain reading: the first epoch of
a run, in which every block is verified, and a later one, each out of the system's cache and with its copies dropped.

Example: benchmarks/streaming.py recipes/lenet-fashion.toml --memory "16 MiB"
"""

import argparse
import json
import os
import re
import shlex
import statistics
import sys
import tempfile
import tomllib
from pathlib import Path

from contender import output_of
from script import add_launcher, add_quern, exit_status
from words import positive
from workloads import ProblemError


def window_samples(train, streamed, folder):
    """Samples of a window, which a set in memory is to have, too."""
    # A folder of its own: the recipe's may hold a run.
    plan = output_of([*train, *streamed, "--dry-run", "--run-dir", str(folder / "plan")])
    found = re.search(r"(?m)^order .*streamed in \d+ windows of (\d+) samples$", plan)
    if not found:
        raise ProblemError("the set fits into --memory, expected less")
    return int(found[1])


def epoch_rates(run_dir):
    """Samples per second of each epoch but the first."""
    lines = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    return [line["samples_per_s"] for line in lines if line["kind"] == "epoch"][1:]


def compare_steps(arguments, folder):
    launch = shlex.split(arguments.launcher.format(ranks=arguments.ranks)) if arguments.ranks > 1 else []
    train = [*launch, arguments.quern, "train", arguments.recipe, "--set", f"train.epochs={arguments.epochs}",
             "--set", "checkpoint.every_epochs=0", "--set", "data.test=''",
             *(word for text in arguments.set for word in ("--set", text))]
    streamed = ["--set", f"data.memory='{arguments.memory}'"]
    ways = {"streamed": streamed, "in memory": ["--set", f"data.window={window_samples(train, streamed, folder)}"]}
    rates = {way: [] for way in ways}
    for number in range(arguments.rounds):
        for way, sets in ways.items():
            run_dir = folder / f"{way.replace(' ', '-')}-{number}"
            output_of([*train, *sets, "--run-dir", str(run_dir)])
            rates[way].append(statistics.median(epoch_rates(run_dir)))
    for way, found in rates.items():
        print(f"{way:<10} {statistics.median(found):>10.0f} samples/s ({min(found):.0f} to {max(found):.0f})")
    ratios = [memory / stream for memory, stream in zip(rates["in memory"], rates["streamed"])]
    print(f"time of a step streamed / in memory: {statistics.median(ratios):.3f} "
          f"({min(ratios):.3f} to {max(ratios):.3f})", flush=True)


def compare_reading(arguments, folder):
    recipe = tomllib.loads(Path(arguments.recipe).read_text(encoding="utf-8"))
    data = arguments.data or recipe.get("data", {}).get("train")
    if not data:
        raise ProblemError(f"{arguments.recipe} names no shards (expected data.train, or --data)")
    report = folder / "io.json"
    output_of([arguments.quern, "bench", "io", "--data", data, "--bytes", "4K", "--run-dir", str(folder),
               "--rounds", str(arguments.rounds), "--json", str(report)])
    rows = [row for row in json.loads(report.read_text())["rows"] if row["operation"].startswith("shards_streamed")]
    if not rows:
        raise ProblemError(f"{arguments.quern} streams no shards of {data}")
    for row in rows:
        epoch = "first epoch" if row["operation"] == "shards_streamed" else "later epoch"
        print(f"{epoch}, {'copies dropped' if row['cold'] else 'from the cache':<15}{row['gb_per_s']:>6.2f} GB/s, "
              f"{100 / row['over_raw']:.0f} % of plain reading ({row['raw_gb_per_s']:.2f} GB/s)")


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", help="a recipe with shards")
    parser.add_argument("--memory", required=True, metavar="SIZE", help="data.memory, less than the set takes")
    parser.add_argument("--data", metavar="DIR", help="shards to read (default: the recipe's)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as of quern train")
    parser.add_argument("--epochs", type=positive, default=4, help="of a run, at least 2 (default: 4)")
    parser.add_argument("--rounds", type=positive, default=5, help="(default: 5)")
    parser.add_argument("--ranks", type=positive, default=1, help="(default: 1)")
    add_launcher(parser, "mpirun -n {ranks}")
    add_quern(parser)
    arguments = parser.parse_args(words)
    if arguments.epochs < 2:
        parser.error("the first epoch of a run does not count: expected --epochs 2 or more")
    return arguments


def compare(arguments):
    print(f"{len(os.sched_getaffinity(0))} core(s), {arguments.ranks} rank(s); medians of {arguments.rounds} rounds "
          "(range)", flush=True)
    with tempfile.TemporaryDirectory() as name:
        compare_steps(arguments, Path(name))
        compare_reading(arguments, Path(name))


def main(words=None):
    arguments = parse_arguments(words)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return exit_status("streaming", lambda: compare(arguments))


if __name__ == "__main__":
    sys.exit(main())
