# SPDX-License-Identifier: Apache-2.0
"""The trials of a sweep, and the best of them."""

import os
import re

from . import files, jobs
from .slurm import RUNNING, WAITING
from .training import Training

# What trials are compared by: the first of these that any of them has.
MEASURES = (("test accuracy", lambda training: (training.test or {}).get("accuracy"), max),
            ("test rmse", lambda training: (training.test or {}).get("rmse"), min),
            ("test loss", lambda training: (training.test or {}).get("loss"), min),
            ("accuracy", lambda training: training.accuracy, max),
            ("loss", lambda training: training.loss, min))


def trials(run, now=None):
    grid = [" ".join(files.printable(line).split()) for line in files.read(
        run.path("job", "grid.txt"), window=1 << 20).split("\n") if line.strip() and not line.lstrip().startswith("#")]
    numbers = set(range(len(grid)))
    numbers.update(int(name[6:]) for name in files.names(run.folder, r"trial-\d{1,9}$"))
    per_task = re.search(r"^trials_per_job=(\d{1,9})$", run.script("sweep"), re.MULTILINE)
    per_task = max(1, int(per_task.group(1))) if per_task else 1
    tasks, logs, own_logs = newest_tasks(run)
    found = []
    for number in sorted(numbers):
        folder = run.path("trial-{}".format(number))
        own = own_logs.get(number) or (logs.get(number) if per_task == 1 else None)
        log = own or logs.get(number // per_task)
        training = Training(folder, [own] if own else [], now)
        kept = files.last_lines(os.path.join(folder, "job", "trial"), 1)
        task = tasks.get(number // per_task)
        state = state_of(training, task)
        found.append({"trial": number, "state": state, "folder": folder, "training": training,
                      "settings": kept[0] if kept else grid[number] if number < len(grid) else "",
                      "seconds_left": training.seconds_left() if state == "running" else None,
                      "log": log, "exit": task.exit if task and per_task == 1 else None})
        found[-1].update((key, value) for key, value in training.as_dict().items() if key not in ("stop", "done"))
    return found


def newest_tasks(run):
    """Number of a task -> slurm.Task, and -> its log; number of a trial -> a log of its own."""
    tasks, logs, own_logs = {}, {}, {}
    for job, listed in run.jobs:
        if job.name != "sweep":
            continue
        for number, path in jobs.logs_of(job):
            logs[number] = path
        own_logs.update(jobs.logs_of_trials(job))
        for task in listed:
            for number in numbers_of(task.id.partition("_")[2].strip("[]").partition("%")[0]):
                tasks[number] = task
        if not job.id.isdigit() and listed and listed[0].state == "RUNNING":
            # One task after the other: the one that runs is the first that has not ended.
            ended = {int(task.id.partition("_")[2]) for task in listed[1:]}
            left = [number for number in tasks_of(run.script("sweep")) if number not in ended]
            tasks.update((number, listed[0]) for number in left[:1])
    return tasks, logs, own_logs


def tasks_of(script):
    """The numbers of the array's tasks: those of "#SBATCH --array=0,3-5%4"."""
    array = re.search(r"^#SBATCH --array=([\d,-]{1,100000})(%|$)", script, re.MULTILINE)
    return numbers_of(array.group(1)) if array else []


def numbers_of(ranges):
    """Of "0,3-5"; none of what is no such text."""
    numbers = []
    for text in ranges.split(","):
        first, _, last = text.partition("-")
        if first.isdigit() and (last or first).isdigit():
            numbers.extend(range(int(first), min(int(last or first), int(first) + 1000000) + 1))
    return numbers


def state_of(training, task):
    if training.done:
        return "done"
    if training.gave_up:
        return "gave up"
    if task and task.state in RUNNING:
        return "running"
    if task and task.state in WAITING:
        return "waiting"
    if training.stop:
        return "stopped"
    if task and task.state != "COMPLETED":
        return "stopped" if task.exit == 85 else "cancelled" if task.state == "CANCELLED" else "failed"
    return "ended" if training.exists else "not started"


def unsuccessful(listed):
    """Those that somebody should look at, each with the reason as far as it is known."""
    return [(trial, trial["gave_up"] if trial["state"] == "gave up" else "exit status {}".format(trial["exit"])
             if trial["exit"] else None) for trial in listed if trial["state"] in ("gave up", "failed")]


def best(listed):
    """The best trial that did not give up: its number, by what, and the value. None by losses of different kinds."""
    kinds = {tuple(re.findall(r"(?:^|\s)(loss[.=]\S*)", trial["settings"])) for trial in listed}
    for name, value_of, choose in MEASURES:
        if name.endswith("loss") and len(kinds) > 1:
            continue
        values = [(value_of(trial["training"]), trial["trial"]) for trial in listed if not trial["training"].gave_up]
        values = [(value, number) for value, number in values if value is not None]
        if values:
            wanted = choose(value for value, _ in values)
            return {"trial": min(number for value, number in values if value == wanted), "by": name, "value": wanted}
    return None
