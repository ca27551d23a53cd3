# SPDX-License-Identifier: Apache-2.0
"""Reads a run folder: recipe.toml, metrics.jsonl, events.jsonl, the checkpoints and DONE.

metrics.jsonl is written while a run trains and is appended to when it resumes. So the last line may
be cut off, a killed run may leave half a line in the middle, and a step may be there twice: lines
that are no JSON object, or hold what such a line never holds, are left out and counted, and the last
record of a step or epoch counts.
"""

import itertools
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python before 3.11
    import tomli as tomllib


# Of a recipe: what the pages read without a further look.
TYPES = {**dict.fromkeys(("data", "network", "loss", "optimizer", "parallel", "train", "checkpoint"), (dict, "a table")),
         **dict.fromkeys(("name", "data.train", "data.test"), (str, "a text"))}
CHANGE = ("key", "before", "after")
SUMMARY = ("min", "median", "mean", "max")


class RunError(Exception):
    """The folder is not a run, or a file in it cannot be read."""


class NotBegun(RunError):
    """The folder has no recipe.toml or metrics.jsonl, as one of a trial that waits for its turn."""


@dataclass
class Run:
    path: Path
    recipe: dict
    steps: list = field(default_factory=list)  # records of kind "step", by step
    epochs: list = field(default_factory=list)  # records of kind "epoch", by epoch
    evals: list = field(default_factory=list)  # records of kind "eval", by epoch
    checkpoints: list = field(default_factory=list)  # file names
    done: bool = False
    model_hash: str = ""
    bad_lines: list = field(default_factory=list)  # line numbers left out
    events: list = field(default_factory=list)  # records of events.jsonl, in order

    @property
    def name(self):
        return self.recipe.get("name", self.path.name)

    @property
    def last_step(self):
        return max((number(r, "step") or 0 for r in [*self.steps, *self.epochs, *self.evals]),
                   default=0)

    @property
    def ranks(self):
        """The rank counts that the run was trained with, one after another."""
        records = sorted([*self.steps, *self.epochs], key=lambda record: number(record, "step") or 0)
        counts = (number(record, "ranks") for record in records)
        return [count for count, _ in itertools.groupby(count for count in counts if count is not None)]

    @property
    def last_start(self):
        """Its event; empty where there is none."""
        return next((event for event in reversed(self.events) if event.get("event") == "start"), {})

    @property
    def hosts(self):
        """Host of each rank of the last start, as far as events.jsonl tells."""
        return [host for host, ranks in (self.last_start.get("hosts") or {}).items() for _ in range(ranks)]

    @property
    def state(self):
        """"diverged", or "failed" for another reason; "finished" or "not finished"."""
        if self.failure:
            return "diverged" if "diverged" in str(self.failure.get("reason", "")) else "failed"
        return "finished" if self.done else "not finished"

    def epochs_before(self, *keys):
        """How many epochs were done at the last start whose `keys` ("test_data", "monitor") were otherwise than before:
        evaluations of these are not compared with later ones. 0 where there was none."""
        known, epochs = {}, 0
        for start in self._starts():
            told = {key: start[key] for key in keys if start.get(key)}
            if any(known.get(key, value) != value for key, value in told.items()):
                epochs = number(start, "epoch") or 0
            known.update(told)
        return epochs

    @property
    def failure(self):
        """The event of the failure that the last start ended with, or None."""
        ends = [event for event in self.events if event.get("event") in ("start", "failure")]
        return ends[-1] if ends and ends[-1]["event"] == "failure" else None

    @property
    def changes(self):
        """[(step, key, before, after)]: the settings that the run got when it was resumed. A change lasts once a
        checkpoint has it: of a start that was killed before, the next start at its step makes its own changes."""
        found, saved = [], set()
        for event in self.events:
            step = number(event, "step")
            if event.get("event") == "checkpoint":
                saved.update(one for one in found if one[0] == step)
            elif event.get("event") == "start" and step is not None:
                new = [(step, *(change[part] for part in CHANGE)) for change in event.get("changes") or []]
                found = [one for one in found if one[0] < step or (one[0] == step and one in saved and one not in new)] + new
        return found

    @property
    def changes_text(self):
        return "; ".join(f"{key} from {before} to {after} at step {step}" for step, key, before, after in self.changes)

    def rank_times(self):
        """[(epoch, {phase: [seconds of each rank]})] of the epochs that tell."""
        found = []
        for record in self.epochs:
            times = record.get("rank_times_s")
            if isinstance(times, dict) and times and all(
                    isinstance(seconds, list) and seconds
                    and all(number({"s": value}, "s") is not None for value in seconds)
                    for seconds in times.values()):
                if len({len(seconds) for seconds in times.values()}) == 1:
                    found.append((record["epoch"], times))
        return found

    def rank_summaries(self):
        """[(epoch, {phase: {"min", "median", "mean", "max", "rank_of_min", "rank_of_max"}})] of the epochs of more
        ranks than metrics.jsonl lists; "work" is among the phases."""
        found = []
        for record in self.epochs:
            phases = record.get("rank_summary_s")
            if isinstance(phases, dict) and phases and all(is_summary(of) for of in phases.values()):
                found.append((record["epoch"], phases))
        return found

    def rows(self):
        """One dictionary per epoch: training and test figures; None where there is none."""
        tests = {r["epoch"]: r for r in self.evals}
        seconds = self._epoch_seconds()
        rows = []
        for record in self.epochs:
            test = tests.get(record["epoch"], {})
            rows.append({"epoch": record["epoch"], "step": number(record, "step"),
                         "train_loss": number(record, "loss"),
                         "train_accuracy": number(record, "accuracy"),
                         "test_loss": number(test, "loss"),
                         "test_accuracy": number(test, "accuracy"),
                         "test_rmse": number(test, "rmse"), "test_r2": number(test, "r2"),
                         **seconds[record["epoch"]],
                         "samples_per_s": number(record, "samples_per_s")})
        return rows

    def _starts(self):
        """The events of the starts whose records count: what a later one trained again is not of them."""
        starts = []
        for event in self.events:
            step = number(event, "step")
            if event.get("event") == "start" and step is not None:
                starts = [one for one in starts if one["step"] < step] + [event]
        return starts

    def _epoch_seconds(self):
        """{epoch: {"seconds": of its steps or None, "seconds_from": "record", "speed", "phases", "clock" or ""}}

        Evaluation does not count, and a checkpoint after the epoch counts by the clock alone. An epoch that a restart
        divided has the time that it would have had at the speed after it.
        """
        phases, clock = dict(self.rank_times()), self._clock_seconds()
        means = dict(self.rank_summaries())
        found = {}
        for record in self.epochs:
            epoch, samples, speed = record["epoch"], number(record, "samples"), number(record, "samples_per_s")
            if number(record, "seconds") is not None:
                told = (record["seconds"], "record")
            elif samples and speed:
                told = (samples / speed, "speed")
            elif epoch in phases:
                told = (max(map(sum, zip(*phases[epoch].values()))), "phases")
            elif epoch in means:
                told = (sum(of["mean"] for name, of in means[epoch].items() if name != "work"), "phases")
            else:
                told = (clock.get(epoch), "clock" if epoch in clock else "")
            found[epoch] = dict(zip(("seconds", "seconds_from"), told))
        return found

    def _clock_seconds(self):
        """{epoch: seconds} from the clock `time_s`, which starts anew when a run is resumed. They include checkpoints."""
        seconds, total, epoch_start, clock = {}, 0.0, 0.0, 0.0
        starts = [start["step"] for start in self._starts()]
        timed = [r for r in [*self.steps, *self.epochs, *self.evals]
                 if number(r, "time_s") is not None and number(r, "step") is not None]
        for record in sorted(timed, key=lambda r: r["step"]):
            time = record["time_s"]
            while starts and record["step"] > starts[0]:
                starts.pop(0)
                clock = 0.0
            total += time - clock if time >= clock else time  # smaller: a start that events.jsonl lacks
            clock = time
            if record["kind"] == "epoch":
                seconds[record["epoch"]] = total - epoch_start
            if record["kind"] != "step":
                epoch_start = total
        return seconds


