# SPDX-License-Identifier: Apache-2.0
"""Text for people: a few lines for each run, a table for a sweep."""

import collections
import os
import re
import time

from . import files, sweep

PREFIX = os.environ.get("QUERN_JOBS_PREFIX", "jobs/")  # installed, the commands are quern-status and so on
BAD_ENDS = ("failed", "gave up", "cancelled", "stopped")  # of trials
MOST_TRIALS = 40  # in a table
MOST_REASONS = 5
UNKNOWN = (None, "", "N/A", "Unknown", "INVALID")


def duration(seconds):
    seconds = int(round(seconds))
    days, seconds = divmod(seconds, 86400)
    text = "{}:{:02d}:{:02d}".format(seconds // 3600, seconds // 60 % 60, seconds % 60)
    return "{} d {}".format(days, text) if days else text


def figure(value, percent=False):
    if value is None:
        return "-"
    return "{:.2f} %".format(100 * value) if percent else "{:.4g}".format(value)


def table(header, rows):
    """Columns of text; the last one is not filled up."""
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [header] + rows]


def text_of(run, lines):
    said = ["{}: {}{}".format(files.printable(run.folder), run.state, summary(run))]
    if run.problem:
        said.append("  " + files.printable(run.problem))
    for job, tasks in run.jobs:
        said.append("  " + job_line(run, job, tasks))
        if any(task.state == "OUT_OF_MEMORY" for task in tasks):
            said.append("    more MEM=, fewer RANKS= or a smaller train.micro_block lets it have memory enough")
    if run.training and run.training.exists:
        said += ["  " + line for line in training_lines(run)]
    if run.trials is not None:
        said += ["  " + line for line in trial_lines(run)]
    if run.points:
        rows = [[str(point["nodes"]), point["job"], point["state"] or "-", "yes" if point["measured"] else "no"]
                for point in run.points]
        said += ["  " + line for line in table(["nodes", "job", "state", "measured"], rows)]
    evaluation = run.evaluation()
    if evaluation:
        said.append("  evaluated: loss {}{}".format(figure(evaluation["loss"]), measures(evaluation)))
    if run.report():
        said.append("  report {}".format(files.printable(run.report())))
    log = run.log()
    if log:
        said.append("  log {}".format(files.printable(log)))
        said += ["    | " + line for line in files.last_lines(log, lines)]
    return said


def measures(test):
    """What labels or targets tell beside the loss."""
    return "".join(", {} {}".format(key, figure(test[key], key == "accuracy"))
                   for key in ("accuracy", "rmse", "r2") if test[key] is not None)


def summary(run):
    training = run.training
    if run.trials is not None:
        counts = collections.Counter(trial["state"] for trial in run.trials)
        return ", {} of {} trials done".format(counts["done"], len(run.trials)) + "".join(
            ", {} {}".format(counts[state], state) for state in BAD_ENDS if counts[state])
    if run.points:
        return ", {} of {} points measured".format(sum(point["measured"] for point in run.points), len(run.points))
    if training and training.gave_up and not training.done:
        return " ({})".format(training.gave_up)
    if training and training.failure and run.state in ("diverged", "failed"):
        return " ({})".format(training.failure)
    if training and training.stop and not training.done:
        return " (STOP is there; {}again removes it and resumes)".format(PREFIX)
    return ""


def job_line(run, job, tasks):
    text = "job {}  {}  ".format(job.id, job.name)
    if not tasks:
        known = "no longer known to Slurm" if job.id.isdigit() else "left no trace but its log"
        return text + (known if not run.problem else "?")
    task = tasks[0]
    if len(tasks) > 1 and job.id.isdigit():
        counts = collections.Counter(task.state for task in tasks)
        text += ", ".join("{} {}".format(count, state) for state, count in sorted(counts.items()))
    else:
        stopped = task.exit == 85 and not job.id.isdigit()  # Slurm has no such state, and says what sacct says
        text += "STOPPED" if stopped else task.state
        if task.exit and not stopped:
            text += ", exit status {}".format(task.exit)
        if task.reason:
            text += " ({})".format(files.printable(task.reason))
        if task.state == "PENDING" and task.start not in UNKNOWN:
            text += ", expected to start {}".format(task.start)
        elif task.elapsed not in UNKNOWN and task.state != "PENDING":
            text += ", {}".format(task.elapsed)
            if task.limit not in UNKNOWN:
                text += " of {}".format(task.limit)
        if task.nodes:
            text += " on {}".format(files.printable(task.nodes))
    most = run.max_restarts(job)
    used = max((task.restarts for task in tasks if task.restarts is not None), default=None)
    if most is not None and used is not None and run.state in ("running", "waiting"):
        text += ", {} of {} restarts left".format(max(0, most - used), most)
    return text


