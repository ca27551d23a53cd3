#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights between Quern and Python, by PyTorch's names: checkpoints, safetensors, a state_dict.

    from quern_weights import import_weights, state_dict, write_safetensors

    network.load_state_dict(state_dict("runs/lenet"))             # from Quern into PyTorch
    write_safetensors(network.state_dict(), "lenet.safetensors")  # for `quern import`
    import_weights(network.state_dict(), "lenet.toml", "ckpt-0000000000.h5")

NumPy is needed, h5py for checkpoints, and PyTorch only for what gives or takes its tensors. As a
program it converts between files of torch.save (*.pt, *.ckpt, *.bin: a state_dict, alone or in a dictionary), *.safetensors
and, to read, *.h5 and run folders. What a file is, its first bytes tell:

    python3 quern_weights.py lenet.pt lenet.safetensors
    python3 quern_weights.py gan.ckpt generator.safetensors --key generator
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

try:
    import numpy as np
except ImportError:
    if __name__ != "__main__":
        raise
    sys.exit("quern_weights.py: this needs NumPy (Debian: python3-numpy)")

FORMAT = "quern-checkpoint"
BATCH_COUNT = "num_batches_tracked"  # PyTorch's, which Quern does not have
WRAPPERS = ("model_state_dict", "state_dict", "model")
NO_MODELS = ("argparse", "collections", "datetime", "numpy", "pathlib")  # classes that files hold beside weights


class WeightsError(Exception):
    """A file that cannot be read or written, or tensors that make no model."""


def read_checkpoint(path):
    """{name: float32 array} of a checkpoint file, or of the newest one of a run folder."""
    import h5py

    file = newest_checkpoint(Path(path))
    weights = {}
    try:
        with h5py.File(file, "r") as checkpoint:
            if checkpoint.attrs.get("format") != FORMAT:
                raise WeightsError(f"'{file}' is no checkpoint of Quern")
            manifest = json.loads(checkpoint.attrs["manifest"])
            for entry in manifest["datasets"]:
                if not entry["path"].startswith("/model/"):
                    continue
                values = checkpoint[entry["path"]][()]
                if hashlib.sha256(values.tobytes()).hexdigest() != entry["sha256"]:
                    raise WeightsError(f"'{file}': '{entry['path']}' is damaged")
                weights[entry["path"][len("/model/"):].replace("/", ".")] = values
    except (OSError, KeyError, ValueError) as problem:
        raise WeightsError(f"'{file}' cannot be read: {problem}") from problem
    return weights


def newest_checkpoint(path):
    if not path.is_dir():
        return path
    folder = path / "checkpoints" if (path / "checkpoints").is_dir() else path
    files = sorted(folder.glob("ckpt-*.h5"), key=lambda file: int(file.stem[5:]))
    if not files:
        raise WeightsError(f"no checkpoint in '{folder}': expected files named like ckpt-0000000000.h5")
    return files[-1]


def read_safetensors(path):
    """{name: float32 array} of a safetensors file of F32, F16 or BF16; batch counts are left out."""
    try:
        content = Path(path).read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header, begin = json.loads(content[8:8 + length]), 8 + length
        weights = {}
        for name, entry in header.items():
            if name == "__metadata__" or name.split(".")[-1] == BATCH_COUNT:
                continue
            first, end = entry["data_offsets"]
            values = to_floats(content[begin + first:begin + end], entry["dtype"], name)
            weights[name] = values.reshape(entry["shape"])
    except (OSError, KeyError, ValueError, struct.error, AttributeError, TypeError) as problem:
        raise WeightsError(f"'{path}' is no safetensors file that can be read: {problem}") from problem
    return weights


def to_floats(data, dtype, name):
    if dtype == "BF16":
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    if dtype not in ("F32", "F16"):
        raise ValueError(f"{name} is of type {dtype}, expected F32, F16 or BF16")
    return np.frombuffer(data, "<f4" if dtype == "F32" else "<f2").astype("<f4")


