# SPDX-License-Identifier: Apache-2.0
"""Shards for Quern from NumPy arrays or a PyTorch Dataset (docs/formats.md describes the format).

    import quern_data
    quern_data.write_shards("data/fluxes/train", inputs=fields, targets=fluxes, split="train", shards=8)
    quern_data.write_dataset("data/cifar10/train", torchvision.datasets.CIFAR10(...), split="train")

Needs numpy and h5py; with xxhash, streamed sets are verified faster. The checks are those of
`quern shard`: what does not fit together, labels out of range and numbers that are not finite raise
ValueError before anything is written, and all files get their names only when all are complete.
Samples that look as if their channels came last, or as if pixels had become other numbers than bytes, and
columns whose numbers float32 cannot tell apart, are warned of (module warnings).
"""
import hashlib
import os
import re
import warnings
from pathlib import Path

import h5py
import numpy as np

try:
    from xxhash import xxh3_128 as block_sum
except ImportError:
    block_sum = hashlib.sha256

MAX_SHARDS = 99999
MAX_BYTE_CLASSES = 256
MAX_CLASSES = 1 << 24
MAX_UNITS = 1 << 30
LEAST_IMAGE = 64  # numbers; rows of fewer are more likely counts than pixels
MOST_COLUMNS = 1 << 16  # samples of more numbers have no columns
FEW_STEPS = 32  # of float32: less than that is lost when a column is rounded


def write_shards(folder, inputs, labels=None, targets=None, *, split="train", name=None, shards=1,
                 classes=None, class_names=None, feature_names=None, overwrite=False):
    """Writes arrays [n, ...] as `shards` files into `folder`; -> their paths.

    inputs: uint8 are pixels (value / 255 in the network); float16 is kept, all other numbers become
    float32 values. labels: whole numbers from 0 on. targets: numbers to be predicted. classes: how many
    there are (default: the largest label + 1). feature_names: of the columns of inputs [n, features]
    (default: those of a DataFrame of pandas); quern compares them with those of other sets.
    """
    if feature_names is None:
        feature_names = _names_of_columns(inputs)
    lost = _LostColumns(feature_names)
    inputs = _stored_inputs(inputs, "inputs", lost)
    of_targets = _LostColumns(what="targets: column")
    answer = _stored_answer(labels, targets, len(inputs), classes, of_targets)
    if labels is not None:
        labels = np.asarray(labels)
    total = len(inputs)

    def part(first, last):
        return inputs[first:last], None if answer is None else answer[first:last]

    classes = _count_classes(labels, classes)
    return _write(folder, total, part, split, name, shards, (classes, class_names, feature_names), overwrite,
                  (lost, of_targets))


def write_dataset(folder, dataset, *, split="train", name=None, shards=1, classes=None,
                  class_names=None, overwrite=False):
    """The same from a PyTorch Dataset, or whatever has len() and gives pairs (sample, answer) by index.

    One shard at a time is in memory. A sample is a tensor, an array or a PIL image; a tensor or an
    array of floats is taken as it is, so leave ToTensor out where bytes are to stay bytes. A PIL image of
    several channels becomes [channels, height, width]. An answer is a whole number (a label) or an array
    of floats (targets). `classes` defaults to dataset.classes, or else must be given with labels;
    class_names to dataset.classes where these are texts.
    """
    _check_dataset(dataset)
    names = getattr(dataset, "classes", None)
    if class_names is None and names is not None and all(isinstance(one, str) for one in names):
        class_names = list(names)
    if classes is None and names is not None:
        classes = len(names)
    total = len(dataset)
    lost, of_targets = _LostColumns(), _LostColumns(what="targets: column")

    def part(first, last):
        samples, answers = zip(*(_pair(dataset[i], i) for i in range(first, last)))
        inputs = _stored_inputs(_stacked([_sample(one) for one in samples], first, "sample"), "inputs", lost)
        answers = _stacked([np.asarray(one) for one in answers], first, "the answer of sample", _NUMBER_CLASSES)
        is_label = np.issubdtype(answers.dtype, np.integer) and answers.ndim == 1
        if is_label and classes is None:
            raise ValueError("labels without the number of classes: give classes")
        labels, targets = (answers, None) if is_label else (None, answers)
        return inputs, _stored_answer(labels, targets, len(inputs), classes, of_targets)

    return _write(folder, total, part, split, name, shards, (classes, class_names, None), overwrite, (lost, of_targets))


_PAIRS = "expected a Dataset with len() and pairs (sample, answer) by index"


def _check_dataset(dataset):
    """A DataLoader has len() as well, and an IterableDataset no samples by index."""
    kind = type(dataset).__name__
    if hasattr(dataset, "batch_sampler"):
        raise ValueError(f"a {kind} gives batches, {_PAIRS}: give its .dataset")
    if isinstance(dataset, dict) or not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise ValueError(f"a {kind}, {_PAIRS}")


