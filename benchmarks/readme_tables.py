#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the tables of README.md and docs/performance.md, keeps the figures, and writes the tables.

  readme_tables.py seeds              Quern's accuracies (analysis/seeds.py)
  readme_tables.py torch              PyTorch's accuracies (benchmarks/torch_seeds.py)
  readme_tables.py speed --name zen3  training steps against the peers (benchmarks/compare_peers.py)
  readme_tables.py speed --name zen3 --precision bf16  the same in bf16, and against Quern's own fp32
  readme_tables.py scaling --name zen3  several ranks against one (benchmarks/scaling.py)
  readme_tables.py write              the tables from the kept figures
  readme_tables.py check              exit status 1 where a table differs from the kept figures
  readme_tables.py history            what became faster or slower since the measurement before

The first five keep their figures with date, processor, commit and command, and then do what `write` does:
accuracies in benchmarks/results, the others as one more line of benchmarks/history.jsonl. --only W1,W2
measures these workloads and leaves the others as they are. `history` compares the newest figures of each
processor (or that of --name) with the ones before, and marks as slower what fell by more than --spread;
--check: then the exit status is 1.
"""

import argparse
import datetime
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import history
from peers import PRECISIONS
from readme_text import accuracy_table, bf16_table, scaling_table, speed_details, speed_table
from words import name_list, positive
from workloads import RECIPES, RESIDUAL, ProblemError

ROOT = Path(__file__).resolve().parents[1]
# As the tutorials have it: ranks of Quern, the global batch that PyTorch takes instead of them.
SETTINGS = {"W1": {"ranks": 6, "seeds": 5, "torch_seeds": 5, "torch_batch": 768},
            "W2": {"ranks": 1, "seeds": 5, "torch_seeds": 5, "torch_batch": None},
            "W7": {"ranks": 1, "seeds": 12, "torch_seeds": 10, "torch_batch": None}}
FIGURES = ("train_loss", "test_loss", "test_accuracy")
MARKED = r"(<!-- table {name}: begin[^\n]*-->\n).*?(<!-- table {name}: end -->)"


def run(command):
    """Runs a script of this repository in its root; what it prints goes to the terminal."""
    print("$ " + shlex.join(map(str, command)), file=sys.stderr, flush=True)
    try:
        done = subprocess.run([str(word) for word in command], cwd=ROOT, check=False)
    except OSError as error:
        raise ProblemError(f"cannot start {command[0]}: {error}") from error
    if done.returncode != 0:
        raise ProblemError(f"{command[0]} ended with exit status {done.returncode}")


def facts_of(program):
    """Date, and what `quern info` says of the program and the processor it runs on."""
    try:
        done = subprocess.run([program, "info", "--json"], capture_output=True, text=True, check=True)
        info = json.loads(done.stdout)
        return {"date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
                "processor": info["processor"], "vectors": info["vectors"],
                "compiler": info["compiler"], "commit": info["commit"]}
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        raise ProblemError(f"cannot ask {program}: {error!r}") from error


def load(path):
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise ProblemError(f"{path}: {error}") from error


def keep(arguments, name, document):
    arguments.results.mkdir(parents=True, exist_ok=True)
    path = arguments.results / f"{name}.json"
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(f"kept {path}", file=sys.stderr)


def seed_numbers(count):
    return [str(seed) for seed in range(count)]


def measure_seeds(arguments):
    sys.path.append(str(ROOT / "analysis"))
    from quern_report import runlog
    for workload in arguments.only:
        setting, out = SETTINGS[workload], arguments.out.absolute() / workload
        words = ["analysis/seeds.py", "--recipe", f"recipes/{RECIPES[workload]}.toml",
                 "--ranks", str(setting["ranks"]), "--seeds", *seed_numbers(setting["seeds"])]
        run([sys.executable, *words, "--out", out, "--quern", arguments.quern])
        rows = {seed: runlog.read_run(out / f"seed-{seed}").rows()[-1]
                for seed in seed_numbers(setting["seeds"])}
        name = f"accuracy-{workload}"
        document = load(arguments.results / f"{name}.json")
        document["quern"] = {**facts_of(arguments.quern), "command": shlex.join(words),
                             "seeds": {seed: {key: row[key] for key in FIGURES if row[key] is not None}
                                       for seed, row in rows.items()}}
        keep(arguments, name, document)


def measure_torch(arguments):
    for workload in arguments.only:
        setting = SETTINGS[workload]
        words = ["benchmarks/torch_seeds.py", f"recipes/{RECIPES[workload]}.toml",
                 "--seeds", *seed_numbers(setting["torch_seeds"])]
        if setting["torch_batch"]:
            words += ["--global-batch", str(setting["torch_batch"])]
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "torch.json"
            run([arguments.python, *words, "--json", out])
            results = load(out)
        name = f"accuracy-{workload}"
        document = load(arguments.results / f"{name}.json")
        seeds = {}
        for result in results:
            accuracy = {"test_accuracy": result["test_accuracy"] / 100} \
                if "test_accuracy" in result else {}
            seeds[str(result["seed"])] = {key: result[key] for key in ("train_loss", "test_loss")}
            seeds[str(result["seed"])].update(accuracy)
        facts = facts_of(arguments.quern)
        document["torch"] = {"date": facts["date"], "processor": facts["processor"],
                             "command": shlex.join(words), "seeds": seeds}
        keep(arguments, name, document)


def record(arguments, kind, script, words, workloads_of):
    """Runs a script of this folder, adds what it measured to the history, says what has changed."""
    words = [f"benchmarks/{script}.py", "--workloads", ",".join(arguments.only),
             "--rounds", str(arguments.rounds), *words]
    own = ["--python", arguments.python] if script == "compare_peers" else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        run([arguments.python, *words, "--quern", arguments.quern, *own, "--json", out])
        measured = load(out)
    facts = facts_of(arguments.quern)
    titles = [entry["title"] for entry in history.read(arguments.history)
              if entry["name"] == arguments.name]
    history.append(arguments.history, {
        "kind": kind, "name": arguments.name,
        "title": arguments.title or (titles or [facts["processor"]])[-1],
        **facts, "command": shlex.join(words), "rounds": measured["rounds"],
        "workloads": workloads_of(measured)})
    print(f"kept in {arguments.history}", file=sys.stderr)
    print_changes(arguments)


def measure_speed(arguments):
    words = ["--peers", arguments.peers] if arguments.peers else []
    kind = "speed"
    if arguments.precision != "fp32":
        words += ["--precision", arguments.precision]
        kind = arguments.precision
    record(arguments, kind, "compare_peers", words, lambda measured: {
        result["workload"]: speed_figures(result) for result in measured["results"]})


def speed_figures(result):
    contenders = result["contenders"]
    quern = contenders["quern"]
    kept = ("variant", "version", "fraction_of_peak")
    return {"peak_gflops": result["peak_gflops"], "fraction_of_peak": quern["fraction_of_peak"],
            "samples_per_s": quern["samples_per_s"],
            "ratios": {peer: {**figures["ratio"], **{key: figures[key] for key in kept if key in figures}}
                       for peer, figures in contenders.items() if peer != "quern"}}


def measure_scaling(arguments):
    launcher = ["--launcher", arguments.launcher] if arguments.launcher else []
    record(arguments, "scaling", "scaling", ["--ranks", str(arguments.ranks), *launcher], lambda measured: {
        result["workload"]: {"ranks": measured["ranks"], "global_batch": result["global_batch"],
                             "speedup": {mode: result[mode]["speedup"]
                                         for mode in ("rank-invariant", "fast")}}
        for result in measured["results"]})


def print_changes(arguments):
    """Exit status: 1 with --check if something is slower than before."""
    slower = False
    for change in history.changes(history.read(arguments.history), arguments.name):
        slower = slower or change.is_slower(arguments.spread)
        print(f"{change}{' SLOWER' if change.is_slower(arguments.spread) else ''}")
    return int(slower and arguments.check)


def kept_results(arguments):
    accuracy = {workload: load(arguments.results / f"accuracy-{workload}.json") for workload in RECIPES}
    return {workload: kept for workload, kept in accuracy.items() if kept}, history.read(arguments.history)


def with_tables(path, text, tables):
    """The document's text with every marked table replaced; a table without its marks is an error,
    and between marks that no figures are kept for stands nothing."""
    for name, table in tables.items():
        pattern = re.compile(MARKED.format(name=re.escape(name)), re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ProblemError(f"{path}: the marks of table {name} are not there exactly once")
        text = pattern.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)
    for name in set(re.findall(r"<!-- table (\S+): begin", text)) - set(tables):
        text = re.sub(MARKED.format(name=re.escape(name)), r"\1\2", text, flags=re.DOTALL)
    return text


def documents(arguments):
    """(path, text, text as the kept figures have it)"""
    accuracy, entries = kept_results(arguments)
    speed, bf16, scaling = (history.tables(entries, kind) for kind in ("speed", "bf16", "scaling"))
    wanted = {arguments.root / "README.md": {"accuracy": accuracy_table(accuracy),
                                             "speed": speed_table(speed)},
              arguments.root / "docs/performance.md":
                  {f"speed-{name}": speed_details(kept) for name, kept in speed.items()}
                  | {f"bf16-{name}": bf16_table(kept) for name, kept in bf16.items()}
                  | {f"scaling-{name}": scaling_table(kept) for name, kept in scaling.items()}}
    for path, tables in wanted.items():
        text = path.read_text(encoding="utf-8")
        for name in [name for name in tables if "-" in name and f"table {name}:" not in text]:
            print(f"{path}: no place for the table {name} (its begin and end marks)", file=sys.stderr)
            del tables[name]
        yield path, text, with_tables(path, text, tables)


def write_tables(arguments):
    for path, text, wanted in list(documents(arguments)):
        if text != wanted:
            path.write_text(wanted, encoding="utf-8")
            print(f"wrote {path}", file=sys.stderr)
    return 0


def check_tables(arguments):
    different = [path for path, text, wanted in documents(arguments) if text != wanted]
    for path in different:
        print(f"{path}: a table differs from the kept figures; "
              "benchmarks/readme_tables.py write puts it right", file=sys.stderr)
    return 1 if different else 0


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["seeds", "torch", "speed", "scaling", "write", "check", "history"])
    parser.add_argument("--only", type=name_list([*RECIPES, *RESIDUAL]), default=list(RECIPES),
                        metavar="W,...", help=f"of {','.join(RECIPES)} (default: all of these); speed: "
                        f"of {','.join(RESIDUAL)}, too")
    parser.add_argument("--name", help="of the processor: zen3, ... (speed, scaling, history)")
    parser.add_argument("--title", help="of the processor in the tables (speed, scaling)")
    parser.add_argument("--peers", help="as of compare_peers.py (speed)")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32",
                        help="of the products of all (speed; default: fp32)")
    parser.add_argument("--ranks", type=positive, default=2, help="against one (scaling; default: 2)")
    parser.add_argument("--launcher", metavar="COMMAND", help="as of scaling.py (scaling)")
    parser.add_argument("--spread", type=positive, default=8, metavar="PERCENT",
                        help="what repeats differ by (history; default: 8)")
    parser.add_argument("--check", action="store_true",
                        help="exit status 1 if something is slower (history)")
    parser.add_argument("--rounds", type=positive, default=7, help="of the comparison (default: 7)")
    parser.add_argument("--out", type=Path, default=ROOT / "runs/readme", metavar="DIR",
                        help="folder of the runs; finished ones are not repeated (seeds)")
    parser.add_argument("--quern", default=str(ROOT / "build/release/bin/quern"), metavar="FILE",
                        help="the program (default: %(default)s)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE",
                        help="a Python that has the peers (torch, speed)")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks/results", metavar="DIR",
                        help="folder of the kept accuracies (default: %(default)s)")
    parser.add_argument("--history", type=Path, default=ROOT / "benchmarks/history.jsonl", metavar="FILE",
                        help="the kept speeds (default: %(default)s)")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR",
                        help="folder of the documents (default: %(default)s)")
    arguments = parser.parse_args(words)
    named = arguments.what in ("speed", "scaling")
    if named and not re.fullmatch(r"[a-z0-9-]+", arguments.name or ""):
        parser.error(f"{arguments.what} needs --name: lower-case letters, digits and '-'")
    if arguments.what != "speed" and not set(arguments.only) <= set(RECIPES):
        parser.error(f"{arguments.what} knows {', '.join(RECIPES)} only")
    return arguments


def main(words=None):
    arguments = parse_arguments(words)
    measure = {"seeds": measure_seeds, "torch": measure_torch, "speed": measure_speed,
               "scaling": measure_scaling}
    try:
        if arguments.what == "history":
            return print_changes(arguments)
        if arguments.what in measure:
            measure[arguments.what](arguments)
        return check_tables(arguments) if arguments.what == "check" else write_tables(arguments)
    except (ProblemError, OSError) as error:
        print(f"readme_tables: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
