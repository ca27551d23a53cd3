# SPDX-License-Identifier: Apache-2.0
"""What a run learned: its curves, its key figures, its epochs."""

import statistics

from . import best as best_epochs, forms, ranges, svg
from .balance import waiting_share
from .blocks import Cards, Cell, Figure, Section, Table, Text
from .runlog import number
from .svg import Mark, Series


def points(records, x_key, y_key):
    """Finite (x, y) of the records, as two lists."""
    xs, ys = [], []
    for record in records:
        x, y = number(record, x_key), number(record, y_key)
        if x is not None and y is not None:
            xs.append(x)
            ys.append(y)
    return xs, ys


def not_finite(run):
    """The first record whose loss is not a finite number."""
    for record in sorted([*run.steps, *run.epochs, *run.evals],
                         key=lambda record: number(record, "step") or 0):
        if isinstance(record.get("loss"), (str, float)) and number(record, "loss") is None:
            return record
    return None


def own_best(rows, key):
    """The mark of a curve at its best value, which need not be of the run's best epoch."""
    row = best_epochs.extreme(rows, key)
    if row is None:
        return []
    return [Mark(row["epoch"], row[key], f"{best_epochs.MEASURES[key][1](row[key])}, epoch {row['epoch']}", 2,
                 below=key == "test_accuracy")]


def ring(rows, key):
    """What the caption says of it."""
    return f"Ring: the {best_epochs.MEASURES[key][0]}." if best_epochs.extreme(rows, key) else ""


def loss_chart(run, rows, tests):
    """By epoch; the steps' losses lie between, where the steps of an epoch are known. `tests`: the rows whose evaluations
    are compared."""
    per_epoch = max((row["step"] / row["epoch"] for row in rows if row["step"] and row["epoch"]),
                    default=0)
    x, y = points(run.steps, "step", "loss")
    if not per_epoch:
        return svg.chart("Training loss", [Series("single batches", x, y, 1, mean="running mean")], "step", "loss")
    series = [Series("single batches", [step / per_epoch for step in x], y, 7, mean="their running mean")]
    train = points([{"x": r["epoch"], "y": r["train_loss"]} for r in rows], "x", "y")
    test = points([{"x": r["epoch"], "y": r["test_loss"]} for r in rows], "x", "y")
    series += [Series("training", *train, 1), Series("test", *test, 2)]
    ys = [value for one in series for value in one.y]
    return svg.chart("Training and test loss by epoch", series, "epoch", "loss", marks=own_best(tests, "test_loss"),
                     log_y=ranges.spans_decades(ys))


def accuracy_chart(rows, tests):
    train = points([{"x": r["epoch"], "y": r["train_accuracy"]} for r in rows], "x", "y")
    test = points([{"x": r["epoch"], "y": r["test_accuracy"]} for r in rows], "x", "y")
    return svg.chart("Training and test accuracy by epoch",
                     [Series("training", *train, 1), Series("test", *test, 2)],
                     "epoch", "share of correct answers", marks=own_best(tests, "test_accuracy"), y_high=1.0, unit=" %", factor=100,
                     y_form=lambda value: f"{100 * value:.4g} %")


def rmse_chart(rows, tests):
    x, y = points([{"x": r["epoch"], "y": r["test_rmse"]} for r in rows], "x", "y")
    return svg.chart("Test RMSE by epoch", [Series("test", x, y, 2)], "epoch", "RMSE of the test set",
                     marks=own_best(tests, "test_rmse"),
                     log_y=ranges.spans_decades(y))


def figures(run, rows):
    rate = points(run.steps or run.epochs, "step", "lr")
    speed = points(run.steps or run.epochs, "step", "samples_per_s")
    ranks = " of all ranks together" if any(count > 1 for count in run.ranks) else ""
    tests = best_epochs.of_last_test_data(run, rows)
    drawn = [
        ("loss", loss_chart(run, rows, tests), "Loss",
         f"Means over the epoch; grey, the losses of single batches. {ring(tests, 'test_loss')}".strip()
         if rows and run.steps else ring(tests, "test_loss")),
        ("accuracy", accuracy_chart(rows, tests), "Accuracy", ring(tests, "test_accuracy")),
        ("rmse", rmse_chart(rows, tests), "RMSE",
         f"Root of the mean squared error, in the units of the targets. {ring(tests, 'test_rmse')}"),
        ("learning-rate", svg.chart("Learning rate by step", [Series("learning rate", *rate, 3)],
                                    "step", "learning rate", from_zero=True), "Learning rate", ""),
        ("throughput", svg.chart("Samples per second by step", [Series("each record", *speed, 4, mean="running mean")],
                                 "step", "samples a second", from_zero=True), "Throughput",
         f"Samples per second{ranks}, without evaluation."),
    ]
    return [Figure(name, picture, title, caption) for name, picture, title, caption in drawn if picture]


