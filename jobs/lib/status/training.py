# SPDX-License-Identifier: Apache-2.0
"""How far a training is, from what it writes into its folder: steps, figures, the time that is left."""

import os
import re
import time

from . import files

RECENT = 20  # lines of metrics.jsonl that the speed is taken from


def tells_step(record):
    return record.get("kind") in ("step", "epoch") and files.whole(record.get("step")) is not None


def stated(recipe, table, key):
    """The text of a key's value in the recipe of a run folder; empty without it."""
    found = re.search(rf"^\[{table}\]\s*?\n(?:[^\[\n].*\n|\n)*?{key} *= *(.*)$", recipe, re.MULTILINE)
    return found.group(1) if found else ""


def stated_whole(recipe, table, key):
    found = re.match(r"\d{1,12}\b", stated(recipe, table, key))
    return int(found.group()) if found else None


def may_be_evaluated_before(recipe, found):
    """May there be an evaluation before these last lines of metrics.jsonl? After the first epoch that ends with one, if
    there is test data: `data.test`, or that of a program of the user's own."""
    every = stated_whole(recipe, "train", "evaluate_every") or 1
    has_test = re.match(r"[\"'][^\"']", stated(recipe, "data", "test")) or "program" in stated(recipe, "data", "source")
    epoch = next((files.whole(record.get("epoch")) for record in reversed(found) if tells_step(record)), None)
    return every > 1 and bool(has_test) and epoch is not None and epoch > every


class Training:
    """step, steps, epoch, epochs, loss, accuracy, samples_per_s: None where unknown. `test`: the last evaluation."""

    def __init__(self, folder, logs=(), now=None):
        self.folder = folder
        self.now = time.time() if now is None else now
        self.done = files.exists(os.path.join(folder, "DONE"))
        self.stop = files.exists(os.path.join(folder, "STOP"))
        self.gave_up = None
        if files.exists(os.path.join(folder, "job", "GAVE_UP")):
            text = files.last_lines(os.path.join(folder, "job", "GAVE_UP"), 1)
            self.gave_up = text[0] if text else "job/GAVE_UP is there"
        self.checkpoint = self._newest_checkpoint()
        metrics = os.path.join(folder, "metrics.jsonl")
        recipe = files.read(os.path.join(folder, "recipe.toml")) + "\n"
        self.records = files.records(metrics, lambda found: sum(map(tells_step, found)) >= 2 and (  # they give the speed
            any(record.get("kind") == "eval" for record in found) or not may_be_evaluated_before(recipe, found)))
        self.age = files.age(metrics, self.now)
        last = self._last("step", "epoch")
        self.step, self.epoch = (files.whole(last.get(key)) for key in ("step", "epoch"))
        self.loss, self.accuracy = (files.number(last.get(key)) for key in ("loss", "accuracy"))
        self.samples_per_s = files.number(last.get("samples_per_s"), 0)
        if self.step is not None and self.checkpoint is not None:
            self.step = max(self.step, self.checkpoint)  # not every step has a line
        self.failure = self._failure()
        self.test = self._test()
        self.steps = self.epochs = None
        self._totals(recipe, logs)
        self.exists = bool(self.records) or self.done or self.checkpoint is not None or files.exists(
            os.path.join(folder, "recipe.toml"))

    def _newest_checkpoint(self):
        names = files.names(os.path.join(self.folder, "checkpoints"), r"ckpt-\d{1,18}\.h5$")
        return max((int(name[5:-3]) for name in names), default=None)

    def _last(self, *kinds):
        return next((record for record in reversed(self.records)
                     if record.get("kind") in kinds and files.whole(record.get("step")) is not None), {})

    def _failure(self):
        """Why the newest start failed, such as a loss that is not finite; None otherwise."""
        events = files.records(os.path.join(self.folder, "events.jsonl"))
        event = next((event for event in reversed(events)
                      if event.get("event") in ("start", "stop", "failure", "done")), {})
        if event.get("event") != "failure":
            return None
        if self.step is None:
            self.step = files.whole(event.get("step"))  # there may have been no line before it
        return files.printable(str(event.get("reason", "")))

    def _test(self):
        record = self._last("eval")
        if not record:
            return None
        found = {key: files.whole(record.get(key)) for key in ("step", "epoch")}
        found.update((key, files.number(record.get(key))) for key in ("loss", "accuracy", "rmse", "r2"))
        return found

    def _totals(self, recipe, logs):
        """All steps: the program says them at each start. Else by the epochs that are done."""
        self.epochs = stated_whole(recipe, "train", "epochs")
        for path in logs:
            tail = files.read(path, end=True)
            said = re.findall(r"^quern: .* (\d{1,15}) steps$", tail, re.MULTILINE) or re.findall(
                r"^quern: .* (\d{1,15}) steps$", files.read(path), re.MULTILINE)
            if said:
                self.steps = int(said[-1])
            shown = re.findall(r"^quern: step (\d{1,15})/(\d{1,15}) \(", tail, re.MULTILINE)
            if shown:
                self.steps = int(shown[-1][1])
        if self.steps is None and self.epochs:
            for record in self.records:
                step, epoch = files.whole(record.get("step"), 1), files.whole(record.get("epoch"), 1)
                if record.get("kind") == "epoch" and step and epoch:
                    self.steps = step // epoch * self.epochs
        if self.step is not None and self.steps is not None and self.step > self.steps:
            self.steps = None  # of another recipe

    def steps_per_s(self):
        """By the last lines of the newest start: the time begins at 0 with each."""
        points = []
        for record in reversed(self.records):
            step, at = files.number(record.get("step"), 0), files.number(record.get("time_s"), 0)
            if step is None or at is None or record.get("kind") not in ("step", "epoch"):
                continue
            if points and (at > points[-1][1] or step > points[-1][0]):
                break
            points.append((step, at))
            if len(points) == RECENT:
                break
        if len(points) < 2 or points[0][1] <= points[-1][1]:
            return None
        return (points[0][0] - points[-1][0]) / (points[0][1] - points[-1][1]) or None

    def seconds_left(self):
        """For a training that runs: by its recent speed, less the time since it last wrote."""
        speed = self.steps_per_s()
        if speed is None or self.step is None or self.steps is None:
            return None
        last = max((files.whole(record.get("step")) or 0 for record in self.records), default=0)
        return max(0.0, (self.steps - last) / speed - (self.age or 0.0))

    def as_dict(self):
        return {"step": self.step, "steps": self.steps, "epoch": self.epoch, "epochs": self.epochs, "loss": self.loss,
                "accuracy": self.accuracy, "test": self.test, "samples_per_s": self.samples_per_s,
                "checkpoint": self.checkpoint, "done": self.done, "stop": self.stop, "gave_up": self.gave_up,
                "failure": self.failure}
