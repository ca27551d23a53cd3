#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the peak memory of training steps in Quern and in PyTorch.

Each runs a few steps in a process of its own, on random samples of the recipe's shape (at most 128 MB of them), on one
thread. What a process takes that only loads the program (PyTorch and Python, `quern info`) is subtracted.

Example: benchmarks/peak_memory.py recipes/resnet50.toml --set data.global_batch=32 --set train.micro_block=16
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from workloads import ProblemError, load_recipe

HERE = Path(__file__).resolve().parent
STEPS = 3


def peak_bytes(command):
    """Most memory that the process of `command` had resident."""
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise ProblemError(f"{command[0]} ended with status {process.returncode}: {output.strip()}")
    return usage.ru_maxrss * 1024


def take_steps(recipe, words):
    """Of PyTorch, in this process."""
    import torch
    from torch_step import TorchStep
    torch.set_num_threads(1)
    if recipe:
        TorchStep(torch, recipe, words).run(STEPS)


def measure(arguments):
    """[(title, bytes beside the program)], Quern first."""
    settings = [word for setting in arguments.set for word in ("--set", setting)]
    quern = [arguments.quern, "bench", "step", str(arguments.recipe), "--rounds", "1", "--steps", str(STEPS), *settings]
    rows = [("Quern", peak_bytes(quern) - peak_bytes([arguments.quern, "info"]))]
    torch = [sys.executable, "-B", __file__, str(arguments.recipe), *settings]
    program = peak_bytes([*torch, "--take", "nothing"])
    for words in arguments.variant:
        rows.append((f"PyTorch, {words}", peak_bytes([*torch, "--take", words]) - program))
    return rows


def table(rows):
    least = min(size for _, size in rows[1:])
    lines = [f"{title:<32} {size / 2**20:8.0f} MiB  {size / least:5.2f}" for title, size in rows]
    return "\n".join([f"{'peak memory beside the program':<45} of PyTorch's least", *lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as of `quern train`")
    parser.add_argument("--quern", default=str(HERE.parent / "build" / "release" / "bin" / "quern"))
    parser.add_argument("--variant", action="append", metavar="WORDS",
                        help="of torch_step.py (default: fused and fused+channels_last)")
    parser.add_argument("--take", metavar="WORDS", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.variant = arguments.variant or ["fused", "fused+channels_last"]
    if arguments.take:
        nothing = arguments.take == "nothing"
        take_steps(None if nothing else load_recipe(arguments.recipe, arguments.set), set(arguments.take.split("+")))
        return 0
    try:
        print(table(measure(arguments)))
    except ProblemError as error:
        print(f"peak_memory.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
