# SPDX-License-Identifier: Apache-2.0
"""Several runs side by side."""

import json
import os
import statistics

from . import best as best_epochs, differences, forms, networks, ranges, svg
from .blocks import Cell, Figure, Listing, Section, Table, Text
from .learning import points
from .svg import Series

MOST_CURVES = svg.COLOURS  # more are a table
MOST_COLUMNS = 6  # of settings beside the figures; of more there is a table of their own

MOST_LISTINGS = 12  # of networks


def outcome(run):
    """Figures by which runs are compared; None where there is none."""
    rows = run.rows()
    best = best_epochs.best_of(run, rows)
    last = rows[-1] if rows else {}
    told = [row["seconds"] for row in rows if row["seconds"] is not None]
    speeds = points(run.steps or run.epochs, "step", "samples_per_s")[1]
    return {"epochs": last.get("epoch"), "train_loss": last.get("train_loss"),
            "test_loss": last.get("test_loss"), "test_accuracy": last.get("test_accuracy"),
            "test_rmse": last.get("test_rmse"), "test_r2": last.get("test_r2"),
            **{f"best_{key}": best.row[f"test_{key}"] if best else None for key in ("accuracy", "rmse", "loss")},
            "best_train_loss": best.row["train_loss"] if best and best.key == "train_loss" else None,
            "best_epoch": best.epoch if best else None, "kept": (best.file or "none") if best else None,
            "loss": json.dumps(run.recipe.get("loss"), default=str),
            "chosen_by": best.key if best and best.is_of_recipe else None,
            "seconds": sum(told) if told else None,
            "samples_per_s": statistics.median(speeds) if speeds else None, "state": run.state,
            "task": json.dumps(run.recipe.get("data", {}).get("target"), default=str), "test_data": run.last_start.get("test_data", ""),
            "test_path": os.path.realpath(str(run.recipe.get("data", {}).get("test", "")))}


COLUMNS = [("epochs", "epochs", lambda value: forms.count(value)),
           ("train_loss", "training loss", forms.significant), ("test_loss", "test loss", forms.significant),
           ("test_accuracy", "test accuracy", forms.percent), ("test_rmse", "test RMSE", forms.significant),
           ("test_r2", "test R\N{SUPERSCRIPT TWO}", forms.significant), ("best_epoch", "best epoch", forms.count),
           ("best_loss", "its test loss", forms.significant), ("best_accuracy", "its test accuracy", forms.percent),
           ("best_rmse", "its test RMSE", forms.significant), ("best_train_loss", "its training loss", forms.significant),
           ("kept", "its checkpoint", lambda value: value or forms.NONE),
           ("seconds", "time", forms.seconds), ("samples_per_s", "samples / s", forms.count)]


# What runs are ranked by, at the best epoch of each: the first of these that any of them has. The RMSE comes before the
# loss, which is that of targets as data.normalize_targets scales them: {key: (name, its form, which is best)}.
MEASURES = {"best_accuracy": ("test accuracy", forms.percent, max),
            "best_rmse": ("test RMSE", forms.significant, min),
            "best_loss": ("test loss", forms.significant, min),
            "best_train_loss": ("training loss", forms.significant, min)}


def best_of(values, better, show):
    """The keys of the best value, and of those that read the same."""
    best = show(better(values.values()))
    return [key for key in values if show(values[key]) == best]


OTHER_LOSSES = "The runs are not ranked: their losses are of different kinds."
OTHER_TESTS = "The runs are not ranked: they were not evaluated on the same test set, in the same shards (data.test, data.target)."


def are_of_other_losses(outcomes):
    return len({one["loss"] for one in outcomes}) > 1


def are_of_other_tests(outcomes):
    """By what they are asked, and by the content of the test data where all runs tell it."""
    digests = {one["test_data"] for one in outcomes}
    return len({one["task"] for one in outcomes}) > 1 or ("" not in digests and len(digests) > 1)


def are_perhaps_of_other_tests(outcomes):
    """Nobody knows: some runs, of earlier programs, do not tell the content of their test data, and the paths differ."""
    return "" in {one["test_data"] for one in outcomes} and len({one["test_path"] for one in outcomes}) > 1


