#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quern against PyTorch on one GPU: eager, torch.compile and a whole-step CUDA graph, in one run.

Prints microseconds per step, Quern's speed relative to each peer's (above 1: Quern is faster) and
the targets next to them. Each round runs all of them, each time in another order; the
figures are medians over the rounds. Needs a Quern built for GPUs and a PyTorch that finds one.
"""

import sys
from typing import NamedTuple

from comparison import make_parser, run_comparison, run_rounds, spread
from contender import HERE, Process, QuernStep, run_quern
from words import name_list
from workloads import RECIPES, ProblemError, read_recipe

PEERS = {"eager": "PyTorch eager", "compile": "torch.compile", "graph": "PyTorch, whole-step graph"}
STEPS = {"W1": 4680, "W2": 2340, "W7": 4680}


class Target(NamedTuple):
    must: float
    goal: float


# Of one H200. Microseconds of a step, and Quern's speed relative to the peer's.
STEP_TARGETS = {("W1", "fp32"): Target(60, 30), ("W7", "fp32"): Target(80, 40),
                ("W2", "fp32"): Target(180, 100), ("W2", "tf32"): Target(120, 45)}
RATIO_TARGETS = {"eager": Target(5, 12), "graph": Target(1, 2)}


class GpuQuernStep(QuernStep):
    def ask(self):
        facts = run_quern(self.command)
        try:
            samples = facts["global_batch"] * self.steps
            return {"seconds": samples / float(facts["samples_per_s"]), "samples": samples}
        except (KeyError, TypeError, ValueError) as error:
            raise ProblemError(f"no usable figures from quern bench step: {error!r}") from error


def start(workload, precision, arguments):
    """{name: contender}, Quern first."""
    path, _ = read_recipe(arguments.recipes, workload)
    steps = arguments.steps or STEPS[workload]
    # Neither side reports losses rank by rank.
    settings = ["train.per_rank_loss=false", *arguments.set, f"train.precision={precision}"]
    contenders = {"quern": GpuQuernStep(arguments.quern, path, steps, settings)}
    try:
        for peer in arguments.peers:
            contenders[peer] = Process([arguments.python, "-B", HERE / "torch_gpu_step.py", path, peer,
                                        precision, steps])
    except ProblemError:
        close(contenders)
        raise
    return contenders


def close(contenders):
    for contender in contenders.values():
        contender.close()


def compare(workload, precision, arguments):
    contenders = start(workload, precision, arguments)
    try:
        facts = {name: contenders[name].facts for name in arguments.peers}
        rounds = run_rounds(contenders, arguments.rounds)
    finally:
        close(contenders)
    steps = arguments.steps or STEPS[workload]
    result = {"workload": workload, "recipe": RECIPES[workload], "precision": precision,
              "contenders": {}}
    for name, answers in rounds.items():
        times = [1e6 * answer["seconds"] / steps for answer in answers]
        figures = {"title": PEERS.get(name, "Quern"), "step_us": spread(times), **facts.get(name, {})}
        if name != "quern":
            ours = [1e6 * answer["seconds"] / steps for answer in rounds["quern"]]
            figures["ratio"] = spread([theirs / our for theirs, our in zip(times, ours)])
        result["contenders"][name] = figures
    return result


def target_text(target):
    return f"{target.must:g} / {target.goal:g}" if target else ""


def rows_of(result):
    """Lines of a Markdown table."""
    target = STEP_TARGETS.get((result["workload"], result["precision"]))
    for name, figures in result["contenders"].items():
        time, ratio = figures["step_us"], figures.get("ratio")
        ratio_text = f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})" \
            if ratio else ""
        own = target if name == "quern" else None
        yield (f"| {result['workload']} {result['precision']} | {figures['title']} | "
               f"{time['median']:.1f} ({time['min']:.1f} to {time['max']:.1f}) | {target_text(own)} | "
               f"{ratio_text} | {target_text(RATIO_TARGETS.get(name))} |")


HEADER = ("| workload | contender | us per step (range) | must / goal | Quern's speed / its (range) | "
          "must / goal |\n|---|---|---|---|---|---|")


def parse_arguments(words):
    parser = make_parser(__doc__, workloads=RECIPES, peers=PEERS, program="build/cuda-nccl/bin/quern",
                         default_steps="10 epochs")
    parser.add_argument("--precision", type=name_list(("fp32", "tf32")), default=["fp32"],
                        metavar="P,...", help="of the products on both sides: fp32, tf32 (default: fp32)")
    return parser.parse_args(words)


def compare_all(arguments):
    print(HEADER, flush=True)
    results = []
    for workload in arguments.workloads:
        for precision in arguments.precision:
            results.append(compare(workload, precision, arguments))
            print("\n".join(rows_of(results[-1])), flush=True)
    return {"results": results}


def main(words=None):
    return run_comparison("gpu_peers", parse_arguments(words), compare_all)


if __name__ == "__main__":
    sys.exit(main())
