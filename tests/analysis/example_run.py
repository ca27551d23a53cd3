# SPDX-License-Identifier: Apache-2.0
"""Writes small run folders as quern train does, and makes analysis/ importable."""

import json
import math
import statistics
import sys
from pathlib import Path

ANALYSIS = Path(__file__).resolve().parents[2] / "analysis"
sys.path.insert(0, str(ANALYSIS))

RECIPE = """\
name = "{name}"
seed = {seed}

[data]
global_batch = 100

[optimizer]
type = "sgd"
lr = 0.2
"""

STEPS_PER_EPOCH = 20


PHASES = ("data", "forward", "backward", "reduction", "update", "waiting", "other")


def make_times(ranks, slow=None):
    """10 s of each rank by phase; `slow`: a rank that works while the others wait."""
    return {phase: [{"forward": 3.0 if rank == slow else 2.0, "backward": 4.0,
                     "waiting": 2.0 if rank == slow else 3.0}.get(phase, 0.25) for rank in range(ranks)]
            for phase in PHASES}


def make_summary(times):
    """What metrics.jsonl has in place of the times of very many ranks."""
    ranks = range(len(times["data"]))
    work = [sum(seconds[rank] for phase, seconds in times.items() if phase not in ("waiting", "other")) for rank in ranks]
    return {phase: {"min": min(all_), "median": statistics.median(all_), "mean": statistics.mean(all_), "max": max(all_),
                    "rank_of_min": all_.index(min(all_)), "rank_of_max": all_.index(max(all_))}
            for phase, all_ in {**times, "work": work}.items()}


EVENTS = [
    {"event": "start", "time": "2026-01-02T10:00:00Z", "step": 0, "epoch": 0, "total_steps": 60, "ranks": 2,
     "threads": 1, "hosts": {"node1": 1, "node2": 1}, "version": "0.1.0", "git_commit": "abc", "job": "77",
     "restarts": "0"},
    {"event": "checkpoint", "time": "2026-01-02T10:00:20Z", "step": 40, "epoch": 2,
     "file": "ckpt-0000000040.h5", "bytes": 2048, "seconds": 0.5},
    {"event": "stop", "time": "2026-01-02T10:00:21Z", "step": 40, "epoch": 2, "reason": "SIGUSR1"},
    {"event": "start", "time": "2026-01-02T10:05:00Z", "step": 40, "epoch": 2, "total_steps": 60, "ranks": 2,
     "threads": 1, "hosts": {"node1": 1, "node2": 1}, "version": "0.1.0", "git_commit": "abc", "job": "77",
     "restarts": "1"},
    {"event": "checkpoint", "time": "2026-01-02T10:05:30Z", "step": 60, "epoch": 3,
     "file": "ckpt-0000000060.h5", "bytes": 2048, "seconds": 0.25},
    {"event": "done", "time": "2026-01-02T10:05:31Z", "step": 60, "epoch": 3, "model": "ab" * 32},
]


def make_records(epochs=3, ranks=2, seed=0, with_accuracy=True, rmse=None):
    """The lines of metrics.jsonl of an uninterrupted run, as dictionaries. `rmse`: of a regression's last epoch."""
    with_accuracy = with_accuracy and rmse is None
    records = []
    for step in range(1, epochs * STEPS_PER_EPOCH + 1):
        epoch = (step - 1) // STEPS_PER_EPOCH + 1
        loss = 2.3 * math.exp(-step / 30) + 0.3 + 0.05 * math.sin(step + seed)
        common = {"epoch": epoch, "step": step, "ranks": ranks, "time_s": 0.5 * step}
        records.append({"kind": "step", **common, "loss": loss, "lr": 0.2,
                        "samples_per_s": 5000.0 + 100 * math.cos(step)})
        if step % STEPS_PER_EPOCH == 0:
            accuracy = {"accuracy": 1 - loss / 3} if with_accuracy else {}
            records.append({"kind": "epoch", **common, "loss": loss, **accuracy, "lr": 0.2,
                            "samples_per_s": 5000.0})
            accuracy = {"accuracy": 1 - loss / 2.8} if with_accuracy else {}
            if rmse is not None:
                accuracy = {"rmse": rmse * epochs / epoch, "r2": 0.9 * epoch / epochs}
            records.append({"kind": "eval", **common, "loss": loss + 0.1, **accuracy})
    return records


def write_run(folder, records=None, name="example", seed=0, tail="", done="", events=(), extra=""):
    """A run folder; `tail` is appended to metrics.jsonl as it is, `done` is the text of DONE, `extra`
    goes to the end of the recipe."""
    folder = Path(folder)
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "recipe.toml").write_text(RECIPE.format(name=name, seed=seed) + extra)
    lines = "".join(json.dumps(record) + "\n" for record in
                    (make_records(seed=seed) if records is None else records))
    (folder / "metrics.jsonl").write_text(lines + tail)
    if events:
        (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    for step in (40, 60):
        (folder / "checkpoints" / f"ckpt-{step:010}.h5").touch()
    if done:
        (folder / "DONE").write_text(done)
    return folder