def is_ranked(one):
    """What a run reached before it diverged is no result of its settings."""
    return one["state"] != "diverged"


def keys_of_ranking(outcomes):
    """Those of MEASURES, the loss first where all recipes choose epochs by it. Losses of different kinds are not compared."""
    if are_of_other_losses(outcomes):
        return [key for key in MEASURES if not key.endswith("_loss")]
    ways = {one["chosen_by"] for one in outcomes if one["best_epoch"] is not None}
    has_rmse = any(one["best_rmse"] is not None for one in outcomes)
    return ["best_loss"] * (ways == {"test_loss"} and not has_rmse) + list(MEASURES)


def ranking(outcomes):
    """(key, indices of the best runs)"""
    for key in keys_of_ranking(outcomes):
        _, show, better = MEASURES[key]
        told = {index: one[key] for index, one in enumerate(outcomes) if one[key] is not None and is_ranked(one)}
        if told:
            return key, best_of(told, better, show)
    return None, []


def told_of_best(labels, outcomes, key, best):
    if are_of_other_tests(outcomes):
        return OTHER_TESTS
    if not best:
        return OTHER_LOSSES if are_of_other_losses(outcomes) else ""
    if len(best) == 1:
        return f"Bold: the best run, {labels[best[0]]}."
    if len(best) == len(outcomes):
        return f"All runs have the same {MEASURES[key][0]}."
    return f"Bold: the best runs, of the same {MEASURES[key][0]}."


def told_of_epochs(outcomes):
    """What the best epochs are, and whether there are checkpoints of them."""
    key, _ = ranking(outcomes)
    diverged = sum(not is_ranked(one) for one in outcomes)
    told = f"{forms.plural(diverged, 'run')} diverged and {'is' if diverged == 1 else 'are'} not ranked." if diverged else ""
    if key is None or are_of_other_tests(outcomes):
        return [Text(told)] if told else []
    text = (f"Runs are ranked by the {MEASURES[key][0]} of the best epoch of each; what is not called its own is of the last "
            "epoch.")
    if any(one["chosen_by"] for one in outcomes):
        text += " With checkpoint.keep_best or train.patience that is the best one by train.monitor."
    lost = sum(one["kept"] == "none" for one in outcomes)
    if lost:
        text += f" {forms.plural(lost, 'run has', 'runs have')} no checkpoint of it."
    if are_perhaps_of_other_tests(outcomes):
        text += " Whether they answer the same test set is not known: the paths of data.test differ."
    return [Text(f"{text} {told}".rstrip())]


def setting_cell(value):
    return Cell(differences.shown(value), order=value if isinstance(value, (int, float)) else None)


def summary(labels, outcomes, rows_of_settings, keys):
    """`keys`: the settings that are columns."""
    key_of_best, best = ranking(outcomes)
    columns = [column for column in COLUMNS if any(one[column[0]] is not None for one in outcomes)
               and (column[0] not in ("best_loss", "best_train_loss") or key_of_best == column[0])]
    marked = best if len(best) < len(outcomes) and not are_of_other_tests(outcomes) else []
    rows = []
    for index, (label, one, settings) in enumerate(zip(labels, outcomes, rows_of_settings)):
        rows.append([Cell(label, style="mark" if index in marked else ""),
                     *(setting_cell(settings.get(key)) for key in keys),
                     *(Cell(show(one[key]), order="" if one[key] is None else one[key])
                       for key, _, show in columns),
                     Cell(one["state"], style="" if one["state"] in ("finished", "not finished") else "bad")])
    return Table(["run", *keys, *(name for _, name, _ in columns), "state"], rows,
                 caption=told_of_best(labels, outcomes, key_of_best, best))


def all_differences(labels, settings):
    """A table of every setting that differs, a row for each or, of many runs, a column for each."""
    if len(labels) <= MOST_CURVES:
        return Table(["setting", *labels], [[key, *(setting_cell(row.get(key)) for row in settings.rows)]
                                            for key in settings.keys])
    return Table(["run", *settings.keys], [[label, *(setting_cell(row.get(key)) for key in settings.keys)]
                                           for label, row in zip(labels, settings.rows)])