def to_array(name, tensor):
    """A float32 array of a NumPy array or a tensor of PyTorch."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().float().numpy()
    array = np.asarray(tensor)
    if array.dtype.kind != "f":
        raise WeightsError(f"'{name}' holds {array.dtype}, expected floats")
    if not np.isfinite(array).all():
        raise WeightsError(f"'{name}' is not finite")
    return np.ascontiguousarray(array, "<f4").reshape(array.shape)


def write_safetensors(tensors, path):
    """Writes a state_dict, or a dict of arrays, as float32 for `quern import`; batch counts are left
    out. The file appears whole or not at all."""
    if not isinstance(tensors, Mapping):
        hint = ": give its .state_dict()" if hasattr(tensors, "state_dict") else ""
        raise WeightsError(f"a {type(tensors).__name__}, expected a dict of names and tensors{hint}")
    header, data = {"__metadata__": {"format": "pt"}}, []
    end_of_last = 0
    for name, tensor in tensors.items():
        if name.split(".")[-1] == BATCH_COUNT:
            continue
        array = to_array(name, tensor)
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [end_of_last, end_of_last + array.nbytes]}
        end_of_last += array.nbytes
        data.append(array)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = Path(path)
    temporary = path.with_name(f"{path.name}.tmp.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for array in data:
                file.write(array.tobytes())
        temporary.replace(path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise WeightsError(f"cannot write '{path}': {problem.strerror}") from problem


def first_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read(9)
    except OSError as problem:
        raise WeightsError(f"'{path}' cannot be read: {problem.strerror}") from problem


def is_of_torch(path):
    """Has torch.save written it? A ZIP archive or, as of old, a pickle. The header of safetensors begins with a bracket at
    byte 8."""
    start = first_bytes(path)
    return start[:4] == b"PK\x03\x04" or (start[:1] == b"\x80" and start[8:] != b"{")


def read_weights(path, key=None):
    """{name: float32 array} of a checkpoint, a run folder, a safetensors file or one of torch.save."""
    path = Path(path)
    if not path.is_dir() and is_of_torch(path):
        return {name: to_array(name, tensor) for name, tensor in read_torch(path, key).items()
                if name.split(".")[-1] != BATCH_COUNT}
    if key is not None:
        raise WeightsError(f"'{path}': a key is of a dictionary that torch.save wrote, and this is no such file")
    is_checkpoint = path.is_dir() or first_bytes(path)[:4] == b"\x89HDF"
    return read_checkpoint(path) if is_checkpoint else read_safetensors(path)


def state_dict(path):
    """What read_weights() reads as tensors of PyTorch, for load_state_dict() with strict=True."""
    import torch

    state = {}
    for name, values in read_weights(path).items():
        state[name] = torch.from_numpy(values.copy())
        owner, _, last = name.rpartition(".")
        if last == "running_var":
            state[f"{owner}.{BATCH_COUNT}"] = torch.tensor(0)
    return state


def import_weights(tensors, recipe, out, rename=(), skip=(), program="quern", force=False):
    """Writes the checkpoint `out` with these weights for the network of the recipe file, by
    `quern import`: names and shapes have to be the network's. `rename`: rules such as "module.=", or one of them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.safetensors"
        write_safetensors(tensors, file)
        command = [program, "import", str(file), "--recipe", str(recipe), "--out", str(out)]
        for option, values in (("--rename", rename), ("--skip", skip)):
            for value in [values] if isinstance(values, str) else values:
                command += [option, value]
        try:
            done = subprocess.run(command + ["--force"] * force, capture_output=True, text=True)
        except (FileNotFoundError, PermissionError) as problem:
            raise WeightsError(f"no program '{program}': expected program=\"PATH/quern\"") from problem
    if done.returncode != 0:
        raise WeightsError(done.stderr.strip() or f"{program} ended with {done.returncode}")


def is_state(content):
    return isinstance(content, dict) and bool(content) and all(hasattr(value, "detach") for value in content.values())


def state_of(content, source, key=None):
    """The state_dict in what torch.save wrote: all of it, or under one of the names of PyTorch's tutorials, beside an
    optimizer, an epoch and so on; or under `key`."""
    if key is not None:
        if isinstance(content, dict) and is_state(content.get(key)):
            return content[key]
        raise WeightsError(f"'{source}' holds no state_dict under '{key}' ({found_in(content)})")
    if is_state(content):
        return content
    if isinstance(content, dict):
        for key in WRAPPERS:
            if is_state(content.get(key)):
                return content[key]
    states = [str(name) for name, value in content.items() if is_state(value)] if isinstance(content, dict) else []
    hint = f" (--key {' or '.join(states[:6])} takes one)" if states else ""
    raise WeightsError(f"'{source}' holds no state_dict ({found_in(content)}): expected names and tensors, or these under "
                       f"{', '.join(WRAPPERS)}{hint}")


def found_in(content):
    return f"keys {', '.join(map(str, list(content)[:6]))}" if isinstance(content, dict) else type(content).__name__


def plain_classes(torch):
    """Within it, files may hold what argparse gave, which is data alone. (PyTorch before 2.5 knows of no such list.)"""
    allow = getattr(torch.serialization, "safe_globals", None)
    return allow([argparse.Namespace]) if allow else contextlib.nullcontext()


def read_torch(source, key=None):
    import pickle
    import torch

    try:
        with warnings.catch_warnings(), plain_classes(torch):
            warnings.simplefilter("ignore")  # the one message is ours
            content = torch.load(source, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as problem:
        # PyTorch names the class; its advice, to run what the file says, is not ours.
        found = re.search(r"GLOBAL (\S+)", str(problem))
        if not found:
            raise WeightsError(f"'{source}' is no file of torch.save") from problem
        if found.group(1).split(".")[0] in NO_MODELS:
            raise WeightsError(f"'{source}' holds {found.group(1)} beside tensors: save model.state_dict()") from problem
        raise WeightsError(f"'{source}' holds a whole model: save model.state_dict()") from problem
    except (OSError, EOFError, RuntimeError) as problem:
        if "TorchScript" in str(problem):
            raise WeightsError(f"'{source}' holds a whole model: save model.state_dict()") from problem
        reason = getattr(problem, "strerror", None) or str(problem).split("\n", maxsplit=1)[0] or "it ends too early"
        raise WeightsError(f"'{source}' cannot be read: {reason}") from problem
    return state_of(content, source, key)


def convert(source, target, key=None):
    source, target = Path(source), Path(target)
    if target.suffix not in (".safetensors", ".pt"):
        raise WeightsError(f"'{target}': expected a name that ends in .safetensors or .pt")
    is_named_so = source.suffix in (".pt", ".pth")
    if not source.is_dir() and (is_of_torch(source) or (is_named_so and first_bytes(source)[8:] != b"{")):
        weights = read_torch(source, key)
    elif key is not None or target.suffix != ".pt":
        weights = read_weights(source, key)
    else:
        weights = state_dict(source)
    if target.suffix == ".safetensors":
        return write_safetensors(weights, target)
    import torch

    torch.save(weights, target)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Convert weights between files")
    parser.add_argument("source", help="a file of torch.save, *.safetensors, a checkpoint *.h5 or a run folder")
    parser.add_argument("target", help="*.safetensors or *.pt")
    parser.add_argument("--key", metavar="NAME", help="where in the dictionary of torch.save the state_dict is")
    options = parser.parse_args(arguments)
    try:
        convert(options.source, options.target, options.key)
    except (WeightsError, ImportError) as problem:
        print(f"quern_weights: error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
