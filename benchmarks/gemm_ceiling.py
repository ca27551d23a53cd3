#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the matrix products of a training step cost alone, in the best of the installed libraries.

Runs OpenBLAS (with each of its core types that this processor can run), BLIS and oneDNN in turn on
one core and prints Gflop/s of every product, the best library, and for each workload the sum of
the best times: what a step would cost in which all else is free. `quern bench step` runs in the
same rounds, so that the last line compares like with like.
"""

import argparse
import statistics
import sys
import textwrap
from pathlib import Path

from comparison import run_comparison
from contender import QuernStep, pin
from gemm_libraries import LIBRARIES, start_libraries
from script import ROOT, add_json, add_quern, add_recipes
from words import name_list, positive
from workloads import RECIPES, ProblemError, batch_size, read_recipe, step_gemms

STEPS = {"W1": 300, "W2": 20, "W7": 300}


def measure(workload, arguments, libraries):
    """Medians over the rounds, of each product in each library and of Quern's step."""
    path, recipe = read_recipe(arguments.recipes, workload)
    gemms = step_gemms(recipe)
    quern = QuernStep(arguments.quern, path, STEPS[workload], arguments.set)
    seconds = {(gemm.shape, label): [] for gemm in gemms for label in libraries}
    steps, peaks, labels = [], [], list(libraries)
    for turn in range(arguments.rounds):
        for shape in dict.fromkeys(gemm.shape for gemm in gemms):
            for label in labels[turn % len(labels):] + labels[:turn % len(labels)]:
                seconds[shape, label].append(libraries[label].ask(shape)["seconds"])
        answer = quern.ask()
        steps.append(answer["seconds"] / answer["samples"] * batch_size(recipe))
        peaks.append(answer["peak_gflops"])
    rows = [product_row(gemm, {label: statistics.median(seconds[gemm.shape, label])
                               for label in labels}) for gemm in gemms]
    ceiling, step = sum(row["best_us"] for row in rows), statistics.median(steps) * 1e6
    return {"workload": workload, "recipe": RECIPES[workload], "products": rows,
            "best_sum_us": ceiling, "peak_gflops": statistics.median(peaks), "step_us": step,
            "fastest_step_us": min(steps) * 1e6, "slowest_step_us": max(steps) * 1e6,
            "step_over_products": step / ceiling,
            "library_sum_us": {title(label): sum(row["us"][title(label)] for row in rows)
                               for label in labels}}


def title(label):
    return ":".join(filter(None, label))


def product_row(gemm, times):
    """`times`: seconds by (library, kernels)."""
    best = min(times, key=times.get)
    by_library = {}
    for (library, _), time in times.items():
        by_library[library] = max(gemm.flop / time * 1e-9, by_library.get(library, 0))
    return {**gemm._asdict(), "flop": gemm.flop, "best": title(best), "best_us": times[best] * 1e6,
            "gflops": by_library, "us": {title(label): time * 1e6 for label, time in times.items()}}


def print_result(result):
    libraries = list(result["products"][0]["gflops"])
    print(f"\n{result['workload']} ({result['recipe']}), Gflop/s of each library at its best; "
          f"FMA peak {result['peak_gflops']:.0f}\n{'':41}"
          + "".join(f"{name:>10}" for name in libraries) + f"{'best us':>10}  best")
    for row in result["products"]:
        shape = f"{row['form']} {row['m']}x{row['n']}x{row['k']}"
        print(f"{row['layer'] + ' ' + row['what']:23}{shape:18}"
              + "".join(f"{row['gflops'][name]:10.1f}" for name in libraries)
              + f"{row['best_us']:10.2f}  {row['best']}")
    sums = ", ".join(f"{name} {total:.1f}" for name, total in result["library_sum_us"].items())
    print(textwrap.fill(f"us of all products: {sums}", 100, break_on_hyphens=False,
                        subsequent_indent=" " * 4))
    rate = sum(row["flop"] for row in result["products"]) / result["best_sum_us"] * 1e-3
    print(f"best of each: {result['best_sum_us']:.1f} us ({rate:.0f} Gflop/s); Quern's whole step: "
          f"{result['step_us']:.1f} us ({result['fastest_step_us']:.1f} to "
          f"{result['slowest_step_us']:.1f}), {result['step_over_products']:.2f} times as long",
          flush=True)


def named_library(text):
    name, separator, path = text.partition("=")
    if not separator or not name or not path:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=PATH")
    return name, path


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=name_list(RECIPES), default=list(RECIPES),
                        metavar="W,...", help=f"of {','.join(RECIPES)} (default: all)")
    parser.add_argument("--library", type=named_library, action="append", default=[],
                        metavar="NAME=PATH", help="another one, or another place of a known one "
                        f"({', '.join(LIBRARIES)}); may be repeated")
    parser.add_argument("--rounds", type=positive, default=5, help="default: 5")
    parser.add_argument("--core", type=int, help="the core to use (default: the last one)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="passed on to quern bench; may be repeated")
    add_quern(parser)
    parser.add_argument("--program", default=str(ROOT / "build/release/benchmarks/gemm_ceiling"),
                        help="that calls the libraries (default: %(default)s)")
    add_recipes(parser)
    add_json(parser)
    return parser.parse_args(words)


def measure_all(arguments):
    if not Path(arguments.program).exists():
        raise ProblemError(f"there is no {arguments.program}: configure with "
                           "-DQUERN_ENABLE_BENCHMARKS=ON and build the target gemm_ceiling")
    core = pin(1, None if arguments.core is None else [arguments.core])[0]
    libraries, missing = start_libraries(arguments)
    try:
        for name, why in missing.items():
            print(f"{name} is left out: {why}")
        if not libraries:
            raise ProblemError("there is no library to measure; benchmarks/README.md says what to "
                               "install")
        print(f"one thread on core {core}, medians of {arguments.rounds} rounds", flush=True)
        results = []
        for workload in arguments.workloads:
            results.append(measure(workload, arguments, libraries))
            print_result(results[-1])
        return {"left_out": missing, "results": results}
    finally:
        for process in libraries.values():
            process.close()


def main(words=None):
    return run_comparison("gemm_ceiling", parse_arguments(words), measure_all)


if __name__ == "__main__":
    sys.exit(main())
