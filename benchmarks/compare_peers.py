#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quern against PyTorch eager: the same training steps, alternately, in one run on one machine.

Prints seconds per epoch, samples per second and the ratio of the two speeds (above 1: Quern is
faster). Each round runs both, in changing order; the figures are medians over the rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECIPES = {"W1": "mlp-mnist", "W2": "lenet-fashion", "W7": "autoencoder-mnist"}
STEPS = {"W1": 300, "W2": 20, "W7": 300}
TRAIN_SAMPLES = 60000


class ProblemError(Exception):
    """Something the user has to put right."""


class QuernStep:
    def __init__(self, program, recipe_path, threads, warmup):
        self.command = [program, "bench", "step", str(recipe_path), "--warmup", str(warmup)]
        self.environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.environment.setdefault("OMP_PROC_BIND", "false")
        self.facts = {}

    def run(self, steps):
        """Samples per second over `steps` steps."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "step.json"
            command = [*self.command, "--steps", str(steps), "--json", str(out)]
            try:
                done = subprocess.run(command, env=self.environment, capture_output=True, text=True,
                                      check=False)
            except OSError as error:
                raise ProblemError(f"cannot start {command[0]}: {error.strerror}") from error
            if done.returncode != 0:
                said = done.stderr.strip() or done.stdout.strip()
                raise ProblemError(f"'{' '.join(command)}' failed with exit status "
                                   f"{done.returncode}: {said}")
            try:
                self.facts = json.loads(out.read_text())
                return float(self.facts["samples_per_s"])
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise ProblemError(f"no usable figures from '{' '.join(command)}': "
                                   f"{error!r}") from error


def read_recipe(folder, workload):
    path = folder / f"{RECIPES[workload]}.toml"
    try:
        return path, tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ProblemError(f"cannot read recipe {path}: {error}") from error


def import_torch(threads):
    try:
        import torch
    except ImportError as error:
        raise ProblemError("this Python has no PyTorch; benchmarks/README.md says how to install it "
                           "(--only quern needs none)") from error
    torch.set_num_threads(threads)
    return torch.__version__


def compare(workload, arguments):
    """Runs the rounds of one workload; returns its figures."""
    path, recipe = read_recipe(arguments.recipes, workload)
    steps = arguments.steps or STEPS[workload]
    warmup = max(2, steps // 10)
    sides = {}
    if arguments.only != "quern":
        from torch_step import fastest_torch_step
        sides["torch"] = fastest_torch_step(recipe)
    if arguments.only != "torch":
        sides["quern"] = QuernStep(arguments.quern, path, arguments.threads, warmup)
    speeds = {name: [] for name in sides}
    if "torch" in sides:
        sides["torch"].run(warmup)
    for round_number in range(arguments.rounds):
        names = sorted(sides, reverse=round_number % 2 == 0)
        for name in names:
            speeds[name].append(sides[name].run(steps))
    figures = {"workload": workload, "recipe": RECIPES[workload], "steps": steps}
    for name, values in speeds.items():
        median = statistics.median(values)
        figures[name] = {"samples_per_s": median, "seconds_per_epoch": TRAIN_SAMPLES / median,
                         "best_samples_per_s": max(values), "rounds": values}
    if "torch" in sides:
        figures["torch"]["variant"] = sides["torch"].describe
    if "quern" in sides:
        facts = sides["quern"].facts
        figures["quern"].update({key: facts[key] for key in ("fraction_of_peak", "peak_gflops")
                                 if key in facts})
    if len(sides) == 2:
        ratios = [q / t for q, t in zip(speeds["quern"], speeds["torch"])]
        figures["ratio"] = {"median": statistics.median(ratios), "min": min(ratios),
                            "max": max(ratios)}
    return figures


def cell(figures, side, key, form):
    return format(figures[side][key], form) if side in figures else "-"


def print_row(figures):
    ratio = figures.get("ratio")
    ratio_text = "-"
    if ratio:
        ratio_text = f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"
    peak = figures.get("quern", {}).get("fraction_of_peak")
    print(f"{figures['workload']:9}"
          f"{cell(figures, 'torch', 'seconds_per_epoch', '.3f'):>9}"
          f"{cell(figures, 'torch', 'samples_per_s', ',.0f'):>12}"
          f"{cell(figures, 'quern', 'seconds_per_epoch', '.3f'):>9}"
          f"{cell(figures, 'quern', 'samples_per_s', ',.0f'):>12}"
          f"{f'{100 * peak:.0f} %' if peak is not None else '-':>8}"
          f"   {ratio_text}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", nargs="+", choices=RECIPES, default=list(RECIPES),
                        metavar="W", help="of W1, W2, W7 (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of both (default: 5)")
    parser.add_argument("--steps", type=int, help="steps per round (default: 300; W2: 20)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each (default: 1)")
    parser.add_argument("--quern", default=str(ROOT / "build/release/bin/quern"),
                        help="the program (default: %(default)s)")
    parser.add_argument("--recipes", type=Path, default=ROOT / "recipes",
                        help="folder of the recipes (default: %(default)s)")
    parser.add_argument("--only", choices=["torch", "quern"], help="measure one side alone")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures to this file")
    arguments = parser.parse_args()
    for name in ("rounds", "threads"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if arguments.steps is not None and arguments.steps < 1:
        parser.error("--steps must be at least 1")
    return arguments


def main():
    arguments = parse_arguments()
    try:
        torch_version = None if arguments.only == "quern" else import_torch(arguments.threads)
        print(f"PyTorch {torch_version or 'not run'}, {arguments.threads} thread(s), median of "
              f"{arguments.rounds} rounds, epochs of {TRAIN_SAMPLES} samples")
        print(f"{'':9}{'PyTorch':>21}{'Quern':>21}")
        print(f"{'':9}{'s/epoch':>9}{'samples/s':>12}{'s/epoch':>9}{'samples/s':>12}"
              f"{'of peak':>8}   Quern's speed / PyTorch's (range)")
        results = []
        for workload in arguments.workloads:
            results.append(compare(workload, arguments))
            print_row(results[-1])
        if arguments.json:
            arguments.json.write_text(json.dumps(
                {"torch": torch_version, "threads": arguments.threads, "rounds": arguments.rounds,
                 "results": results}, indent=2) + "\n")
    except (ProblemError, OSError) as error:
        print(f"compare_peers: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