def number(record, key):
    """The finite number at `key`, or None."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        return None
    return value


def has_types(record):
    """As the program writes them; those of other keys are looked at where they are read."""
    hosts, changes = record.get("hosts") or {}, record.get("changes") or []
    return (all(isinstance(record.get(key, ""), str) for key in ("event", "test_data", "monitor")) and isinstance(hosts, dict)
            and all(isinstance(ranks, int) for ranks in hosts.values()) and isinstance(changes, list)
            and all(isinstance(change, dict) and all(isinstance(change.get(part), str) for part in CHANGE)
                    for change in changes)
            and all(record.get(key) is None or number(record, key) is not None for key in ("step", "ranks", "bytes")))


def is_summary(of):
    return isinstance(of, dict) and all(number(of, key) is not None for key in SUMMARY) and all(
        isinstance(of.get(key), int) and of[key] >= 0 for key in ("rank_of_min", "rank_of_max"))


def read_recipe(path):
    try:
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotBegun(f"{path.parent} is not a run folder: it has no {path.name}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"cannot read {path}: {error}") from error
    for key, (kind, expected) in TYPES.items():
        table, _, name = key.rpartition(".")
        value = (recipe.get(table, {}) if table else recipe).get(name, kind())
        if not isinstance(value, kind):
            raise RunError(f"cannot read {path}: {key} = {value!r}, expected {expected}")
    return recipe


def read_records(path):
    """(records in order, numbers of the lines that were left out)."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            return parsed(file)
    except FileNotFoundError as error:
        raise NotBegun(f"{path.parent} is not a run folder: it has no {path.name}") from error
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from error


