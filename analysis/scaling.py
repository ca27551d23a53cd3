#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table and plot of a scaling study (jobs/submit SITE scaling): scaling.md, .csv and .png.

Reads nodes-N.json of the folder. Parallel efficiency against the fewest nodes b measured, for strong
scaling (the same global batch) t_b n_b / (t_N n_N), for weak scaling (the same batch for each rank)
t_b / t_N, with t the time of a step. Centres ask for at least 75 % before they open large partitions.
"""

import argparse
import csv
import json
import sys
from pathlib import Path

WANTED = 0.75
COLUMNS = {"nodes": "{}", "ranks": "{}", "global_batch": "{}", "step_us": "{:.1f}",
           "samples_per_s": "{:,.0f}", "speedup": "{:.2f}", "efficiency": "{:.1%}", "wall_s": "{}"}


class StudyError(Exception):
    """The folder holds no study, or a file of it cannot be used."""


def read_point(path):
    try:
        point = json.loads(path.read_text(encoding="utf-8"))
        bench = point.pop("bench")
        figures = {key: bench[key] for key in ("global_batch", "step_us", "samples_per_s", "workload")}
        figures.update((key, bench["machine"][key]) for key in ("ranks", "device", "threads"))
        figures["processor"] = bench["machine"].get("processor")
        if not (point["nodes"] > 0 and figures["step_us"] > 0 and figures["ranks"] > 0):
            raise ValueError("nodes, ranks and step_us must be positive")
        strong = point["mode"] == "strong"
        figures["batch"] = figures["global_batch"] / (1 if strong else figures["ranks"])
        return point | figures
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(f"{path}: {error!r}") from error


def read_study(folder, study=""):
    """The points by node count, with speed-up and efficiency, and the names of those of other studies."""
    files = sorted(folder.glob("nodes-*.json"))
    named = [(path.name, read_point(path)) for path in files]
    others = [name for name, point in named if study and point.get("study") != study]
    points = sorted((point for name, point in named if name not in others), key=lambda point: point["nodes"])
    if not points:
        raise StudyError(f"{folder}: no nodes-*.json in it{f' of study {study}' if study else ''} "
                         "(did all jobs of the study fail?)")
    for key in ("mode", "workload", "batch", "ranks_per_node", "device", "study"):
        if len({point.get(key) for point in points}) > 1:
            raise StudyError(f"{folder}: the points differ in {key}: measure them anew in a new folder")
    base = points[0]
    for point in points:
        faster = base["step_us"] / point["step_us"]
        more = point["nodes"] / base["nodes"]
        weak = point["mode"] == "weak"
        point["efficiency"] = faster if weak else faster / more
        point["speedup"] = faster * more if weak else faster
    return points, others


def verdict(points):
    good = [point["nodes"] for point in points if point["efficiency"] >= WANTED]
    bad = [point["nodes"] for point in points if point["efficiency"] < WANTED]
    if len(points) < 3:
        return "Fewer than three node counts: too few for an application at most centres."
    if not bad:
        return f"At least {WANTED:.0%} up to {max(good)} nodes, the most that was measured."
    return (f"Below {WANTED:.0%} on {', '.join(map(str, bad))} nodes; the largest count with at least "
            f"{WANTED:.0%} is {max(good)}.")


def remarks(points, others, expected):
    """What a reader must know who expected more points."""
    missing = [nodes for nodes in expected if nodes not in [point["nodes"] for point in points]]
    if missing:
        yield f"Not measured: {', '.join(map(str, missing))} node(s); their logs in `log/` say why."
    for key in ("processor", "threads"):
        kinds = sorted({str(point[key]) for point in points})
        if len(kinds) > 1:
            yield f"The points differ in {key} ({', '.join(kinds)}): compare them with care."
    if others:
        yield f"Left out, as points of another study: {', '.join(others)}."


def markdown(points, notes):
    first = points[0]
    rows = ["| " + " | ".join(COLUMNS) + " |", "|" + " ---: |" * len(COLUMNS)]
    rows += ["| " + " | ".join(form.format(point[key]) for key, form in COLUMNS.items()) + " |"
             for point in points]
    batch = "the same global batch" if first["mode"] == "strong" else "the same batch for each rank"
    return (f"# Scaling of {first['workload']}\n\n"
            f"{first['mode'].capitalize()} scaling ({batch}), {first['ranks_per_node']} rank(s) a node, "
            f"{first['threads']} thread(s) a rank, {first['device']}. Time of a training step on synthetic "
            f"data, median of several measurements; speed-up and efficiency against {first['nodes']} "
            f"node(s).\n\n" + "\n".join(rows) + f"\n\n{verdict(points)}\n\n" + "".join(f"{note}\n\n" for note in notes) +
            "The job scripts are in `job/`, what each job printed in `log/`.\n")


def write_csv(points, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([point[key] for key in COLUMNS] for point in points)


def plot(points, path):
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot
    nodes = [point["nodes"] for point in points]
    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.plot(nodes, [100 * point["efficiency"] for point in points], marker="o")
    axes.axhline(100 * WANTED, linestyle="--", color="gray", label=f"{WANTED:.0%}")
    axes.set(xscale="log", xlabel="nodes", ylabel="parallel efficiency / %",
             title=f"{points[0]['mode']} scaling of {points[0]['workload']}")
    axes.set_xticks(nodes, [str(count) for count in nodes])
    axes.minorticks_off()
    axes.set_ylim(0, max(110, 105 * max(point["efficiency"] for point in points)))
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the study, with nodes-N.json")
    parser.add_argument("--study", default="", help="the study whose points count (job/study.txt); others are left out")
    parser.add_argument("--expect", default="", metavar="N,N...", help="node counts that were asked for")
    options = parser.parse_args()
    folder = options.folder
    expected = [int(count) for count in options.expect.replace(",", " ").split()]
    try:
        points, others = read_study(folder, options.study)
    except StudyError as error:
        print(f"scaling.py: error: {error}", file=sys.stderr)
        return 2
    text = markdown(points, list(remarks(points, others, expected)))
    if plot(points, folder / "scaling.png"):
        text += "\n![parallel efficiency](scaling.png)\n"
    else:
        print("scaling.py: no matplotlib: no plot", file=sys.stderr)
    (folder / "scaling.md").write_text(text, encoding="utf-8")
    write_csv(points, folder / "scaling.csv")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