# Of the best epoch, beside what it is best by.
OTHERS = [("test_accuracy", "test accuracy", forms.percent, ""), ("test_rmse", "test RMSE", forms.significant, ""),
          ("test_r2", "R\N{SUPERSCRIPT TWO}", forms.significant, "share of the targets' variance")]


def cards(run, rows, best):
    items = []
    if best:
        items.append((best.name, best.figure, f"epoch {best.epoch} of {rows[-1]['epoch']}"))
        items += [(f"{name} of that epoch", show(best.row[key]), of) for key, name, show, of in OTHERS
                  if key != best.key and best.row[key] is not None]
        last = rows[-1]
        items.append(("last training loss", forms.significant(last["train_loss"]),
                      forms.percent(last["train_accuracy"]) + " correct"
                      if last["train_accuracy"] is not None else ""))
    speeds = [value for value in points(run.steps or run.epochs, "step", "samples_per_s")[1]]
    if speeds:
        items.append(("samples per second", forms.count(statistics.median(speeds)), "median"))
    told = [row["seconds"] for row in rows if row["seconds"] is not None]
    if told:
        items.append(("training time", forms.seconds(sum(told)),
                      f"{forms.seconds(statistics.median(told))} an epoch, median"))
    items.append(("steps", forms.count(run.last_step), ""))
    share = waiting_share(run)
    if share is not None and run.ranks and run.ranks[-1] > 1:
        items.append(("waiting for ranks", forms.percent(share, 1), "of the ranks' time"))
    return Cards(items)


def told_of_time(rows):
    """What the column of times has."""
    ways = {row["seconds_from"] for row in rows} - {""}
    if not ways:
        return ""
    if ways == {"clock"}:
        return "Time: by the clock of the records, with checkpoints, without evaluation."
    return ("Time: of the steps of an epoch (its samples divided by the samples a second, or the sum of a rank's phases), "
            "without evaluation and the checkpoint after it.")


def epoch_table(rows, best):
    has = {key: any(row[key] is not None for row in rows)
           for key in ("train_accuracy", "test_loss", "test_accuracy", "test_rmse", "test_r2", "seconds",
                       "samples_per_s")}
    columns = [("train_loss", "training loss", forms.significant),
               ("train_accuracy", "training accuracy", forms.percent),
               ("test_loss", "test loss", forms.significant),
               ("test_accuracy", "test accuracy", forms.percent), ("test_rmse", "test RMSE", forms.significant),
               ("test_r2", "test R\N{SUPERSCRIPT TWO}", forms.significant),
               ("seconds", "time", forms.seconds), ("samples_per_s", "samples / s", forms.count)]
    columns = [column for column in columns if has.get(column[0], True)]
    lines = []
    for row in rows:
        is_best = best is not None and row is best.row
        lines.append([Cell(str(row["epoch"]), order=row["epoch"], style="mark" if is_best else ""),
                      *(Cell(shown(row[key]), order="" if row[key] is None else row[key])
                        for key, _, shown in columns)])
    return Table(["epoch", *(name for _, name, _ in columns)], lines, left=0,
                 caption=" ".join(filter(None, [f"Bold: the best epoch, {best.epoch}." if best else "", told_of_time(rows)])))


def sections_of(run):
    rows = run.rows()
    best = best_epochs.best_of(run, rows)
    blocks = [cards(run, rows, best)]
    if best:
        blocks.append(Text(best.sentence))
    before = run.epochs_before("test_data")
    if before:
        blocks.append(Text(f"The test data changed after epoch {before}: evaluations until then are not compared with later "
                           "ones.", True))
    bad = not_finite(run)
    if run.failure:
        blocks.append(Text(f"The run {run.state}: {run.failure.get('reason', '')}", True))
    elif bad:
        what = "test loss" if bad["kind"] == "eval" else "loss"
        blocks.append(Text(f"The {what} is not finite from step {number(bad, 'step')} on "
                           f"({bad['loss']}); such values are left out of the curves.", True))
    if run.bad_lines:
        told = ", ".join(map(str, run.bad_lines[:5])) + (", ..." if len(run.bad_lines) > 5 else "")
        blocks.append(Text(f"Left out: unreadable lines of metrics.jsonl: {told}.", True))
    if not rows:
        blocks.append(Text("No epoch was completed.", True))
    sections = [Section("", blocks), Section("Learning", figures(run, rows))]
    if not sections[1].blocks:
        sections.pop()
    if rows:
        sections.append(Section("Epochs", [epoch_table(rows, best)]))
    return sections
