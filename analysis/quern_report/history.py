# SPDX-License-Identifier: Apache-2.0
"""The life of a run: when it ran, what ended it, when checkpoints were written."""

from dataclasses import dataclass, field
from datetime import datetime, timezone

from . import forms, panels
from .blocks import Cell, Figure, Section, Table, Text
from .runlog import number


@dataclass
class Life:
    """From a start to the end of that process."""
    start: datetime
    event: dict
    end: datetime
    how: str = "was killed, or runs"  # how it ended
    kind: str = "cut"  # class of its bar
    checkpoints: list = field(default_factory=list)  # of (time, event)
    last_step: int = 0


ENDS = {"stop": ("stopped", "stopped"), "failure": ("failed", "bad"), "done": ("finished", "done")}


def time_of(event):
    try:
        time = datetime.fromisoformat(str(event.get("time", "")).replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def lives_of(run):
    lives = []
    for event in run.events:
        time, kind = time_of(event), event.get("event")
        if time is None or (not lives and kind != "start"):
            continue
        if kind == "start":
            lives.append(Life(time, event, time, last_step=number(event, "step") or 0))
            continue
        life = lives[-1]
        life.end = max(life.end, time)
        life.last_step = max(life.last_step, number(event, "step") or 0)
        if kind == "checkpoint":
            life.checkpoints.append((time, event))
        elif kind in ENDS:
            life.how, life.kind = ENDS[kind]
            if event.get("reason"):
                life.how += f": {event['reason']}"
    if lives and lives[-1].kind == "cut":
        follow(lives[-1], run)
    return lives


def follow(life, run):
    """The last process has said no end: it reached at least the last line of metrics.jsonl."""
    records = [*run.steps, *run.epochs, *run.evals]
    last = max(records, key=lambda record: number(record, "step") or 0, default=None)
    if last is None or (number(last, "step") or 0) <= life.last_step:
        return
    life.last_step = number(last, "step")
    reached = life.start.timestamp() + (number(last, "time_s") or 0)
    life.end = max(life.end, datetime.fromtimestamp(reached, life.start.tzinfo))


def start_text(life):
    ranks, hosts = life.event.get("ranks"), life.event.get("hosts") or {}
    text = forms.plural(ranks, "rank") if isinstance(ranks, int) else forms.NONE
    if isinstance(hosts, dict) and hosts:
        named = ", ".join(hosts) if len(hosts) <= 4 else f"{len(hosts)} hosts"
        text += f" on {named}"
    return text


def picture(lives):
    first = lives[0].start
    spans, points = [], []
    for index, life in enumerate(lives):
        begin, end = ((time - first).total_seconds() for time in (life.start, life.end))
        hint = f"{start_text(life)}, from step {life.event.get('step', 0)} to {life.last_step}: {life.how}"
        style = life.kind if life.kind in ("cut", "bad") else ""
        spans.append((begin, end, forms.plural(life.event.get("ranks") or 1, "rank"), style, hint))
        name = "start" if index == 0 else ("requeued" if life.event.get("restarts") not in (None, "", "0")
                                           else "restart")
        points.append((begin, name, hint))
        points += [((time - first).total_seconds(), "checkpoint",
                    f"{event.get('file', 'checkpoint')}: {forms.size(event.get('bytes'))}, "
                    f"{forms.seconds(number(event, 'seconds'))}") for time, event in life.checkpoints]
    length = max((life.end - first).total_seconds() for life in lives) or 1
    return panels.timeline("Starts, ends and checkpoints over time", spans, points, length)


def checkpoint_row(time, event):
    return [str(event.get("file", forms.NONE)), f"{time:%Y-%m-%d %H:%M:%S}",
            Cell(forms.count(number(event, "step")), order=number(event, "step") or 0),
            Cell(forms.size(number(event, "bytes")), order=number(event, "bytes") or 0),
            Cell(forms.seconds(number(event, "seconds")), order=number(event, "seconds") or 0)]


def section_of(run):
    lives = lives_of(run)
    if not lives:
        return Section("Timeline", [Text("The run folder has no events.jsonl: it was trained by an "
                                         "earlier Quern, which kept no times of starts and checkpoints.",
                                         True)])
    rows = [[f"{life.start:%Y-%m-%d %H:%M:%S}", start_text(life), life.how,
             Cell(forms.count(life.event.get("step") or 0), order=life.event.get("step") or 0),
             Cell(forms.count(life.last_step), order=life.last_step),
             Cell(forms.whole_seconds((life.end - life.start).total_seconds()),
                  order=(life.end - life.start).total_seconds()), str(len(life.checkpoints))]
            for life in lives]
    written = [checkpoint_row(*entry) for life in lives for entry in life.checkpoints]
    blocks = [Figure("timeline", picture(lives), "Starts, ends and checkpoints",
                     "Bars: time in which the run ran; ticks below them: checkpoints. All times are UTC.",
                     wide=True),
              Table(["start", "ranks", "end", "from step", "to step", "ran for", "checkpoints"], rows,
                    left=3)]
    if run.changes:
        blocks.append(Table(["changed setting", "before", "after", "from step"],
                            [[key, before, after, Cell(forms.count(step), order=step)]
                             for step, key, before, after in run.changes], left=3))
    if written:
        blocks.append(Table(["checkpoint", "written at", "step", "size", "took"], written, left=2))
    return Section("Timeline", blocks)
