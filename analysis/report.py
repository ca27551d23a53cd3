#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a report (report.md and PNG plots) of one training run, or of several side by side."""

import argparse
import sys
from pathlib import Path

from runlog import RunError, read_run


def form(value, pattern="{:.4f}", factor=1):
    return "-" if value is None else pattern.format(factor * value)


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(" ---: " for _ in header) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def epoch_table(run):
    header = ["epoch", "training loss", "training accuracy / %", "test loss", "test accuracy / %",
              "seconds", "samples / s"]
    rows = [[row["epoch"], form(row["train_loss"], "{:.5g}"),
             form(row["train_accuracy"], "{:.2f}", 100), form(row["test_loss"], "{:.5g}"),
             form(row["test_accuracy"], "{:.2f}", 100), form(row["seconds"], "{:.1f}"),
             form(row["samples_per_s"], "{:,.0f}")] for row in run.rows()]
    return table(header, rows) if rows else "No epoch was completed."


def facts(run):
    data, optimizer = run.recipe.get("data", {}), run.recipe.get("optimizer", {})
    batch = data.get("global_batch") or f"{data.get('batch_per_rank', '?')} per rank"
    listed = [
        ("folder", f"`{run.path}`"),
        ("recipe", run.name),
        ("seed", run.recipe.get("seed", "-")),
        ("batch", batch),
        ("optimizer", f"{optimizer.get('type', '-')}, lr {optimizer.get('lr', '-')}"),
        ("ranks", ", then ".join(str(count) for count in run.ranks) or "-"),
        ("steps", run.last_step),
        ("state", "finished" if run.done else "not finished"),
        ("checkpoints", checkpoint_text(run)),
    ]
    if run.model_hash:
        listed.append(("model", f"`{run.model_hash}`"))
    if run.bad_lines:
        numbers = ", ".join(str(line) for line in run.bad_lines[:5])
        more = ", ..." if len(run.bad_lines) > 5 else ""
        listed.append(("left out", f"unreadable lines of metrics.jsonl: {numbers}{more}"))
    return "\n".join(f"- {key}: {value}" for key, value in listed)


def checkpoint_text(run):
    if not run.checkpoints:
        return "none"
    return f"{len(run.checkpoints)}, newest `{run.checkpoints[-1]}`"


def summary_table(runs, labels):
    rows = []
    for run, label in zip(runs, labels):
        done = run.rows()
        last = done[-1] if done else {}
        best = max((r["test_accuracy"] for r in done if r["test_accuracy"] is not None),
                   default=None)
        rows.append([label, last.get("epoch", "-"), form(last.get("train_loss"), "{:.5g}"),
                     form(last.get("test_loss"), "{:.5g}"),
                     form(last.get("test_accuracy"), "{:.2f}", 100), form(best, "{:.2f}", 100),
                     form(last.get("samples_per_s"), "{:,.0f}")])
    return table(["run", "epochs", "training loss", "test loss", "test accuracy / %",
                  "best test accuracy / %", "samples / s"], rows)


def unique_labels(runs):
    """The recipes' names where they differ, otherwise the folders' names, otherwise their paths."""
    for labels in ([r.name for r in runs], [r.path.resolve().name for r in runs]):
        if len(set(labels)) == len(runs):
            return labels
    return [str(run.path) for run in runs]


def write_report(runs, folder):
    """Returns the path of report.md."""
    from plots import plot_all  # late: matplotlib takes a second, and errors should not
    labels = unique_labels(runs)
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f"# {'Run ' if len(runs) == 1 else 'Runs '}{', '.join(labels)}"]
    if len(runs) > 1:
        parts.append(summary_table(runs, labels))
    for name, title in plot_all(runs, labels, folder):
        parts.append(f"![{title}]({name})")
    for run, label in zip(runs, labels):
        parts += [f"## {label}", facts(run), epoch_table(run)]
    path = folder / "report.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR",
                        help="run folder of quern train")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="where the report goes (default: RUN_DIR/report, for several runs "
                             "./report)")
    arguments = parser.parse_args(words)
    out = arguments.out
    if out is None:
        out = arguments.runs[0] / "report" if len(arguments.runs) == 1 else Path("report")
    try:
        path = write_report([read_run(folder) for folder in arguments.runs], out)
    except RunError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"report: {error}; the plots need matplotlib (Debian: python3-matplotlib)",
              file=sys.stderr)
        return 2
    except OSError as error:
        print(f"report: cannot write the report: {error}", file=sys.stderr)
        return 2
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
