#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps on several ranks of this machine, as `quern plan` predicts them and as they are.

For each workload and number of ranks, in every round: `quern bench allreduce` on the ranks, `quern plan`
with what it wrote, which measures one rank alone, and `quern bench step` on the ranks. Prints the medians and
how far the prediction is off; exit status 1 where that is more than --limit.
"""

import argparse
import json
import os
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

from contender import run_quern
from words import name_list, positive
from workloads import RECIPES, ProblemError, read_recipe

ROOT = Path(__file__).resolve().parents[1]


def ranks_list(text):
    return [positive(word) for word in text.split(",")]


class Check:
    def __init__(self, arguments, workload, ranks):
        path, recipe = read_recipe(arguments.recipes, workload)
        self.workload, self.ranks, self.recipe = workload, ranks, str(path)
        self.quern = arguments.quern
        self.launch = shlex.split(arguments.launcher.format(ranks=ranks))
        data = recipe["data"]
        self.batch = arguments.batch or data.get("global_batch") or data["batch_per_rank"] * ranks
        self.settings = ["--set", f"data.global_batch={self.batch}"]
        self.predicted, self.measured = [], []

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            sums = Path(folder) / "allreduce.json"
            sums.write_text(json.dumps(run_quern(
                [*self.launch, self.quern, "bench", "allreduce", self.recipe, *self.settings,
                 "--mode", "rank-invariant"])))
            plan = run_quern([self.quern, "plan", self.recipe, *self.settings, "--nodes", "1",
                              "--ranks-per-node", str(self.ranks), "--bench", str(sums)])
            step = run_quern([*self.launch, self.quern, "bench", "step", self.recipe, *self.settings,
                              "--rounds", "1"])
        try:
            self.predicted.append(float(plan["steps"][0]["step_us"]))
            self.measured.append(float(step["step_us"]))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ProblemError(f"no usable figures of {self.workload}: {error!r}") from error

    def figures(self):
        predicted, measured = statistics.median(self.predicted), statistics.median(self.measured)
        return {"workload": self.workload, "ranks": self.ranks, "global_batch": self.batch,
                "predicted_us": predicted, "measured_us": measured, "error": predicted / measured - 1}


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=name_list(list(RECIPES)), default=list(RECIPES),
                        metavar="W1,...", help="of W1, W2, W7 (default: all)")
    parser.add_argument("--ranks", type=ranks_list, default=[2, 4], metavar="N,...",
                        help="(default: 2,4)")
    parser.add_argument("--batch", type=positive,
                        help="global batch (default: what the recipe says for so many ranks)")
    parser.add_argument("--rounds", type=positive, default=5, help="(default: 5)")
    parser.add_argument("--limit", type=float, default=0.15,
                        help="largest error that is good (default: 0.15)")
    parser.add_argument("--launcher", default="mpirun --oversubscribe -n {ranks}", metavar="COMMAND",
                        help="starts {ranks} ranks (default: %(default)s)")
    parser.add_argument("--quern", default=str(ROOT / "build/release/bin/quern"),
                        help="the program (default: %(default)s)")
    parser.add_argument("--recipes", type=Path, default=ROOT / "recipes",
                        help="folder of the recipes (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures to this file")
    return parser.parse_args(words)


def main(words=None):
    arguments = parse_arguments(words)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_PROC_BIND", "false")
    try:
        checks = [Check(arguments, workload, ranks)
                  for workload in arguments.workloads for ranks in arguments.ranks]
        for _ in range(arguments.rounds):
            for check in checks:
                check.run()
        results = [check.figures() for check in checks]
        print(f"us of a step, medians of {arguments.rounds} rounds")
        print(f"{'':9}{'batch':>6}{'ranks':>7}{'predicted':>11}{'measured':>10}{'error':>9}")
        for row in results:
            print(f"{row['workload']:9}{row['global_batch']:>6}{row['ranks']:>7}"
                  f"{row['predicted_us']:>11.0f}{row['measured_us']:>10.0f}{100 * row['error']:>+8.1f} %")
        if arguments.json:
            arguments.json.write_text(json.dumps({"rounds": arguments.rounds, "results": results},
                                                 indent=2) + "\n")
    except (ProblemError, OSError) as error:
        print(f"check_plan: {error}", file=sys.stderr)
        return 2
    return 1 if any(abs(row["error"]) > arguments.limit for row in results) else 0


if __name__ == "__main__":
    sys.exit(main())