def step_text(training):
    if training.step is None:
        return "no step yet" if training.checkpoint is None else "step {}".format(training.checkpoint)
    if not training.steps:
        return "step {}".format(training.step)
    return "step {} of {} ({:.0f} %)".format(training.step, training.steps, 100.0 * training.step / training.steps)


def training_lines(run):
    training = run.training
    parts = [step_text(training)]
    if training.epoch is not None:
        parts.append("epoch {}".format(training.epoch) + (" of {}".format(training.epochs) if training.epochs else ""))
    if training.loss is not None:
        parts.append("loss {}".format(figure(training.loss)))
    test = training.test
    if test:
        measure = measures(test)[2:] or "loss " + figure(test["loss"])
        parts.append("test {}{}".format(measure, " (epoch {})".format(test["epoch"]) if test["epoch"] else ""))
    if run.state == "running" and training.samples_per_s is not None:
        parts.append("{:.0f} samples/s".format(training.samples_per_s))
    found = [", ".join(parts)]
    left = run.seconds_left()
    if left is not None:
        found.append("about {} left, until {}".format(duration(left), time.strftime(
            "%Y-%m-%d %H:%M", time.localtime(training.now + left))))
    if training.checkpoint is not None and not training.done:
        found.append("newest checkpoint: step {}".format(training.checkpoint)
                     + (", metrics written {} ago".format(duration(training.age)) if training.age is not None else ""))
    return found


def shown_trials(run):
    """All, or of many those that somebody may want to see: the best one, what did not end well, what runs."""
    def rank(trial):
        if run.best and run.best["trial"] == trial["trial"]:
            return 0
        return 1 if trial["state"] in BAD_ENDS else 2 if trial["state"] == "running" else 3 if trial["state"] != "done" else 4
    if len(run.trials) <= MOST_TRIALS:
        return run.trials
    return sorted(sorted(run.trials, key=rank)[:MOST_TRIALS], key=lambda trial: trial["trial"])


def trial_lines(run):
    rows = []
    targets = any((trial["test"] or {}).get("rmse") is not None for trial in run.trials)
    measure = "rmse" if targets else "accuracy"
    shown = shown_trials(run)
    for trial in shown:
        training, test = trial["training"], trial["test"] or {}
        step = "-" if training.step is None else str(training.step)
        if training.step is not None and training.steps:
            step += "/{}".format(training.steps)
        left = duration(trial["seconds_left"]) if trial["seconds_left"] is not None else "-"
        rows.append([str(trial["trial"]) + ("*" if run.best and run.best["trial"] == trial["trial"] else ""),
                     trial["state"], step, figure(trial["loss"]), figure(test.get("loss")),
                     figure(test.get(measure), measure == "accuracy"), left, trial["settings"]])
    lines = table(["trial", "state", "step", "loss", "test loss", "test " + measure, "left", "settings"], rows)
    if len(shown) < len(run.trials):
        counts = collections.Counter(trial["state"] for trial in run.trials)
        counts.subtract(trial["state"] for trial in shown)
        lines.append("and {} more: {} (--json has them all)".format(len(run.trials) - len(shown), ", ".join(
            "{} {}".format(count, state) for state, count in sorted(counts.items()) if count)))
    bad = sweep.unsuccessful(run.trials)
    for trial, reason in bad[:MOST_REASONS]:
        lines.append("trial {} {}{}{}".format(
            trial["trial"], trial["state"], ": " + reason if reason else "",
            ", log {}".format(files.printable(trial["log"])) if trial["log"] else ""))
    if len(bad) > MOST_REASONS:
        lines.append("and {} more trials that gave up or failed".format(len(bad) - MOST_REASONS))
    if run.best:
        value = figure(run.best["value"], run.best["by"].endswith("accuracy"))
        lines.append("* best: trial {}, {} {}".format(run.best["trial"], run.best["by"], value))
    return lines


def shortened(line, width):
    return line if len(line) <= width else re.sub(r".{2}$", "..", line[:width])