def difference_section(runs, labels, settings):
    """What the Summary has no column for; none where it has all."""
    blocks = []
    if len(settings.keys) > MOST_COLUMNS:
        blocks.append(all_differences(labels, settings))
    blocks += [Listing(f"Layers of network.layers = {label}", networks.listing_of(layers))
               for label, layers in settings.networks[:MOST_LISTINGS]]
    if len(settings.networks) > MOST_LISTINGS:
        more = len(settings.networks) - MOST_LISTINGS
        blocks.append(Text(f"And {forms.plural(more, 'more network')}: see the recipe.toml of their runs."))
    if not settings.keys:
        same = all(run.recipe == runs[0].recipe for run in runs)
        blocks.append(Text("The recipes are the same." if same else
                           "The recipes differ only in names, checkpoints and what is logged."))
    return [Section("Differences", blocks)] if blocks else []


def by_epoch(runs, key):
    return [points([{"x": row["epoch"], "y": row[key]} for row in run.rows()], "x", "y") for run in runs]


def curves(title, y_label, runs, labels, key, **how):
    drawn = [Series(label, x, y, 1 + index % svg.COLOURS)
             for index, (label, (x, y)) in enumerate(zip(labels, by_epoch(runs, key)))]
    if key == "test_accuracy":
        return svg.chart(title, drawn, "epoch", y_label, of_runs=True, **how)
    high = ranges.outliers(drawn)
    return svg.chart(title, drawn, "epoch", y_label, cut=True, of_runs=True,
                     log_y=ranges.spans_decades([y for one in drawn if one not in high for y in one.y]), **how)


def figures(runs, labels, outcomes):
    as_percent = {"unit": " %", "factor": 100, "y_high": 1.0,
                  "y_form": lambda value: f"{100 * value:.4g} %"}
    speed = [Series(label, *points(run.steps or run.epochs, "step", "samples_per_s"),
                    1 + index % svg.COLOURS, mean=label) for index, (run, label) in enumerate(zip(runs, labels))]
    drawn = [("compare-accuracy", "Test accuracy", curves("Test accuracy by epoch", "test accuracy", runs, labels,
                                                          "test_accuracy", **as_percent)),
             ("compare-rmse", "Test RMSE", curves("Test RMSE by epoch", "RMSE of the test set", runs, labels, "test_rmse")),
             ("compare-test-loss", "Test loss", curves("Test loss by epoch", "test loss", runs, labels, "test_loss")),
             ("compare-training-loss", "Training loss", curves("Training loss by epoch", "training loss", runs, labels,
                                                               "train_loss")),
             ("compare-throughput", "Throughput", svg.chart("Samples per second", speed, "step",
                                                            "samples a second", from_zero=True,
                                                            of_runs=True))]
    return [Figure(name, picture, title) for name, title, picture in drawn if picture]


def sections_of(runs, settings=None, first=()):
    """`first`: settings whose columns come first."""
    labels = differences.labels_of(runs)
    outcomes = [outcome(run) for run in runs]
    settings = settings or differences.Settings(runs)
    keys = [*first, *(key for key in settings.keys if key not in first)]
    blocks = [*told_of_epochs(outcomes), summary(labels, outcomes, settings.rows, keys[:MOST_COLUMNS])]
    if len(keys) > MOST_COLUMNS:
        blocks.append(Text(f"The recipes differ in {len(keys)} settings: the table Differences has all of them."))
    shown = list(range(len(runs)))
    if len(runs) > MOST_CURVES:
        key, _ = ranking(outcomes)
        if key:
            sign = -1 if MEASURES[key][2] is max else 1
            shown = sorted((i for i in shown if outcomes[i][key] is not None), key=lambda i: sign * outcomes[i][key])
        shown = shown[:MOST_CURVES]
        blocks.append(Text(f"Curves: the {len(shown)} {'best' if key else 'first'} of {len(runs)} runs."))
    return [Section("Summary", blocks), *difference_section(runs, labels, settings),
            Section("Curves", figures([runs[i] for i in shown], [labels[i] for i in shown],
                                      [outcomes[i] for i in shown]))]
