#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps on several ranks of this machine, as `quern plan` predicts them and as they are.

For each workload, split and number of ranks, in every round: `quern bench allreduce` on the ranks, `quern plan`
with what it wrote, which measures the ranks at once, each alone, and `quern bench step` on the ranks. Prints the
medians and how far the prediction is off; exit status 1 where that is more than --limit.

With --virtual-nodes N the ranks are spread over N nodes of a virtual Slurm cluster (tests/slurm) on this machine:
what they send goes over the loopback. Each node makes the plan, at the same time, and the first one counts.
"""

import argparse
import contextlib
import json
import os
import shlex
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from contender import run_quern
from words import name_list, positive
from workloads import RECIPES, ProblemError, read_recipe, settings_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "slurm" / "support"))
MPIRUN = "mpirun --oversubscribe -n {ranks}"
SRUN = "srun --mpi=pmix --overcommit -N {nodes} -n {ranks}"


def ranks_list(text):
    return [positive(word) for word in text.split(",")]


# By parallel.strategy; a network in stages has four pieces for each, or one where it normalises over the batch.
SPLITS = {"samples": [], "pipeline": ["parallel.strategy=pipeline"], "tensor": ["parallel.strategy=tensor"]}
MESSAGES = ["16K", "64K", "256K", "1M", "4M"]  # sizes that tell what a message costs, and what a byte


class Check:
    def __init__(self, arguments, workload, split, ranks):
        path, recipe = read_recipe(arguments.recipes, workload)
        self.workload, self.split, self.ranks, self.recipe = workload, split, ranks, str(path)
        self.quern, self.nodes = arguments.quern, arguments.virtual_nodes or 1
        if ranks % self.nodes:
            raise ProblemError(f"{ranks} ranks are not as many on each of {self.nodes} nodes")
        self.launch = shlex.split(arguments.launcher.format(ranks=ranks, nodes=self.nodes))
        here = arguments.launcher.format(ranks=ranks // self.nodes, nodes=1)
        self.launch_node = shlex.split(here)
        data = recipe["data"]
        self.batch = arguments.batch or data.get("global_batch") or data["batch_per_rank"] * ranks
        settings = [*settings_of(arguments.recipes, workload), *SPLITS[split], f"data.global_batch={self.batch}"]
        self.settings = [word for setting in settings for word in ("--set", setting)]
        self.predicted, self.measured = [], []

    def sums(self):
        """What `quern bench allreduce` is to measure."""
        sizes = MESSAGES if self.split != "samples" or self.nodes > 1 else []
        words = [word for size in sizes for word in ("--bytes", size)]
        recipe = [self.recipe, *self.settings, "--after-step"] if self.split == "samples" else []
        return [*recipe, *words, "--mode", "rank-invariant"]

    def plan(self, sums):
        """Of the first of the nodes, which all make it."""
        command = [*self.launch_node, self.quern, "plan", self.recipe, *self.settings, "--nodes", str(self.nodes),
                   "--ranks-per-node", str(self.ranks // self.nodes), "--bench", str(sums)]
        with ThreadPoolExecutor(self.nodes) as nodes:
            return list(nodes.map(run_quern, [command] * self.nodes))[0]

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            sums = Path(folder) / "allreduce.json"
            sums.write_text(json.dumps(run_quern([*self.launch, self.quern, "bench", "allreduce", *self.sums()])))
            plan = self.plan(sums)
        step = run_quern([*self.launch, self.quern, "bench", "step", self.recipe, *self.settings, "--rounds", "1"])
        try:
            self.predicted.append(float(plan["steps"][-1]["step_us"]))
            self.measured.append(float(step["step_us"]))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ProblemError(f"no usable figures of {self.workload}: {error!r}") from error

    def figures(self):
        predicted, measured = statistics.median(self.predicted), statistics.median(self.measured)
        return {"workload": self.workload, "split": self.split, "ranks": self.ranks, "nodes": self.nodes,
                "global_batch": self.batch, "predicted_us": predicted, "measured_us": measured, "error": predicted / measured - 1}


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=name_list([*RECIPES, "resnet20"]), default=list(RECIPES),
                        metavar="W1,...", help="of W1, W2, W7 and resnet20 (default: the first three)")
    parser.add_argument("--splits", type=name_list(list(SPLITS)), default=["samples"], metavar="HOW,...",
                        help="of samples, pipeline and tensor (default: samples)")
    parser.add_argument("--ranks", type=ranks_list, default=[2, 4], metavar="N,...",
                        help="(default: 2,4)")
    parser.add_argument("--batch", type=positive,
                        help="global batch (default: what the recipe says for so many ranks)")
    parser.add_argument("--rounds", type=positive, default=5, help="(default: 5)")
    parser.add_argument("--limit", type=float, default=0.15,
                        help="largest error that is good (default: 0.15)")
    parser.add_argument("--virtual-nodes", type=positive, metavar="N",
                        help="spread the ranks over N virtual nodes (needs Slurm's daemons)")
    parser.add_argument("--launcher", metavar="COMMAND",
                        help=f"starts {{ranks}} ranks on {{nodes}} nodes (default: {MPIRUN!r}; on virtual nodes {SRUN!r})")
    parser.add_argument("--quern", default=str(ROOT / "build/release/bin/quern"),
                        help="the program (default: %(default)s)")
    parser.add_argument("--recipes", type=Path, default=ROOT / "recipes",
                        help="folder of the recipes (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures to this file")
    arguments = parser.parse_args(words)
    arguments.launcher = arguments.launcher or (SRUN if arguments.virtual_nodes else MPIRUN)
    return arguments


@contextlib.contextmanager
def virtual_nodes(count):
    """A cluster of so many nodes for all that this process starts; nothing for none."""
    if not count:
        yield
        return
    import cluster  # which looks at the command line
    missing = cluster.missing_daemons()
    if missing:
        raise ProblemError("--virtual-nodes: no " + ", ".join(missing))
    nodes = cluster.Cluster(NODES=count, CPUS=os.cpu_count())
    try:
        os.environ.update(nodes.env)
        yield
    finally:
        nodes.stop()


def main(words=None):
    arguments = parse_arguments(words)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_PROC_BIND", "false")
    try:
        checks = [Check(arguments, workload, split, ranks) for workload in arguments.workloads
                  for split in arguments.splits for ranks in arguments.ranks]
        with virtual_nodes(arguments.virtual_nodes):
            for _ in range(arguments.rounds):
                for check in checks:
                    check.run()
        results = [check.figures() for check in checks]
        where = f", on {arguments.virtual_nodes} virtual nodes" if arguments.virtual_nodes else ""
        print(f"us of a step, medians of {arguments.rounds} rounds{where}")
        print(f"{'':9}{'':9}{'batch':>6}{'ranks':>7}{'predicted':>11}{'measured':>10}{'error':>9}")
        for row in results:
            print(f"{row['workload']:9}{row['split']:9}{row['global_batch']:>6}{row['ranks']:>7}"
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
