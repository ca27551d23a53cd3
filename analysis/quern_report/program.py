# SPDX-License-Identifier: Apache-2.0
"""What the program tells about a run: predictions and weights, by its own commands."""

import csv
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
from array import array
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = 3  # of a run that goes on: its newest checkpoint may be another one meanwhile


class ProgramError(Exception):
    """Why there is no answer, in one sentence."""


@dataclass
class Predictions:
    rows: list  # (index, class, label, probability, loss)
    names: dict  # of the classes, where the training data had names
    checkpoint: str  # its file
    warnings: list  # about newer checkpoints
    remarks: list  # why something is missing


def find_program(wanted=""):
    """`wanted`, or $QUERN, or the one of the build, or the first in the path."""
    name = wanted or os.environ.get("QUERN", "")
    if name:
        found = shutil.which(name)
        if not found:
            raise ProgramError(f"there is no program '{name}'")
        return found
    # In a clone analysis/ lies beside build/, in an installation share/quern/ beside bin/.
    for place in (ROOT / "build" / "release" / "bin" / "quern", ROOT.parents[1] / "bin" / "quern"):
        if os.access(place, os.X_OK):
            return str(place)
    found = shutil.which("quern")
    if not found:
        raise ProgramError("there is no program quern in the build folder or the path (--quern names one)")
    return found


def call(program, *words):
    """The finished process, with its texts."""
    try:
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False,
                              errors="replace")
    except OSError as error:
        raise ProgramError(f"cannot start {program}: {error.strerror}") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise ProgramError(f"quern {words[0]} says: {said[-1] if said else done.returncode}")
    return done


def stamp(path):
    """What changes when another file takes this name."""
    try:
        facts = path.stat()
    except OSError:  # a run that goes on deletes its old ones
        return None
    return [str(path.resolve()), facts.st_mtime_ns, facts.st_size]


def checkpoints_in(run_folder):
    return sorted(Path(run_folder).glob("checkpoints/ckpt-*.h5"))


def predict(program, source, data, out, chosen):
    """The warnings of the program about its newest checkpoints. `chosen()` is the file that is read."""
    for _ in range(ATTEMPTS):
        before = stamp(chosen())
        said = call(program, "predict", source, "--data", data, "--split", "test", "--out", out).stderr
        if stamp(chosen()) == before:
            return [line.replace("quern: warning: ", "", 1) for line in said.splitlines() if "passed over" in line]
    raise ProgramError("the run writes checkpoints faster than they are read")


def predict_of_run(program, run_folder, best, data, out):
    """(name of the checkpoint, warnings): of `best`, where it can be read, or else of the newest good one."""
    warnings = []
    if best:
        try:
            predict(program, best, data, out, lambda: best)
            return best.name, []
        except ProgramError as error:
            warnings.append(f"{best.name} cannot be used: {error}")
    files = checkpoints_in(run_folder)
    if not files:
        raise ProgramError("there is no checkpoint")

    def newest():
        files[:] = checkpoints_in(run_folder) or files
        return files[-1]
    warnings += predict(program, run_folder, data, out, newest)
    good = [file.name for file in files if not any(file.name in line for line in warnings)]
    return (good or [""])[-1], warnings


def read_note(path):
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        return note if isinstance(note, dict) else {}
    except (OSError, ValueError):
        return {}


def keep_predictions(program, run_folder, best, data, out):
    """Writes predictions of the test split by the checkpoint `best`, or, where it is None, by the newest, to `out`, a CSV
    file. (The checkpoint's name, warnings). Both are kept in a JSON file beside it, with the files that were read: as long
    as these are the same, the predictions are, too."""
    files = [best] if best else checkpoints_in(run_folder)
    if not files:
        raise ProgramError("there is no checkpoint")
    note = out.with_suffix(".json")
    of = {"checkpoints": [stamp(file) for file in files], "data": [stamp(file) for file in sorted(Path(data).glob("*"))]}
    kept = read_note(note) if out.exists() else {}
    if kept.get("of") != of or None in of["checkpoints"]:
        note.unlink(missing_ok=True)
        partial = out.with_suffix(".partial.csv")
        try:
            name, warnings = predict_of_run(program, run_folder, best, data, partial)
            partial.replace(out)
        finally:
            partial.unlink(missing_ok=True)
        kept = {"checkpoint": name, "warnings": warnings, "of": of}
        note.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return kept["checkpoint"], kept["warnings"]


