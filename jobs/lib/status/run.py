# SPDX-License-Identifier: Apache-2.0
"""A run folder with its jobs, in one word and in figures: of a training, a sweep, a scaling study or other jobs."""

import json
import os
import re

from . import files, jobs, sweep
from .slurm import RUNNING, WAITING
from .training import Training

STATES = {"COMPLETED": "done", "CANCELLED": "cancelled", "LOST": "lost", "TIMEOUT": "out of time",
          "NODE_FAIL": "failed", "OUT_OF_MEMORY": "out of memory"}

NOTHING_TO_DO = re.compile(r"\[job \S+\] (finished|given up|asked to stop): ")  # as job/requeue.sh says it


class Run:
    """Of a folder and slurm.Slurm's answers."""

    def __init__(self, folder, slurm, now=None):
        self.folder = folder
        self.problem = None
        newest, older = jobs.jobs_of(folder)
        older = [job for job in older if any(task.state in WAITING + RUNNING for task in self._tasks(job, slurm))]
        self.jobs = [(job, self._tasks(job, slurm)) for job in older + newest]
        if slurm.problem and any(job.id.isdigit() for job, _ in self.jobs):
            self.problem = slurm.problem
        self.silent = slurm.silent and self.problem is not None
        self.kind = self._kind()
        self.training = self.trials = self.points = self.best = None
        if self.kind == "sweep":
            self.trials = sweep.trials(self, now)
            self.best = sweep.best(self.trials)
        elif self.kind == "scaling":
            self.points = self._points()
        elif self.kind == "train":
            self.training = Training(folder, [path for job, _ in self.jobs for _, path in jobs.logs_of(job)], now)
        self.state = self._state()

    @staticmethod
    def _tasks(job, slurm):
        return slurm.tasks.get(job.id, []) if job.id.isdigit() else jobs.tasks_in_place(job)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def script(self, name):
        return files.read(self.path("job", name + ".sbatch"), window=1 << 20)

    def _kind(self):
        if files.exists(self.path("job", "grid.txt")) or files.names(self.folder, r"trial-\d+$"):
            return "sweep"
        if files.names(self.path("job"), r"scaling-.*\.sbatch$"):
            return "scaling"
        trains = files.names(self.path("job"), r"(train|chain-\d+)\.sbatch$") or any(
            job.name == "train" for job, _ in self.jobs)
        return "train" if trains or files.exists(self.path("recipe.toml")) else "jobs"

    def may_go_on(self):
        """Is a job queued or running, or can nobody tell because Slurm does not answer?"""
        return bool(self.live() or self.silent and self.state != "done")

    def states(self):
        """Of all jobs; where they change, something happens."""
        return [(task.id, task.state, task.restarts) for _, tasks in self.jobs for task in tasks]

    def live(self, among=RUNNING + WAITING):
        return [task for _, tasks in self.jobs for task in tasks if task.state in among]

    def _state(self):
        training = self.training
        if training and training.done:
            return "done"
        for word, among in (("running", RUNNING), ("waiting", WAITING)):
            if self.live(among):
                return word
        if training and training.gave_up:
            return "gave up"
        if training and training.failure is not None:
            return "diverged" if "diverged" in training.failure else "failed"
        if files.exists(self.path("STOP")):
            return "stopped"
        tasks = [task for _, listed in self.jobs for task in listed]
        if not tasks:
            return "unknown" if self.jobs else "nothing submitted"
        if self.trials is not None:
            return "done" if all(trial["state"] == "done" for trial in self.trials) else "ended"
        # Of a plan the first job that did not succeed; of a chain, which is one run, the last one.
        if any(job.name.startswith("chain-") for job, _ in self.jobs):
            tasks = [task for task in tasks if task.state != "CANCELLED"][-1:] or tasks
        bad = [task for task in tasks if task.state != "COMPLETED"]
        if not bad:
            return "done" if not training else "ended"
        if bad[0].exit == 85:
            return "stopped"
        return STATES.get(bad[0].state, "failed")

    def max_restarts(self, job):
        found = re.search(r"^max_restarts=(\d{1,9})$", files.read(
            os.path.join(job.folder, "job", job.name + ".sbatch"), window=1 << 20), re.MULTILINE)
        return int(found.group(1)) if found else None

    def _points(self):
        found = []
        for job, tasks in self.jobs:
            name = re.match(r"scaling-(\d{1,9})$", job.name)
            if name:
                found.append({"nodes": int(name.group(1)), "job": job.id, "state": tasks[0].state if tasks else None,
                              "measured": files.exists(self.path("nodes-{}.json".format(name.group(1))))})
        return sorted(found, key=lambda point: point["nodes"])

    def evaluation(self):
        """Of RUN_DIR/evaluate.json."""
        try:
            figures = json.loads(files.read(self.path("evaluate.json")))
        except (ValueError, RecursionError):
            return None
        if not isinstance(figures, dict):
            return None
        return {key: files.number(figures.get(key)) for key in ("loss", "accuracy", "rmse", "r2", "samples")}

    def report(self):
        for path in (self.path("report", "report.md"), self.path("scaling.md")):
            if files.exists(path):
                return path
        return None

    def log(self):
        """The log that tells most: of a job that runs, else of the first that failed, else of the last one. A chain is
        one run: of it the last job that had something to do. Of a sweep that of the first trial that failed."""
        if self.trials is not None and not self.live(RUNNING):
            for trial, _ in sweep.unsuccessful(self.trials):
                if trial["log"]:
                    return trial["log"]
        ranked = []
        for place, (job, tasks) in enumerate(self.jobs):
            logs = jobs.logs_of(job)
            if not logs:
                continue
            runs = any(task.state in RUNNING for task in tasks)
            fails = any(task.state not in RUNNING + WAITING + ("COMPLETED",) for task in tasks)
            order = -place if fails else place
            if job.name.startswith("chain-"):
                fails = not any(NOTHING_TO_DO.match(line) for line in files.last_lines(logs[-1][1], 1))
                order = place
            ranked.append((2 if runs else 1 if fails else 0, order, logs[-1][1]))
        return max(ranked)[2] if ranked else None

    def as_dict(self, lines):
        listed = []
        for job, tasks in self.jobs:
            most = self.max_restarts(job)
            restarts = max((task.restarts for task in tasks if task.restarts is not None), default=None)
            listed.append({"id": job.id, "name": job.name, "folder": job.folder,
                           "tasks": [dict(task._asdict()) for task in tasks], "max_restarts": most,
                           "restarts_left": None if most is None or restarts is None else max(0, most - restarts)})
        log = self.log()
        found = {"folder": self.folder, "kind": self.kind, "state": self.state, "problem": self.problem,
                 "jobs": listed, "log": log, "log_tail": files.last_lines(log, lines) if log else [],
                 "evaluation": self.evaluation(), "report": self.report()}
        if self.training:
            found["training"] = dict(self.training.as_dict(), seconds_left=self.seconds_left())
        if self.trials is not None:
            found.update(trials=[{key: value for key, value in trial.items() if key != "training"}
                                 for trial in self.trials], best=self.best)
        if self.points is not None:
            found["points"] = self.points
        return found

    def seconds_left(self):
        return self.training.seconds_left() if self.training and self.state == "running" else None