class Compactor:
    """Makes of records equal ones that take little memory: of those with the same keys in the same order these are there
    once, as Python does for the attributes of a class, and so is a text or number that many records have one after another."""
    MOST_CLASSES = 16

    def __init__(self):
        self.classes = {}  # one for each sequence of keys
        self.last = {}  # value of each key

    def class_of(self, record):
        keys = tuple(record)
        if keys not in self.classes and len(self.classes) < self.MOST_CLASSES:
            are_names = all(key.isidentifier() and not key.startswith("_") for key in keys)
            self.classes[keys] = type("Keys", (), {}) if are_names else None
        return self.classes.get(keys)

    def compact(self, record):
        made = self.class_of(record)
        if made is None:
            return record
        attributes = made()
        for key, value in record.items():
            before = self.last.get(key)
            if type(before) is type(value) and isinstance(value, (str, int, float)) and before == value:
                value = before
            self.last[key] = value
            setattr(attributes, sys.intern(key), value)
        return vars(attributes)


def parsed(lines):
    records, bad, compactor = [], [], Compactor()
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and has_types(record):
            records.append(compactor.compact(record))
        else:
            bad.append(line_number)
    return records, bad


def last_of_each(records, kind, key):
    """The last record of each value of `key`, in order of `key`."""
    chosen = {number(r, key): r for r in records if r.get("kind") == kind}
    chosen.pop(None, None)
    return [chosen[value] for value in sorted(chosen)]


def find_model_hash(records, done_path):
    for record in reversed(records):
        if isinstance(record.get("model_hash"), str):
            return record["model_hash"]
    try:
        text = done_path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"\b[0-9a-f]{64}\b", text)
    return found.group() if found else ""


def read_run(folder):
    """Reads the run in `folder`. Raises RunError when it is none, NotBegun when it may become one."""
    path = Path(folder)
    if not path.is_dir():
        raise RunError(f"{path} is not a folder" if path.exists() else f"{path} does not exist")
    recipe = read_recipe(path / "recipe.toml")
    records, bad = read_records(path / "metrics.jsonl")
    events = read_records(path / "events.jsonl")[0] if (path / "events.jsonl").exists() else []
    return Run(path=path, recipe=recipe,
               steps=last_of_each(records, "step", "step"),
               epochs=last_of_each(records, "epoch", "epoch"),
               evals=last_of_each(records, "eval", "epoch"),
               checkpoints=sorted(p.name for p in path.glob("checkpoints/ckpt-*.h5")),
               done=(path / "DONE").exists(),
               model_hash=find_model_hash(records, path / "DONE"), bad_lines=bad,
               events=events)