def predictions_of(program, run_folder, best, data, out):
    """Of a classifier; `best`, `out`: as keep_predictions() takes them."""
    checkpoint, warnings = keep_predictions(program, run_folder, best, data, out)
    try:
        with out.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        predictions = [(int(row["index"]), int(row["class"]), int(row["label"]), float(row["probability"]),
                        float(row["loss"])) for row in rows]
        names = {int(row["class"]): row["class_name"] for row in rows if row.get("class_name")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProgramError(f"cannot read {out}: {error!r}") from error
    classes = range(1 + max((max(one[1], one[2]) for one in predictions), default=0))
    remarks = []
    if names and any(index not in names for index in classes):  # some are never predicted
        try:
            names = class_names(program, run_folder, checkpoint) or names
        except ProgramError as error:
            remarks.append(f"The classes that are never predicted have no names here: {error}.")
    return Predictions(predictions, names, checkpoint, warnings, remarks)


def class_names(program, run_folder, checkpoint):
    """{class: name} of all classes, which a checkpoint keeps: from the head of its export, which takes no pass over
    data. `checkpoint`: a file's name; a run that goes on may have deleted it, and its others have the same classes."""
    file = Path(run_folder) / "checkpoints" / checkpoint
    with exported(program, file if file.exists() else run_folder) as weights:
        try:
            names = read_head(weights)["__metadata__"].get("class_names", "").rstrip("\n")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
            raise ProgramError(f"cannot read the exported weights: {error!r}") from error
    return dict(enumerate(names.split("\n"))) if names else {}


@contextmanager
def exported(program, source):
    """A file of safetensors of a checkpoint, or of the newest one of a run folder, while it is looked at."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "model.safetensors"
        call(program, "checkpoint", "export", source, "--out", file)
        yield file


def read_head(path):
    with open(path, "rb") as file:
        return json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))


def read_safetensors(path, wanted):
    """(shape, values row-major) of the first float32 tensor whose name `wanted` accepts."""
    raw = Path(path).read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + length])
    for name, entry in head.items():
        if name != "__metadata__" and entry["dtype"] == "F32" and wanted(name, entry["shape"]):
            begin, end = entry["data_offsets"]
            values = array("f")
            values.frombytes(raw[8 + length + begin:8 + length + end])
            return entry["shape"], values
    return None, None


def values_of(program, run_folder, best, data, out):
    """(names of the outputs, {index of a sample: [value of each output]}, checkpoint, warnings) of a regression."""
    checkpoint, warnings = keep_predictions(program, run_folder, best, data, out)
    try:
        with out.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        if header[:1] != ["index"] or any(len(row) != len(header) for row in rows):
            raise ValueError("expected an index and a value of each output")
        outputs = [column for column, name in enumerate(header) if name.startswith("value")]  # not the targets
        values = {int(row[0]): [float(row[column]) for column in outputs] for row in rows}
    except (OSError, ValueError, IndexError) as error:
        raise ProgramError(f"cannot read {out}: {error!r}") from error
    return [header[column] for column in outputs], values, checkpoint, warnings


def epoch_of(program, checkpoint):
    """The epochs that were done when the checkpoint was written; None where the program does not tell."""
    try:
        found = re.search(r"^ *epoch +(\d+)$", call(program, "checkpoint", "show", checkpoint).stdout, re.MULTILINE)
    except ProgramError:
        return None
    return int(found[1]) if found else None


def first_weights(program, source, layer):
    """(shape, values) of the weights of `layer` in a checkpoint, or in the newest one of a run folder."""
    with exported(program, source) as file:
        try:
            shape, values = read_safetensors(file, lambda name, _: name == f"{layer}.weight")
        except (OSError, ValueError, KeyError, struct.error) as error:
            raise ProgramError(f"cannot read the exported weights: {error!r}") from error
    if shape is None:
        raise ProgramError(f"the checkpoint has no weights of layer {layer}")
    return shape, values
