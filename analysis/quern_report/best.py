# SPDX-License-Identifier: Apache-2.0
"""Which epoch of a run is its best, and which checkpoint is of it.

Where the recipe has checkpoint.keep_best or train.patience, it is the epoch that the program takes: of the lowest
test loss or the highest test accuracy, as train.monitor says, and of equal ones the first. Other recipes choose none:
then it is the epoch of the highest test accuracy, or else of the lowest test RMSE, test loss or training loss.
"""

from dataclasses import dataclass

from . import forms

FILE = "best.h5"

# What an epoch is best by: {key of its row: (name, form, which is best)}.
MEASURES = {"test_accuracy": ("highest test accuracy", forms.percent, max),
            "test_rmse": ("lowest test RMSE", forms.significant, min),
            "test_loss": ("lowest test loss", forms.significant, min),
            "train_loss": ("lowest training loss", forms.significant, min)}


@dataclass
class Best:
    row: dict  # of Run.rows()
    key: str  # of MEASURES
    is_of_recipe: bool  # is it the epoch that the program takes?
    file: str  # its checkpoint's name, or "" where there is none

    @property
    def epoch(self):
        return self.row["epoch"]

    @property
    def name(self):
        return MEASURES[self.key][0]

    @property
    def figure(self):
        return MEASURES[self.key][1](self.row[self.key])

    @property
    def sentence(self):
        chosen = ", which is what the recipe chooses by (train.monitor)" if self.is_of_recipe else ""
        kept = f"Its checkpoint is {self.file}." if self.file else "There is no checkpoint of it."
        if not self.file and not self.is_of_recipe and self.key != "train_loss":
            kept += " checkpoint.keep_best keeps one, of the best epoch by train.monitor."
        return f"The best epoch is {self.epoch}, that of the {self.name}{chosen}. {kept}"


def monitor_of(run):
    """The key that the program chooses by; "" where the recipe leaves that open."""
    train, checkpoint = run.recipe.get("train", {}), run.recipe.get("checkpoint", {})
    if not train.get("patience") and not checkpoint.get("keep_best"):
        return ""
    return "test_accuracy" if train.get("monitor") == "accuracy" else "test_loss"


def extreme(rows, key):
    """The row of the best value by `key`, of equal ones the first; None where no row has one."""
    told = [row for row in rows if row[key] is not None]
    return MEASURES[key][2](told, key=lambda row: row[key]) if told else None


def checkpoint_of(run):
    """The path of the best checkpoint that the program keeps, or None. One that lies there although the recipe keeps
    none is of an earlier start."""
    path = run.path / "checkpoints" / FILE
    return path if run.recipe.get("checkpoint", {}).get("keep_best") and path.exists() else None


def of_last_test_data(run, rows):
    """The rows whose evaluations are of the test data that the run has at last."""
    before = run.epochs_before("test_data")
    return [row for row in rows if row["epoch"] > before]


def best_of(run, rows):
    """`rows`: the run's. None where no epoch has a figure."""
    monitor, before = monitor_of(run), run.epochs_before("test_data", "monitor")
    choices = [(monitor, [row for row in rows if row["epoch"] > before], True)] if monitor else []
    choices += [(key, rows if key == "train_loss" else of_last_test_data(run, rows), False) for key in MEASURES]
    for key, counted, is_of_recipe in choices:
        row = extreme(counted, key)
        if row:
            file = f"ckpt-{row['step']:010}.h5" if row["step"] is not None else ""
            if is_of_recipe and checkpoint_of(run):
                file = FILE
            elif file not in run.checkpoints:
                file = ""
            return Best(row, key, is_of_recipe, file)
    return None
