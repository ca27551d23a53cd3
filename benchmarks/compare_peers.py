#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quern against PyTorch (eager, torch.compile) and JAX: the same training steps, in turn, in one run.

Prints seconds per epoch, the fraction of the multiply-add peak that Quern measured in the same
rounds, and Quern's speed relative to each peer's (above 1: Quern is faster). Each round runs all of
them, each time in another order; the figures are medians over the rounds. In bf16, Quern's own fp32
takes part as well, and the peak is still that of fp32.
"""

import argparse
import statistics
import sys

from compare_gemms import compare_gemms, print_gemms
from comparison import make_parser, run_comparison, run_rounds, spread
from contender import QuernStep, fast_bf16_sums, pin
from peers import PEERS, PRECISIONS, start_step, try_variants, variants_of
from words import core_list, name_list, positive
from workloads import (RECIPES, RESIDUAL, STEPS, TRAIN_SAMPLES, ProblemError, batch_size, read_recipe,
                       settings_of, step_gemms)

TRIAL_STEPS = {"W1": 117, "W2": 3, "W7": 117, "resnet20": 3, "resnet50": 1}


def choose_variant(peer, arguments, workload, precision, recipe):
    """(variant, trial speeds): the one that was asked for, else the quickest of a short trial."""
    asked = dict(arguments.variant).get(peer)
    variants = variants_of(peer, recipe)
    if asked or len(variants) == 1:
        return asked or variants[0], {}
    speeds = try_variants(peer, arguments, workload, precision, variants, TRIAL_STEPS[workload])
    return max(speeds, key=speeds.get), speeds


def start_contenders(contenders, workload, precision, arguments):
    """Adds {name: process}, Quern first; returns {name: facts}."""
    path, recipe = read_recipe(arguments.recipes, workload)
    steps = arguments.steps or STEPS[workload]
    querns = {"quern": ("Quern", precision, [])}
    if precision == "bf16":
        querns = {"quern": ("Quern", "bf16", fast_bf16_sums(arguments.quern)),
                  "quern-fp32": ("Quern, fp32", "fp32", [])}
    facts = {}
    for name, (title, rounded_to, own) in querns.items():
        settings = [*settings_of(arguments.recipes, workload, rounded_to), *own, *arguments.set]
        contenders[name] = QuernStep(arguments.quern, path, steps, settings)
        facts[name] = {"title": title, "variant": " ".join(settings)}
    for peer in peers_in(precision, arguments):
        variant, trial = choose_variant(peer, arguments, workload, precision, recipe)
        contenders[peer] = start_step(peer, arguments, workload, precision, variant, steps)
        facts[peer] = {"title": PEERS[peer].title, "variant": variant, "trial_samples_per_s": trial,
                       **contenders[peer].facts}
    return facts


def peers_in(precision, arguments):
    peers = [peer for peer in arguments.peers if precision in PEERS[peer].precisions]
    if arguments.peers and not peers:
        raise ProblemError(f"{', '.join(arguments.peers)}: not compared in {precision}")
    return peers


def summarise(workload, precision, recipe, rounds, facts):
    """`rounds`: {contender: answers}."""
    flop = sum(gemm.flop for gemm in step_gemms(recipe)) / batch_size(recipe)
    peak = statistics.median(answer["peak_gflops"] for answer in rounds["quern"])
    result = {"workload": workload, "precision": precision, "recipe": recipe["name"],
              "peak_gflops": peak, "flop_per_sample": flop, "contenders": {}}
    speeds = {name: [answer["samples"] / answer["seconds"] for answer in answers]
              for name, answers in rounds.items()}
    for name, values in speeds.items():
        speed = spread(values)
        figures = {**facts[name], "samples_per_s": speed,
                   "seconds_per_epoch": spread([TRAIN_SAMPLES / value for value in values]),
                   "fraction_of_peak": speed["median"] * flop / (peak * 1e9), "rounds": values}
        if name != "quern":
            figures["ratio"] = spread([q / p for q, p in zip(speeds["quern"], values)])
        result["contenders"][name] = figures
    return result


def compare(workload, precision, arguments):
    recipe = read_recipe(arguments.recipes, workload)[1]
    contenders = {}
    try:
        facts = start_contenders(contenders, workload, precision, arguments)
        rounds = run_rounds(contenders, arguments.rounds)
    finally:
        for contender in contenders.values():
            contender.close()
    return summarise(workload, precision, recipe, rounds, facts)


def print_result(result):
    print(f"\n{result['workload']} ({result['recipe']}) in {result['precision']}, FMA peak "
          f"{result['peak_gflops']:.0f} Gflop/s\n{'':15}{'s/epoch':>8} {'(range)':>16}{'samples/s':>12}{'of peak':>9}   "
          "Quern's speed / its  variant")
    for figures in result["contenders"].values():
        epoch, ratio = figures["seconds_per_epoch"], figures.get("ratio")
        ratio_text = f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})" \
            if ratio else ""
        range_text = f"{epoch['min']:.3f} to {epoch['max']:.3f}"
        print(f"{figures['title']:15}{epoch['median']:8.3f} {range_text:>16}"
              f"{figures['samples_per_s']['median']:12,.0f}"
              f"{100 * figures['fraction_of_peak']:7.0f} %   {ratio_text:19}  {figures['variant']}",
              flush=True)


def named_variant(text):
    peer, separator, variant = text.partition("=")
    if peer not in PEERS or not separator or not variant:
        raise argparse.ArgumentTypeError(f"'{text}' is not PEER=VARIANT")
    return peer, variant


def parse_arguments(words):
    parser = make_parser(__doc__, workloads=[*RECIPES, "gemm", *RESIDUAL], peers=PEERS,
                         default_workloads=[*RECIPES, "gemm"], program="build/release/bin/quern",
                         default_steps="468; W2, resnet20: 20; resnet50: 3")
    parser.add_argument("--threads", type=positive, default=1, help="of each (default: 1)")
    parser.add_argument("--cores", type=core_list,
                        metavar="N,...", help="one per thread (default: the last ones)")
    parser.add_argument("--precision", type=name_list(PRECISIONS), default=["fp32"], metavar="P,...",
                        help="of the products of all: fp32, bf16 (default: fp32); JAX and gemm take "
                        "part in fp32 only")
    parser.add_argument("--variant", type=named_variant, action="append", default=[],
                        metavar="PEER=VARIANT", help="skip the trial that chooses a peer's variant")
    return parser.parse_args(words)


def compare_all(arguments):
    cores = pin(arguments.threads, arguments.cores)
    print(f"{arguments.threads} thread(s) on core(s) {', '.join(map(str, cores))}; medians of "
          f"{arguments.rounds} rounds; epochs of {TRAIN_SAMPLES} samples", flush=True)
    results = []
    for workload in arguments.workloads:
        if workload == "gemm":
            if "fp32" in arguments.precision:
                results.append(compare_gemms(arguments))
                print_gemms(results[-1])
            continue
        for precision in arguments.precision:
            results.append(compare(workload, precision, arguments))
            print_result(results[-1])
    if arguments.workloads and not results:
        raise ProblemError("gemm: compared in fp32 only")
    return {"threads": arguments.threads, "cores": cores, "results": results}


def main(words=None):
    return run_comparison("compare_peers", parse_arguments(words), compare_all)


if __name__ == "__main__":
    sys.exit(main())
