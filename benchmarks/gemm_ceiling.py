#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the matrix products of a training step cost alone, in the best of the installed libraries.

Runs OpenBLAS (with each of its core types that this processor can run), BLIS and oneDNN in turn on
one core and prints Gflop/s of every product, the best library, and for each workload the sum of
the best times: what a step would cost in which all else is free. `quern bench step` runs in the
same rounds, so that the last line compares like with like.
"""

import argparse
import json
import platform
import statistics
import sys
from pathlib import Path

from contender import Process, QuernStep, pin
from words import name_list, positive
from workloads import RECIPES, ProblemError, batch_size, read_recipe, step_gemms

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = {"openblas": ("libopenblas.so.0", "libopenblas.so"),
             "blis": ("libblis.so.5", "libblis.so.4", "libblis.so.3", "libblis.so"),
             "onednn": ("libdnnl.so.3", "libdnnl.so.2", "libdnnl.so")}
# OPENBLAS_CORETYPE by what the processor must have, see /proc/cpuinfo.
CORE_TYPES = {"HASWELL": "avx2", "ZEN": "avx2", "SKYLAKEX": "avx512f", "COOPERLAKE": "avx512_bf16",
              "SAPPHIRERAPIDS": "amx_bf16"}
STEPS = {"W1": 300, "W2": 20, "W7": 300}
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "BLIS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def processor_flags():
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    return {word for line in text.splitlines() if line.startswith("flags") for word in line.split()}


def core_types():
    """"" is OpenBLAS' own choice."""
    if platform.machine() != "x86_64":
        return [""]
    flags = processor_flags()
    return ["", *(name for name, needed in CORE_TYPES.items() if needed in flags)]


def start_first(program, files, environment):
    """(process, "") of the first library that can be used, or (None, why not)."""
    for file in files:
        try:
            return Process([program, file], {**ONE_THREAD, **environment}), ""
        except ProblemError as error:
            why = str(error)
    return None, why


def start_libraries(arguments):
    """({label: process}, {label: why it is left out})"""
    given = dict(arguments.library)
    running, missing = {}, {}
    for name in dict.fromkeys([*LIBRARIES, *given]):
        files = [given[name]] if name in given else LIBRARIES[name]
        for core in core_types() if name.startswith("openblas") else [""]:
            process, why = start_first(arguments.program, files,
                                       {"OPENBLAS_CORETYPE": core} if core else {})
            if process is None:
                missing[name] = why
                break
            label = f"{name}:{process.facts['core']}" if process.facts["core"] else name
            if label in running:
                process.close()  # its own choice, or a type that this version does not know
            else:
                running[label] = process
    return running, missing


def measure(workload, arguments, libraries):
    """Medians over the rounds, of each product in each library and of Quern's step."""
    path, recipe = read_recipe(arguments.recipes, workload)
    gemms = step_gemms(recipe)
    quern = QuernStep(arguments.quern, path, STEPS[workload], arguments.set)
    seconds = {(shape, label): [] for shape in {gemm.shape for gemm in gemms} for label in libraries}
    steps, peaks, labels = [], [], list(libraries)
    for turn in range(arguments.rounds):
        for shape in dict.fromkeys(gemm.shape for gemm in gemms):
            for label in labels[turn % len(labels):] + labels[:turn % len(labels)]:
                seconds[shape, label].append(libraries[label].ask(shape)["seconds"])
        answer = quern.ask()
        steps.append(answer["seconds"] / answer["samples"] * batch_size(recipe))
        peaks.append(answer["peak_gflops"])
    rows = []
    for gemm in gemms:
        times = {label: statistics.median(seconds[gemm.shape, label]) for label in labels}
        best = min(times, key=times.get)
        rows.append({**gemm._asdict(), "flop": gemm.flop, "best": best, "best_us": times[best] * 1e6,
                     "us": {label: time * 1e6 for label, time in times.items()}})
    ceiling, step = sum(row["best_us"] for row in rows), statistics.median(steps) * 1e6
    return {"workload": workload, "recipe": RECIPES[workload], "products": rows,
            "best_sum_us": ceiling, "peak_gflops": statistics.median(peaks), "step_us": step,
            "fastest_step_us": min(steps) * 1e6, "slowest_step_us": max(steps) * 1e6,
            "step_over_products": step / ceiling,
            "library_sum_us": {label: sum(row["us"][label] for row in rows) for label in labels}}


def print_result(result, labels):
    print(f"\n{result['workload']} ({result['recipe']}), Gflop/s; FMA peak "
          f"{result['peak_gflops']:.0f} Gflop/s\n{'':40}"
          + "".join(f"{label:>20}" for label in labels) + f"{'best us':>10}  best")
    for row in result["products"]:
        shape = f"{row['form']} {row['m']}x{row['n']}x{row['k']}"
        print(f"{row['layer'] + ' ' + row['what']:22}{shape:18}"
              + "".join(f"{row['flop'] / row['us'][label] * 1e-3:20.1f}" for label in labels)
              + f"{row['best_us']:10.2f}  {row['best']}")
    print(f"{'sum, us':40}" + "".join(f"{result['library_sum_us'][label]:20.1f}" for label in labels)
          + f"{result['best_sum_us']:10.1f}")
    flop = sum(row["flop"] for row in result["products"])
    print(f"products at {flop / result['best_sum_us'] * 1e-3:.0f} Gflop/s; Quern's whole step "
          f"{result['step_us']:.1f} us ({result['fastest_step_us']:.1f} to "
          f"{result['slowest_step_us']:.1f}): {result['step_over_products']:.2f} of the products "
          "alone", flush=True)


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
    parser.add_argument("--quern", default=str(ROOT / "build/release/bin/quern"),
                        help="the program (default: %(default)s)")
    parser.add_argument("--program", default=str(ROOT / "build/release/benchmarks/gemm_ceiling"),
                        help="that calls the libraries (default: %(default)s)")
    parser.add_argument("--recipes", type=Path, default=ROOT / "recipes",
                        help="folder of the recipes (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures to this file")
    return parser.parse_args(words)


def main(words=None):
    arguments = parse_arguments(words)
    libraries = {}
    try:
        if not Path(arguments.program).exists():
            raise ProblemError(f"there is no {arguments.program}: configure with "
                               "-DQUERN_ENABLE_BENCHMARKS=ON and build the target gemm_ceiling")
        core = pin(1, None if arguments.core is None else [arguments.core])[0]
        libraries, missing = start_libraries(arguments)
        for name, why in missing.items():
            print(f"{name} is left out: {why}")
        if not libraries:
            raise ProblemError("there is no library to measure; benchmarks/README.md says what to "
                               "install")
        print(f"one thread on core {core}, medians of {arguments.rounds} rounds", flush=True)
        results = []
        for workload in arguments.workloads:
            results.append(measure(workload, arguments, libraries))
            print_result(results[-1], list(libraries))
        if arguments.json:
            arguments.json.write_text(json.dumps(
                {"rounds": arguments.rounds, "left_out": missing, "results": results}, indent=2)
                + "\n")
    except (ProblemError, OSError) as error:
        print(f"gemm_ceiling: {error}", file=sys.stderr)
        return 2
    finally:
        for process in libraries.values():
            process.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
