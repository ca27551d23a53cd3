#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the tables of README.md and docs/performance.md, keeps the figures, and writes the tables.

  readme_tables.py seeds              Quern's accuracies (analysis/seeds.py)
  readme_tables.py torch              PyTorch's accuracies (benchmarks/torch_seeds.py)
  readme_tables.py speed --name zen3  training steps against the peers (benchmarks/compare_peers.py)
  readme_tables.py write              the tables from benchmarks/results/*.json
  readme_tables.py check              exit status 1 where a table differs from the kept figures

The first three keep their figures in benchmarks/results, with date, processor, commit and command, and
then do what `write` does. --only W1,W2 measures these workloads and leaves the others as they are.
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

from readme_text import accuracy_table, speed_details, speed_table
from words import name_list, positive
from workloads import RECIPES, ProblemError

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
    sys.path.append(str(ROOT / "analysis"))  # behind this folder: both have a scaling.py
    import runlog
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


def measure_speed(arguments):
    words = ["benchmarks/compare_peers.py", "--workloads", ",".join(arguments.only),
             "--rounds", str(arguments.rounds)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "peers.json"
        run([arguments.python, *words, "--quern", arguments.quern, "--python", arguments.python,
             "--json", out])
        measured = load(out)
    name = f"speed-{arguments.name}"
    document = load(arguments.results / f"{name}.json")
    facts = facts_of(arguments.quern)
    document.setdefault("workloads", {})
    document["title"] = arguments.title or document.get("title") or facts["processor"]
    for result in measured["results"]:
        contenders = result["contenders"]
        document["workloads"][result["workload"]] = {
            **facts, "command": shlex.join(words), "rounds": measured["rounds"],
            "peak_gflops": result["peak_gflops"],
            "fraction_of_peak": contenders["quern"]["fraction_of_peak"],
            "ratios": {peer: {**figures["ratio"], "variant": figures["variant"]}
                       for peer, figures in contenders.items() if peer != "quern"}}
    keep(arguments, name, document)


def kept_results(folder):
    accuracy = {workload: load(folder / f"accuracy-{workload}.json") for workload in RECIPES}
    speed = {path.stem.removeprefix("speed-"): load(path) for path in sorted(folder.glob("speed-*.json"))}
    return {workload: kept for workload, kept in accuracy.items() if kept}, speed


def with_tables(path, text, tables):
    """The document's text with every marked table replaced; a table without its marks is an error."""
    for name, table in tables.items():
        pattern = re.compile(MARKED.format(name=re.escape(name)), re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ProblemError(f"{path}: the marks of table {name} are not there exactly once")
        text = pattern.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)
    return text


def documents(arguments):
    """(path, text, text as the kept figures have it)"""
    accuracy, speed = kept_results(arguments.results)
    wanted = {arguments.root / "README.md": {"accuracy": accuracy_table(accuracy),
                                             "speed": speed_table(speed)},
              arguments.root / "docs/performance.md":
                  {f"speed-{name}": speed_details(kept) for name, kept in speed.items()}}
    for path, tables in wanted.items():
        text = path.read_text(encoding="utf-8")
        for name in [name for name in tables if name.startswith("speed-") and name not in text]:
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
        print(f"{path}: a table differs from {arguments.results}; "
              "benchmarks/readme_tables.py write puts it right", file=sys.stderr)
    return 1 if different else 0


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["seeds", "torch", "speed", "write", "check"])
    parser.add_argument("--only", type=name_list(RECIPES), default=list(RECIPES), metavar="W,...",
                        help=f"of {','.join(RECIPES)} (default: all)")
    parser.add_argument("--name", help="of the processor in names of files: zen3, ... (speed)")
    parser.add_argument("--title", help="of the processor in the tables (speed)")
    parser.add_argument("--rounds", type=positive, default=7, help="of the comparison (default: 7)")
    parser.add_argument("--out", type=Path, default=ROOT / "runs/readme", metavar="DIR",
                        help="folder of the runs; finished ones are not repeated (seeds)")
    parser.add_argument("--quern", default=str(ROOT / "build/release/bin/quern"), metavar="FILE",
                        help="the program (default: %(default)s)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE",
                        help="a Python that has the peers (torch, speed)")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks/results", metavar="DIR",
                        help="folder of the kept figures (default: %(default)s)")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR",
                        help="folder of the documents (default: %(default)s)")
    arguments = parser.parse_args(words)
    if arguments.what == "speed" and not re.fullmatch(r"[a-z0-9-]+", arguments.name or ""):
        parser.error("speed needs --name: lower-case letters, digits and '-'")
    return arguments


def main(words=None):
    arguments = parse_arguments(words)
    measure = {"seeds": measure_seeds, "torch": measure_torch, "speed": measure_speed}
    try:
        if arguments.what in measure:
            measure[arguments.what](arguments)
        return check_tables(arguments) if arguments.what == "check" else write_tables(arguments)
    except (ProblemError, OSError) as error:
        print(f"readme_tables: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