def _pair(item, number):
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return item
    found = f"{type(item).__name__} of {len(item)}" if isinstance(item, (tuple, list, dict)) else type(item).__name__
    raise ValueError(f"sample {number} is a {found}, {_PAIRS}")


def _names_of_columns(inputs):
    """Of a DataFrame, where they are texts."""
    names = getattr(inputs, "columns", None)
    if names is None or not all(isinstance(one, str) for one in names):
        return None
    return list(names)


class _LostColumns:
    """Numbers as they are given, before they become float32: mean and deviation of each column."""

    def __init__(self, names=None, what="column"):
        self.names, self.what = names, what
        self.count, self.mean, self.squares, self.is_rounded = 0, 0.0, 0.0, False

    def add(self, array):
        if array.dtype.kind not in "biuf" or array.dtype.itemsize < 4 or array.dtype == np.float32:
            return
        if array.size // len(array) > MOST_COLUMNS:
            return
        for first in range(0, len(array), 1 << 12):
            rows = np.asarray(array[first:first + (1 << 12)]).reshape(len(array[first:first + (1 << 12)]), -1)
            self._add_rows(rows.astype(np.float64))

    def _add_rows(self, rows):
        with np.errstate(all="ignore"):
            mean = rows.mean(axis=0)
            total = self.count + len(rows)
            between = (mean - self.mean) ** 2 * self.count * len(rows) / total
            self.squares = self.squares + ((rows - mean) ** 2).sum(axis=0) + between
            self.mean = self.mean + (mean - self.mean) * len(rows) / total
            self.is_rounded = self.is_rounded | (rows.astype(np.float32) != rows).any(axis=0)
        self.count = total

    def warn(self):
        if self.count == 0:
            return
        deviation = np.sqrt(self.squares / self.count)
        step = np.spacing(np.abs(self.mean).astype(np.float32)).astype(np.float64)
        lost = self.is_rounded & (deviation > 1e-14 * np.abs(self.mean)) & (deviation < FEW_STEPS * step)
        if not lost.any():
            return
        first, others = int(np.argmax(lost)), int(lost.sum()) - 1
        name = f" ({self.names[first]!r})" if self.names is not None else ""
        more = f" (and {others} more)" if others else ""
        _warn(f"{self.what} {first + 1}{name}{more} has numbers around {self.mean[first]:.10g} with a deviation of "
              f"{deviation[first]:.3g}, and float32, as which they are stored, has steps of {step[first]:.3g} there: what "
              "tells them apart is lost, also with data.normalize (subtract an offset from the column first, in what is "
              "predicted as well)", 5)


def _sample(sample):
    """A PIL image has channels last, and a grey one none."""
    array = np.asarray(sample)
    is_image = hasattr(sample, "getbands")
    return np.moveaxis(array, -1, 0) if is_image and array.ndim == 3 else array


_NUMBER_CLASSES = " (number the classes: a label is a whole number from 0 on)"


def _stacked(arrays, first, what, hint=""):
    """`first`: the number of the first one."""
    for number, array in enumerate(arrays, first):
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{what} {number} is {_short(array)}, expected numbers{hint}")
        if array.shape != arrays[0].shape:
            raise ValueError(f"{what} {number} has the shape {list(array.shape)}, expected {list(arrays[0].shape)} "
                             f"as that of sample {first}")
    return np.stack(arrays)


def _short(array):
    return repr(array.item())[:40] if array.ndim == 0 else f"{array.dtype} {list(array.shape)}"


def _as_array(numbers, what):
    """NumPy itself says no more than that they are "inhomogeneous"."""
    try:
        return np.asarray(numbers)
    except ValueError as problem:
        raise ValueError(f"{what} of different shapes, expected an array [n, ...]") from problem


def _stored_inputs(array, what, lost=None):
    array = _as_array(array, what)
    if array.ndim < 1 or array.size == 0:
        raise ValueError(f"{what} of shape {list(array.shape)}, expected samples [n, ...]")
    if array.size // len(array) > MAX_UNITS:
        raise ValueError(f"{what}: a sample has {array.size // len(array)} numbers, expected at most {MAX_UNITS}")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what} of {array.dtype}, expected numbers")
    if lost is not None:
        lost.add(array)
    with np.errstate(over="ignore"):  # what is too large is named below
        stored = array.astype("<f2" if array.dtype == np.float16 else "<f4")
    finite = np.isfinite(stored).reshape(len(stored), -1).all(axis=1)
    if not finite.all():
        raise ValueError(f"the {what} of sample {int(np.argmin(finite))} are not finite {stored.dtype.name} numbers")
    return stored


