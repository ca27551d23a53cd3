#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a recipe with several seeds and prints how the results spread.

Example: analysis/seeds.py --recipe recipes/mlp-mnist.toml --ranks 6 --seeds 0 1 2 3 4 --out runs/w1
Run n is in OUT/seed-n, what it printed in OUT/seed-n.txt, the table in OUT/seeds.md. Finished runs
are not repeated; an interrupted one goes on from its newest checkpoint.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from quern_report.forms import form
from quern_report.markdown import table
from quern_report.program import ProgramError, find_program as find_quern
from quern_report.runlog import RunError, read_run


class SeedsError(Exception):
    """Something the user has to put right: exit status 2."""


class TrainingError(Exception):
    """A run failed: exit status 1."""


def claim_folder(out, recipe_text, ranks, settings):
    """Refuses a folder that holds runs of other settings, so that nothing is mixed in one table."""
    wanted = {"recipe": recipe_text, "ranks": ranks, "set": settings}
    note = out / "seeds.json"
    try:
        out.mkdir(parents=True, exist_ok=True)
        # Without a run in it, as after a recipe that was refused, the folder is free.
        if note.exists() and any(out.glob("seed-*/recipe.toml")):
            found = json.loads(note.read_text())
            for key, value in wanted.items():
                if not isinstance(found, dict) or found.get(key) != value:
                    raise SeedsError(f"{out} holds runs with another '{key}' ({note}): "
                                     "choose another --out")
        else:
            note.write_text(json.dumps(wanted, indent=2) + "\n")
    except (OSError, ValueError) as error:
        raise SeedsError(f"cannot use {out}: {error}") from error


def find_program(name):
    found = shutil.which(name)
    if not found:
        raise SeedsError(f"there is no program '{name}'")
    return found


def is_done(arguments, seed):
    return (arguments.out / f"seed-{seed}" / "DONE").exists()


def check_programs(arguments):
    """Before anything is written."""
    if not all(is_done(arguments, seed) for seed in arguments.seeds):
        find_quern(arguments.quern)
        if arguments.ranks > 1:
            find_program(arguments.mpirun)


def launch_command(arguments, seed, run_dir):
    command = [find_quern(arguments.quern), "train", str(arguments.recipe)]
    for setting in [*arguments.set, f"seed={seed}"]:
        command += ["--set", setting]
    command += ["--run-dir", str(run_dir)]
    if arguments.ranks > 1:
        command = [find_program(arguments.mpirun), "-n", str(arguments.ranks), *command]
    return command


def launch_environment(ranks):
    """One thread per rank unless cores are left over; more ranks than cores are allowed."""
    cores = os.cpu_count() or 1
    environment = dict(os.environ)
    defaults = {"OMP_NUM_THREADS": str(max(1, cores // ranks)), "OMP_PROC_BIND": "false"}
    if ranks > cores:
        defaults.update(OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
                        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")  # Open MPI 5
    if os.geteuid() == 0:
        defaults.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    for key, value in defaults.items():
        environment.setdefault(key, value)
    return environment


def train(arguments, seed):
    """The finished run of this seed."""
    run_dir = arguments.out / f"seed-{seed}"
    if not is_done(arguments, seed):
        log = arguments.out / f"seed-{seed}.txt"
        print(f"seed {seed}: training in {run_dir}", file=sys.stderr, flush=True)
        with open(log, "ab") as output:
            done = subprocess.run(launch_command(arguments, seed, run_dir), stdout=output,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
                                  env=launch_environment(arguments.ranks))
        if done.returncode != 0:
            raise TrainingError(f"seed {seed} ended with exit status {done.returncode}: "
                                f"{last_line(log)} (all of it: {log})")
    run = read_run(run_dir)
    if not run.epochs:
        raise TrainingError(f"seed {seed}: {run_dir}/metrics.jsonl has no completed epoch")
    return run


def last_line(path):
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


COLUMNS = [("training loss", "train_loss", "{:.5g}", 1),
           ("training accuracy / %", "train_accuracy", "{:.2f}", 100),
           ("test loss", "test_loss", "{:.5g}", 1),
           ("test accuracy / %", "test_accuracy", "{:.2f}", 100),
           ("test rmse", "test_rmse", "{:.5g}", 1), ("test r2", "test_r2", "{:.5g}", 1)]


def spread_table(runs):
    """One row per seed with the figures of the last epoch, then mean, min and max."""
    last = {seed: run.rows()[-1] for seed, run in runs.items()}
    columns = [column for column in COLUMNS
               if any(row[column[1]] is not None for row in last.values())]
    rows = [[seed, row["epoch"], *(form(row[key], pattern, factor)
                                   for _, key, pattern, factor in columns)]
            for seed, row in last.items()]
    for name, of in (("mean", statistics.fmean), ("min", min), ("max", max)):
        cells = []
        for _, key, pattern, factor in columns:
            values = [row[key] for row in last.values() if row[key] is not None]
            cells.append(form(of(values), pattern, factor))
        rows.append([name, "", *cells])
    return table(["seed", "epoch", *(title for title, *_ in columns)], rows)


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="OUT")
    parser.add_argument("--ranks", type=int, default=1, help="MPI ranks (default: 1)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], metavar="N",
                        help="default: 0 1 2 3 4")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="passed on to quern train; may be repeated")
    parser.add_argument("--quern", default="", metavar="PROGRAM",
                        help="the program (default: $QUERN, the build's, the one in the path)")
    parser.add_argument("--mpirun", default="mpirun", help="the launcher (default: mpirun)")
    arguments = parser.parse_args(words)
    if arguments.ranks < 1:
        parser.error("--ranks must be at least 1")
    if min(arguments.seeds) < 0:
        parser.error("seeds must not be negative")
    if any(setting.split("=")[0].strip() == "seed" for setting in arguments.set):
        parser.error("--set seed=... contradicts --seeds")
    return arguments


def main(words=None):
    arguments = parse_arguments(words)
    try:
        try:
            recipe_text = arguments.recipe.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SeedsError(f"cannot read recipe {arguments.recipe}: {error}") from error
        check_programs(arguments)
        claim_folder(arguments.out, recipe_text, arguments.ranks, arguments.set)
        runs = {seed: train(arguments, seed) for seed in dict.fromkeys(arguments.seeds)}
        text = spread_table(runs)
        (arguments.out / "seeds.md").write_text(text + "\n", encoding="utf-8")
    except (SeedsError, ProgramError, RunError) as error:
        print(f"seeds: {error}", file=sys.stderr)
        return 2
    except (TrainingError, OSError) as error:
        print(f"seeds: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("seeds: interrupted; the same command resumes from here", file=sys.stderr)
        return 130
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
