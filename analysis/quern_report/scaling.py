# SPDX-License-Identifier: Apache-2.0
"""Speed-up and parallel efficiency, of a scaling study or of runs that differ in their ranks.

Efficiency against the fewest workers b measured, for strong scaling (the same global batch)
t_b n_b / (t_N n_N), for weak scaling (the same batch for each rank) t_b / t_N, with t the time of a step.
Centres ask for at least 75 % before they open large partitions.
"""

import csv
import json
import statistics

from . import differences, forms, svg
from .blocks import Cell, Figure, Section, Table, Text
from .learning import points
from .runlog import RunError
from .svg import Series

WANTED = 0.75
COLUMNS = {"nodes": "{}", "ranks": "{}", "global_batch": "{}", "step_us": "{:.1f}", "predicted_us": "{:.1f}",
           "samples_per_s": "{:,.0f}", "speedup": "{:.2f}", "efficiency": "{:.1%}", "wall_s": "{}"}


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
        return {**point, **figures}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: {error!r}") from error


def add_efficiency(points_, by):
    base = points_[0]
    for point in points_:
        faster = base["step_us"] / point["step_us"]
        more = point[by] / base[by]
        weak = point["mode"] == "weak"
        point["efficiency"] = faster if weak else faster / more
        point["speedup"] = faster * more if weak else faster


def read_study(folder, study=""):
    """The points by node count, with speed-up and efficiency, and the names of those of other studies."""
    files = sorted(folder.glob("nodes-*.json"))
    named = [(path.name, read_point(path)) for path in files]
    others = [name for name, point in named if study and point.get("study") != study]
    found = sorted((point for name, point in named if name not in others), key=lambda point: point["nodes"])
    if not found:
        raise RunError(f"{folder}: no nodes-*.json in it{f' of study {study}' if study else ''} "
                       "(did all jobs of the study fail?)")
    for key in ("mode", "workload", "batch", "ranks_per_node", "device", "study"):
        if len({point.get(key) for point in found}) > 1:
            raise RunError(f"{folder}: the points differ in {key}: measure them anew in a new folder")
    add_efficiency(found, "nodes")
    return found, others


def points_of_runs(runs):
    """As read_study(), by ranks: what each run measured while it trained."""
    found = {}
    for run in runs:
        speeds = points(run.steps or run.epochs, "step", "samples_per_s")[1]
        if len(run.ranks) != 1 or not speeds:
            raise RunError(f"{run.path}: expected a run of one number of ranks that has measured its speed")
        data, ranks = run.recipe.get("data", {}), run.ranks[0]
        batch = data.get("global_batch") or ranks * data.get("batch_per_rank", 0)
        if not batch:
            raise RunError(f"{run.path}: its recipe tells no batch")
        if ranks in found:
            raise RunError(f"{run.path}: a second run on {ranks} ranks (expected one for each number)")
        speed = statistics.median(speeds)
        hosts = len(set(run.hosts)) or None
        found[ranks] = {"nodes": hosts, "ranks": ranks, "global_batch": batch, "samples_per_s": speed,
                        "step_us": 1e6 * batch / speed, "workload": run.name, "wall_s": None,
                        "threads": run.last_start.get("threads"), "data": data.get("train")}
    if len(found) < 2:
        raise RunError("scaling expects a study's folder, or runs on at least two numbers of ranks")
    ordered = [found[ranks] for ranks in sorted(found)]
    strong = len({point["global_batch"] for point in ordered}) == 1
    weak = len({point["global_batch"] / point["ranks"] for point in ordered}) == 1
    if not strong and not weak:
        raise RunError("the runs have neither the same global batch nor the same batch for each rank")
    if len({point["workload"] for point in ordered}) > 1:
        raise RunError(f"the runs differ in workload: {', '.join(point['workload'] for point in ordered)}")
    others = [key for key in differences.Settings(runs).keys if key.startswith(differences.WORK)]
    if others:
        raise RunError(f"the runs differ in {', '.join(others)}: their speeds are of different work")
    for point in ordered:
        point["mode"] = "strong" if strong else "weak"
    add_efficiency(ordered, "ranks")
    return ordered


def read_plan(path, found, by):
    """The steps that `quern plan --json` predicted from the fewest workers on, like the points, and beside each
    point what was predicted for it."""
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
        name, steps = plan["plan"], [{key: step[key] for key in ("nodes", "ranks", "global_batch", "step_us")}
                                     for step in plan["steps"]]
        if not all(step["step_us"] > 0 and step[by] > 0 for step in steps):
            raise ValueError("step_us must be positive")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: {error!r} (expected what quern plan --json wrote)") from error
    if name != found[0]["workload"]:
        raise RunError(f"{path}: a plan of {name}, expected one of {found[0]['workload']}")
    steps = sorted((step for step in steps if step[by] >= found[0][by]), key=lambda step: step[by])
    predicted = {step[by]: step for step in steps}
    for point in found:
        step = predicted.get(point[by])
        if step and step["global_batch"] != point["global_batch"]:
            raise RunError(f"{path}: a batch of {step['global_batch']} on {point[by]} {by}, expected "
                           f"{point['global_batch']}")
        point["predicted_us"] = step["step_us"] if step else None
    if found[0]["predicted_us"] is None:
        raise RunError(f"{path}: no step on {found[0][by]} {by}, where the study begins")
    for step in steps:
        step["mode"] = found[0]["mode"]
    add_efficiency(steps, by)
    return steps