def _stored_answer(labels, targets, count, classes, lost=None):
    if labels is not None and targets is not None:
        raise ValueError("both labels and targets, expected one of them")
    if labels is None and targets is None:
        return None
    if targets is not None:
        targets = _as_array(targets, "targets")
        if targets.dtype.kind not in "biuf":
            raise ValueError(f"targets of {targets.dtype}, expected numbers")
        if lost is not None and targets.size:
            lost.add(targets)
        stored = _stored_inputs(targets.astype(np.float32), "targets")
        if len(stored) != count:
            raise ValueError(f"{count} samples but {len(stored)} targets")
        return stored
    labels = _as_array(labels, "labels")
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        hint = _NUMBER_CLASSES if labels.dtype.kind in "OSU" else _remedy_for_labels(labels)
        raise ValueError(f"labels of {labels.dtype} {list(labels.shape)}, expected whole numbers [n]{hint}")
    if len(labels) != count:
        raise ValueError(f"{count} samples but {len(labels)} labels")
    classes = _count_classes(labels, classes)
    if not 1 <= classes <= MAX_CLASSES:
        raise ValueError(f"{classes} classes, expected 1 to {MAX_CLASSES}")
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(f"label {labels[first]} of sample {first} is out of range, expected 0 to {classes - 1}")
    return labels.astype("u1" if classes <= MAX_BYTE_CLASSES else "<i4")


def _remedy_for_labels(labels):
    """What such an array most often is."""
    if labels.ndim == 1:
        return " (they are whole: labels.astype(int))" if (labels == np.floor(labels)).all() else " (numbers to be predicted: targets)"
    if labels.ndim == 2 and np.isin(labels, (0, 1)).all():
        return " (one-hot: labels.argmax(1); several yes and no for each sample: targets, with binary_cross_entropy)"
    if labels.ndim > 2:
        return " (a class for each pixel is not supported; a mask for each class: targets [n, classes, height, width])"
    return ""


def _count_classes(labels, classes):
    if classes is not None or labels is None or len(labels) == 0:
        return classes
    return int(np.max(labels)) + 1


def _array_shape(count, sample, is_image):
    """Images are stored as [n, channels, height, width]."""
    if not is_image:
        return (count, *sample)
    channels_height_width = {0: (1, 1, 1), 1: (*sample, 1, 1), 2: (1, *sample), 3: sample}
    return (count, *channels_height_width.get(len(sample), (int(np.prod(sample)), 1, 1)))


def _write(folder, total, part, split, name, shards, names, overwrite, lost):
    """`names`: how many classes, their names, and those of features."""
    folder = Path(folder)
    name = name or _default_name(folder, split)
    _check_set(name, split, total, shards, *names[:2])
    old = _old_files(folder, name, split, overwrite)
    first_input, first_answer = part(0, 1)  # a bad first sample is found before a folder is made
    kind = _kind(first_input, first_answer)
    _check_feature_names(names[2], first_input)
    _warn_of_last_channels(first_input.shape[1:])
    are_pixels = first_input.dtype != np.uint8 and first_input[0].size >= LEAST_IMAGE
    largest = 0
    made = []
    try:
        for index in range(shards):
            first, last = total * index // shards, total * (index + 1) // shards
            inputs, answer = part(first, last)
            if _kind(inputs, answer) != kind:
                raise ValueError(f"the samples from {first} on are {_kind(inputs, answer)}, expected {kind}")
            are_pixels = are_pixels and _are_bytes(inputs)
            largest = max(largest, inputs.max())
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}-{split}-{index:05}-of-{shards:05}.h5"
            temporary = Path(f"{path}.tmp.{os.uname().nodename}.{os.getpid()}")
            made.append((temporary, path))
            numbers = {"shard_index": index, "shard_count": shards, "first_index": first, "total": total}
            _write_file(temporary, inputs, answer, split, numbers, names)
        for path in old:
            path.unlink()
        for temporary, path in made:
            temporary.rename(path)
    except BaseException:
        for temporary, _ in made:
            temporary.unlink(missing_ok=True)
        raise
    if are_pixels and largest > 1:
        _warn("all values are whole numbers from 0 to 255, which looks like pixels: give them as uint8, which networks read "
              "divided by 255, or train with data.normalize = \"dataset\"")
    for columns in lost:
        columns.warn()
    return [path for _, path in made]


def _are_bytes(values):
    return bool(((values >= 0) & (values <= 255) & (values == np.floor(values))).all())


def _warn_of_last_channels(shape):
    if len(shape) == 3 and shape[2] in (1, 3, 4) and shape[0] > shape[2] and shape[1] > shape[2]:
        _warn(f"samples {list(shape)} look like [height, width, channels], but are taken as [channels, height, width] "
              "(in NumPy, x.transpose(0, 3, 1, 2) moves the channels)", 5)


