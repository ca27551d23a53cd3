#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What starting costs as the number of ranks grows.

For each number of ranks, whole processes: a plan only (launcher, MPI, recipe: `train --dry-run`) and
a run of one step without data files and checkpoints. With more ranks than cores read the processor
time of a rank, which should stay the same; with a core for each rank read the seconds.
"""

import argparse
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contender import failure_line
from script import add_launcher, add_quern, exit_status, one_thread_a_rank
from words import positive
from workloads import ProblemError

# A global batch for up to 512 ranks; one step an epoch.
RECIPE = """
name = "startup"
[data]
source = "random"
samples = 512
global_batch = 512
target = "values"
[network]
input = [784]
layers = [
  {type = "linear", features = 128},
  {type = "relu"},
  {type = "linear", features = 10},
]
[loss]
type = "mse"
[optimizer]
type = "adam"
lr = 1e-3
[train]
epochs = 1
micro_block = 1
[checkpoint]
every_epochs = 0
"""


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command):
    """Seconds that a command takes, and processor seconds of all its processes."""
    before, start = processor_seconds(), time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ProblemError(f"cannot start {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise ProblemError(f"'{shlex.join(command)}' failed with exit status {done.returncode}: "
                           f"{failure_line(done.stderr or done.stdout)}")
    return time.perf_counter() - start, processor_seconds() - before


def measure(arguments, recipe, folder, ranks):
    """Medians of seconds and of processor seconds of a rank: for the plan, and for one step."""
    launch = shlex.split(arguments.launcher.format(ranks=ranks))
    train = [*launch, arguments.quern, "train", str(recipe)]
    plans, steps = [], []
    for number in range(arguments.rounds):
        plans.append(run([*train, "--dry-run"]))
        steps.append(run([*train, "--run-dir", str(folder / f"{ranks}-{number}")]))
    def medians(runs):
        return (statistics.median(seconds for seconds, _ in runs),
                statistics.median(cpu for _, cpu in runs) / ranks)
    return *medians(plans), *medians(steps)


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=lambda text: [positive(word) for word in text.split(",")],
                        default=[1, 2, 4, 8, 16, 32, 64], metavar="N,...",
                        help="numbers of ranks (default: 1,2,4,8,16,32,64)")
    parser.add_argument("--rounds", type=positive, default=3, help="(default: 3)")
    add_launcher(parser, "mpirun -n {ranks}")
    add_quern(parser)
    return parser.parse_args(words)


def run_all(arguments):
    print(f"{len(os.sched_getaffinity(0))} core(s); medians of {arguments.rounds} rounds; "
          "cpu: processor seconds of a rank")
    print(f"{'ranks':>6}{'plan, s':>10}{'cpu':>8}{'one step, s':>14}{'cpu':>8}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recipe = folder / "startup.toml"
        recipe.write_text(RECIPE)
        for ranks in arguments.ranks:
            plan, plan_cpu, step, step_cpu = measure(arguments, recipe, folder, ranks)
            print(f"{ranks:>6}{plan:>10.2f}{plan_cpu:>8.2f}{step:>14.2f}{step_cpu:>8.2f}", flush=True)


def main(words=None):
    arguments = parse_arguments(words)
    one_thread_a_rank()
    return exit_status("startup", lambda: run_all(arguments))


if __name__ == "__main__":
    sys.exit(main())
