#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/scaling.md: what `quern plan` predicts for three centres on 8 to 1024 nodes.

The figures of a step are those of one core that benchmarks/history.jsonl keeps (and the README shows), the figures
of the centres are in jobs/sites/figures.txt. Nothing is measured. --check only compares, and ends with exit
status 1 where the tables are not those of the program.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from contender import run_quern
from workloads import ProblemError, batch_size, read_recipe

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/scaling.md"
SITES = ("lumi-c", "marenostrum5-gpp", "truba-orfoz")
NODES = [8 * 2**i for i in range(8)]
# Recipe: workload of the benchmarks, samples of a rank and of a micro-block.
RECIPES = {"lenet-fashion": ("W2", 256, 32), "resnet50": ("resnet50", 64, 16)}
MACHINE = "zen5"


def measured_step(name, workload):
    """What `quern bench step` wrote, as far as the history keeps it."""
    for line in reversed((ROOT / "benchmarks/history.jsonl").read_text().splitlines()):
        entry = json.loads(line)
        if (entry["kind"], entry["name"]) != ("speed", MACHINE) or workload not in entry["workloads"]:
            continue
        figures = entry["workloads"][workload]
        batch = batch_size(read_recipe(ROOT / "recipes", workload)[1])
        return {"benchmark": "step", "workload": name, "global_batch": batch,
                "step_us": batch / figures["samples_per_s"]["median"] * 1e6,
                "machine": {"ranks": 1, "fma_peak_gflops": figures["peak_gflops"]}}
    raise ProblemError(f"benchmarks/history.jsonl has no step of {workload} on {MACHINE}")


def plan(quern, name, site):
    workload, samples, block = RECIPES[name]
    with tempfile.TemporaryDirectory() as folder:
        step = Path(folder) / "step.json"
        step.write_text(json.dumps(measured_step(name, workload)))
        return run_quern([quern, "plan", str(ROOT / f"recipes/{name}.toml"), "--site", site,
                          "--figures", str(ROOT / "jobs/sites/figures.txt"), "--bench", str(step),
                          "--nodes", ",".join(str(nodes) for nodes in NODES),
                          "--batch-per-rank", str(samples), "--set", f"train.micro_block={block}"])


def time_text(us):
    return f"{us / 1000:.3g} ms" if us < 999500 else f"{us / 1e6:.3g} s"


def bytes_text(count):
    return f"{count / 1e6:.3g} MB"


def cell(step):
    return (f"{time_text(step['step_us'])} ({time_text(step['compute_us'])} computing), "
            f"{bytes_text(step['node_bytes'])}, {100 * step['efficiency']:.0f} %")


def table(quern, name):
    plans = {site: plan(quern, name, site) for site in SITES}
    steps = {site: {step["nodes"]: step for step in plans[site]["steps"]} for site in SITES}
    lines = ["| nodes | " + " | ".join(f"{site}, {plans[site]['ranks_per_node']} ranks a node"
                                       for site in SITES) + " |",
             "|---:|" + "---|" * len(SITES)]
    for nodes in (1, *NODES):
        cells = " | ".join(cell(steps[site][nodes]) for site in SITES)
        lines.append(f"| {nodes} | {cells} |")
    return "\n".join(lines)


def with_tables(text, quern):
    for name in RECIPES:
        mark = re.compile(rf"(<!-- table {name}: begin[^\n]*-->\n).*?(<!-- table {name}: end -->)", re.S)
        if not mark.search(text):
            raise ProblemError(f"{PAGE} has no marks of the table {name}")
        content = table(quern, name) + "\n"
        text = mark.sub(lambda found, content=content: found[1] + content + found[2], text)
    return text


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, compare")
    parser.add_argument("--quern", default=str(ROOT / "build/release/bin/quern"),
                        help="the program (default: %(default)s)")
    arguments = parser.parse_args(words)
    try:
        old = PAGE.read_text(encoding="utf-8")
        new = with_tables(old, arguments.quern)
        if not arguments.check:
            PAGE.write_text(new, encoding="utf-8")
    except (ProblemError, OSError, KeyError) as error:
        print(f"scaling_table: {error}", file=sys.stderr)
        return 2
    if arguments.check and new != old:
        print("scaling_table: docs/scaling.md has other tables than quern plan gives (expected those that "
              "benchmarks/scaling_table.py writes)", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
