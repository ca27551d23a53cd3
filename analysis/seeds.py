#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a recipe with several seeds and prints how the results spread.

Example: analysis/seeds.py --recipe recipes/mlp-mnist.toml --ranks 6 --seeds 0 1 2 3 4 --out runs/w1
Run n is in OUT/seed-n, what it printed in OUT/seed-n.txt, the table in OUT/seeds.md. Finished runs
are not repeated, nor are those that diverged; an interrupted one goes on from its newest checkpoint.
A seed that fails does not end the others: exit status 1 at the end.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from quern_report.best import best_of, monitor_of
from quern_report.forms import NONE, form
from quern_report.markdown import table
from quern_report.program import ProgramError, find_program as find_quern
from quern_report.runlog import RunError, read_run


class SeedsError(Exception):
    """Something the user has to put right: exit status 2."""


class TrainingError(Exception):
    """A run failed: exit status 1."""

    def __init__(self, message, how="failed", ends_all=False):
        super().__init__(message)
        self.how = how  # in the table
        self.ends_all = ends_all  # the other seeds would fail as well, or somebody asked to stop


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


REFUSED, STOPPED = 2, 85  # exit statuses of quern train


def is_done(arguments, seed):
    return (arguments.out / f"seed-{seed}" / "DONE").exists()


def divergence(arguments, seed):
    """Why the run diverged, or "". It would do so again, as long as recipe and seed are the same."""
    try:
        failure = read_run(arguments.out / f"seed-{seed}").failure or {}
    except RunError:
        return ""
    reason = str(failure.get("reason", ""))
    return reason if "diverged" in reason else ""


def check_programs(arguments):
    """Before anything is written."""
    if not all(is_done(arguments, seed) or divergence(arguments, seed) for seed in arguments.seeds):
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

    def check_divergence():
        reason = divergence(arguments, seed)
        if reason:
            raise TrainingError(f"seed {seed}: {reason} (remove {run_dir} to train it again)", "diverged")
    if not is_done(arguments, seed):
        check_divergence()
        log = arguments.out / f"seed-{seed}.txt"
        print(f"seed {seed}: training in {run_dir}", file=sys.stderr, flush=True)
        with open(log, "ab") as output:
            done = subprocess.run(launch_command(arguments, seed, run_dir), stdout=output,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
                                  env=launch_environment(arguments.ranks))
        if done.returncode != 0:
            check_divergence()
            raise TrainingError(f"seed {seed} ended with exit status {done.returncode}: {last_line(log)} (all of it: {log})",
                                "stopped" if done.returncode == STOPPED else "failed",
                                done.returncode in (REFUSED, STOPPED))
    run = read_run(run_dir)
    if not run.epochs:
        raise TrainingError(f"seed {seed}: {run_dir}/metrics.jsonl has no completed epoch")
    return run


def train_all(arguments):
    """({seed: finished run}, {seed: how it failed})"""
    runs, failed = {}, {}
    for seed in dict.fromkeys(arguments.seeds):
        try:
            runs[seed] = train(arguments, seed)
        except TrainingError as error:
            print(f"seeds: {error}", file=sys.stderr, flush=True)
            failed[seed] = error.how
            if error.ends_all:
                break
    return runs, failed


def last_line(path):
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


COLUMNS = [("training loss", "train_loss", "{:.5g}", 1),
           ("training accuracy / %", "train_accuracy", "{:.2f}", 100),
           ("test loss", "test_loss", "{:.5g}", 1),
           ("test accuracy / %", "test_accuracy", "{:.2f}", 100),
           ("test rmse", "test_rmse", "{:.5g}", 1), ("test r2", "test_r2", "{:.5g}", 1)]


def deviation(values):
    """The sample standard deviation; None of a single value."""
    return statistics.stdev(values) if len(values) > 1 else None


SPREAD = {"mean": statistics.fmean, "standard deviation": deviation, "min": min, "max": max}


def row_of(run):
    """The best epoch, where the recipe chooses one, or else the last."""
    rows = run.rows()
    return best_of(run, rows).row if monitor_of(run) else rows[-1]


def text_of(runs, failed):
    """One row for each seed, then how they spread, and what the figures are."""
    chosen = {seed: row_of(run) for seed, run in runs.items()}
    columns = [column for column in COLUMNS
               if any(row[column[1]] is not None for row in chosen.values())]
    rows = [[seed, row["epoch"], *(form(row[key], pattern, factor) for _, key, pattern, factor in columns)]
            for seed, row in chosen.items()]
    rows = sorted([*rows, *([seed, how, *[NONE] * len(columns)] for seed, how in failed.items())],
                  key=lambda row: row[0])
    values = {key: [row[key] for row in chosen.values() if row[key] is not None] for _, key, _, _ in columns}
    for name, of in SPREAD.items():
        rows.append([name, "", *(form(of(values[key]), pattern, factor) for _, key, pattern, factor in columns)])
    rows.append(["n", "", *(len(values[key]) for _, key, _, _ in columns)])
    monitors = {monitor_of(run) for run in runs.values()} - {""}
    epoch = (f"best epoch, that of the best {'test loss' if 'test_loss' in monitors else 'test accuracy'} (train.monitor)"
             if monitors else "last epoch")
    lost = f" Without {'seed' if len(failed) == 1 else 'seeds'} {', '.join(map(str, failed))}: no result." if failed else ""
    return (table(["seed", "epoch", *(title for title, *_ in columns)], rows)
            + f"\n\nFigures of the {epoch}. The standard deviation is that of a sample (n - 1).{lost}")


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
        runs, failed = train_all(arguments)
        text = text_of(runs, failed) if runs else ""
        if text:
            (arguments.out / "seeds.md").write_text(text + "\n", encoding="utf-8")
    except (SeedsError, ProgramError, RunError) as error:
        print(f"seeds: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"seeds: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("seeds: interrupted; the same command resumes from here", file=sys.stderr)
        return 130
    if text:
        print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