def _warn(text, callers=4):
    """As of the line that called this module."""
    warnings.warn(text, stacklevel=callers)


def _kind(inputs, answer):
    kind = f"{inputs.dtype.name} {list(inputs.shape[1:])}"
    return kind if answer is None else f"{kind} with {answer.dtype.name} {list(answer.shape[1:])}"


def _default_name(folder, split):
    """Of data/fashion-mnist/train: the folder above names the data set."""
    folder = folder.absolute()
    return folder.parent.name if folder.name == split else folder.name


def _is_class_name(text):
    try:
        text.encode()
    except UnicodeEncodeError:  # of a file's name, say, in another encoding
        return False
    return bool(text) and "\n" not in text and "\0" not in text


def _check_set(name, split, total, shards, classes, class_names):
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}", name):
        raise ValueError(f"{name!r} is not a name for shards, expected at most 120 letters, digits, '.', '_' or '-'")
    if split not in ("train", "test"):
        raise ValueError(f"unknown split {split!r}, expected 'train' or 'test'")
    if not 1 <= shards <= min(MAX_SHARDS, max(total, 1)):
        raise ValueError(f"{total} samples cannot fill {shards} shards (at most {MAX_SHARDS})")
    if class_names is not None:
        if len(class_names) != classes:
            raise ValueError(f"{len(class_names)} names for {classes} classes")
        for one in class_names:
            if not _is_class_name(one):
                raise ValueError(f"{one!a} is no name for a class, expected one line of UTF-8")


def _check_feature_names(names, inputs):
    if names is None:
        return
    if len(names) != inputs[0].size:
        raise ValueError(f"{len(names)} feature_names for samples of {inputs[0].size} numbers")
    for one in names:
        if not _is_class_name(one):
            raise ValueError(f"{one!a} is no name for a feature, expected one line of UTF-8")


def _old_files(folder, name, split, overwrite):
    pattern = re.compile(rf"(.+)-{split}-\d{{5}}-of-\d{{5}}\.h5")
    old = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = pattern.fullmatch(path.name)
        if match and match[1] != name:
            raise ValueError(f"'{folder}' holds {split} shards of another data set, '{match[1]}'")
        if match and not overwrite:
            raise ValueError(f"'{path}' exists already; overwrite=True replaces the whole set")
        if match:
            old.append(path)
    return old


def _block_samples(inputs, answer):
    """Samples of 16 KiB, as quern shard takes them."""
    sample_bytes = inputs[:1].nbytes + (0 if answer is None else answer[:1].nbytes)
    return min(len(inputs), max(1, (16 << 10) // sample_bytes))


def _block_sums(inputs, answer, block):
    """The checksum of each block's inputs and answers, uint8 [blocks, digits]."""
    digests = []
    for first in range(0, len(inputs), block):
        digest = block_sum(inputs[first:first + block].tobytes())
        if answer is not None:
            digest.update(answer[first:first + block].tobytes())
        digests.append(digest.hexdigest())
    return np.frombuffer("".join(digests).encode(), np.uint8).reshape(len(digests), -1)


def _write_file(path, inputs, answer, split, numbers, names):
    classes, class_names, feature_names = names
    is_image = inputs.dtype == np.uint8
    parts = {"images" if is_image else "values": inputs.reshape(_array_shape(len(inputs), inputs.shape[1:], is_image))}
    is_label = answer is not None and answer.dtype.kind in "iu"
    if answer is not None:
        parts["labels" if is_label else "targets"] = answer
    is_simple = is_image and is_label and answer.dtype == np.uint8
    with h5py.File(path, "w", libver=("v108", "v108")) as file:
        for key, array in parts.items():
            array = np.ascontiguousarray(array)
            file.create_dataset(key, data=array)
            file.attrs[f"sha256_{key}"] = hashlib.sha256(array.tobytes()).hexdigest()
        block = _block_samples(inputs, answer)
        sums = _block_sums(inputs, answer, block)
        file.create_dataset("blocks", data=sums)
        file.attrs["block_samples"] = np.int64(block)
        file.attrs["sha256_blocks"] = hashlib.sha256(sums.tobytes()).hexdigest()
        file.attrs["format"] = "quern-shard"
        file.attrs["format_version"] = np.int64(1 if is_simple else 2)
        file.attrs["split"] = split
        for key, value in numbers.items():
            file.attrs[key] = np.int64(value)
        if feature_names is not None:
            file.attrs["feature_names"] = "\n".join(feature_names)
        if is_label:
            file.attrs["classes"] = np.int64(classes)
            if class_names is not None:
                file.attrs["class_names"] = "\n".join(class_names)
    with open(path, "rb") as written:
        os.fsync(written.fileno())