def verdict(found, by="nodes"):
    good = [point[by] for point in found if point["efficiency"] >= WANTED]
    bad = [point[by] for point in found if point["efficiency"] < WANTED]
    if len(found) < 3:
        return f"Fewer than three {by[:-1]} counts: too few for an application at most centres."
    if not bad:
        return f"At least {WANTED:.0%} up to {max(good)} {by}, the most that was measured."
    return (f"Below {WANTED:.0%} on {', '.join(map(str, bad))} {by}; the largest count with at least "
            f"{WANTED:.0%} is {max(good)}.")


def remarks(found, others, expected):
    """What a reader must know who expected more points."""
    missing = [nodes for nodes in expected if nodes not in [point["nodes"] for point in found]]
    if missing:
        yield f"Not measured: {', '.join(map(str, missing))} node(s); their logs in log/ say why."
    yield from unlike(found)
    if others:
        yield f"Left out, as points of another study: {', '.join(others)}."


def unlike(found):
    """What the points differ in beside their number. Runs without events.jsonl do not tell their threads."""
    for key, name in (("processor", "processor"), ("threads", "threads of a rank"), ("data", "training data")):
        kinds = sorted({str(point.get(key)) for point in found if key == "processor" or point.get(key) is not None})
        if len(kinds) > 1:
            yield f"The points differ in {name} ({', '.join(kinds)}): compare them with care."


def table_of(found):
    columns = [key for key in COLUMNS if any(point.get(key) is not None for point in found)]
    rows = [[Cell(forms.NONE if point.get(key) is None else COLUMNS[key].format(point[key]),
                  order="" if point.get(key) is None else point[key],
                  style=("good" if point[key] >= WANTED else "bad") if key == "efficiency" else "")
             for key in columns] for point in found]
    return Table(columns, rows, left=0)


def figures_of(found, by, plan):
    counts = [point[by] for point in found]
    marked = sorted({*counts, *(step[by] for step in plan)})

    def series(name, key):
        """What was measured comes last: it lies above the other lines."""
        model = [Series("model", [step[by] for step in plan], [step[key] for step in plan], 2, "dashed")]
        return [*(model if plan else []), Series(name, counts, [point[key] for point in found], 1)]

    efficiency = svg.chart(f"Parallel efficiency by {by}",
                           series("measured" if plan else "efficiency", "efficiency"), by, "parallel efficiency",
                           from_zero=True, unit=" %", factor=100,
                           lines=[(WANTED, f"{WANTED:.0%}", "limit"), (1.0, "ideal", "ideal")], x_counts=marked,
                           y_form=lambda value: f"{100 * value:.4g} %")
    base = counts[0]
    speedup = svg.chart(f"Speed-up by {by}",
                        [Series("ideal", marked, [count / base for count in marked], 7, "dotted"),
                         *series("measured", "speedup")],
                        by, f"times as fast as on {base} {by if base > 1 else by[:-1]}", log_y=True, x_counts=marked)
    return [Figure("scaling-efficiency", efficiency, "Parallel efficiency"),
            Figure("scaling-speedup", speedup, "Speed-up")]


def study_sections(found, notes, plan=()):
    first = found[0]
    batch = "the same global batch" if first["mode"] == "strong" else "the same batch for each rank"
    return [Section("Efficiency", [
        Text(f"{first['mode'].capitalize()} scaling ({batch}), {first['ranks_per_node']} rank(s) a node, "
             f"{first['threads']} thread(s) a rank, {first['device']}. Time of a training step on "
             f"synthetic data, median of several measurements; speed-up and efficiency against "
             f"{first['nodes']} node(s)."),
        table_of(found), Text(verdict(found)), *(Text(note, True) for note in notes),
        *figures_of(found, "nodes", plan),
        Text("The job scripts are in job/, what each job printed in log/.")])]


def run_sections(found, plan=()):
    first = found[0]
    batch = "the same global batch" if first["mode"] == "strong" else "the same batch for each rank"
    return [Section("Efficiency", [
        Text(f"{first['mode'].capitalize()} scaling ({batch}). Median speed of the runs while they "
             f"trained; speed-up and efficiency against {forms.plural(first['ranks'], 'rank')}."),
        table_of(found), Text(verdict(found, "ranks")), *(Text(note, True) for note in unlike(found)), *figures_of(found, "ranks", plan)])]


def write_csv(found, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([point.get(key) for key in COLUMNS] for point in found)
