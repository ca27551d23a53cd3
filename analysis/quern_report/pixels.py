# SPDX-License-Identifier: Apache-2.0
"""Images of weights and of samples."""

from pathlib import Path

from . import panels
from .program import ProgramError, first_weights

MOST_FILTERS = 64


def first_layer(recipe):
    """(name, kind) of the first layer with weights that reads the input; names as the program gives
    them where the recipe gives none."""
    for layer in recipe.get("network", {}).get("layers", []):
        if layer.get("type") in ("conv2d", "linear"):
            return layer.get("name") or ("conv1" if layer["type"] == "conv2d" else "fc1"), layer["type"]
        if layer.get("type") not in ("flatten",):
            return None, None
    return None, None


def tiles_of(shape, values, input_shape):
    """[(rows of -1 to 1, channels in)] of each filter: of a convolution its kernel, of a linear layer
    on images its weights where they act. Several channels are averaged, three are kept as RGB."""
    out = shape[0]
    if len(shape) == 4:
        channels, height, width = shape[1:]
    else:
        channels, height, width = input_shape
        if channels * height * width != shape[1]:
            return []
    area = height * width
    tiles = []
    for index in range(min(out, MOST_FILTERS)):
        base = index * channels * area
        mean = [sum(values[base + c * area + place] for c in range(channels)) / channels
                for place in range(area)]
        largest = max(map(abs, mean)) or 1
        tiles.append([[mean[row * width + column] / largest for column in range(width)]
                      for row in range(height)])
    return tiles


def enlarged(rows, least):
    """With each pixel several times, so that programs that smooth small images leave its edges."""
    factor = max(1, -(-least // max(len(rows), len(rows[0]))))
    return [[pixel for pixel in row for _ in range(factor)] for row in rows for _ in range(factor)]


def filters(program, run, source):
    """(layer, its type, how many filters it has, [(PNG, caption, hint)] of the first of them). `source`: a checkpoint,
    or the run folder, of which it is the newest."""
    layer, kind = first_layer(run.recipe)
    input_shape = run.recipe.get("network", {}).get("input", [])
    if layer is None or len(input_shape) != 3:
        raise ProgramError("the network has no first layer on images whose weights could be drawn")
    shape, values = first_weights(program, source, layer)
    tiles = tiles_of(shape, values, input_shape)
    if not tiles:
        raise ProgramError(f"the weights of {layer} do not act on the pixels of an image")
    images = [(panels.png(enlarged([[panels.signed_colour(value) for value in row] for row in tile], 48)),
               "", f"filter {index}") for index, tile in enumerate(tiles)]
    return layer, kind, shape[0], images


def shard_files(folder, split):
    files = sorted(Path(folder).glob(f"*-{split}-*-of-*.h5"))
    if not files:
        raise ProgramError(f"there are no shards of {split} in {folder}")
    return files


def read_shards(folder, split, read):
    """Calls `read` with each HDF5 file of a set of shards and the index of its first sample."""
    try:
        import h5py  # late: most pages need none
    except ImportError as error:
        raise ProgramError("this Python has no h5py to read samples with (Debian: python3-h5py)") from error
    try:
        for path in shard_files(folder, split):
            with h5py.File(path, "r") as file:
                read(file, int(file.attrs["first_index"]))
    except (OSError, KeyError, ValueError) as error:
        raise ProgramError(f"cannot read the samples in {folder}: {error}") from error


def sample_images(folder, split, indices):
    """{index: PNG} of samples of a set of shards."""
    found = {}

    def read(file, first):
        samples = file["images" if "images" in file else "values"]
        for index in indices:
            if first <= index < first + len(samples):
                found[index] = image_of(samples[index - first])
    read_shards(folder, split, read)
    return found


def targets_of(folder, split):
    """{index: [target of each output]} of a set of shards."""
    found = {}

    def read(file, first):
        targets = file["targets"][()]
        found.update(enumerate(targets.reshape(len(targets), -1).tolist(), start=first))
    read_shards(folder, split, read)
    return found


def image_of(sample):
    """Of uint8 [channels, height, width]; of other types, stretched to their own range."""
    if str(sample.dtype) != "uint8":
        low, high = float(sample.min()), float(sample.max())
        sample = ((sample.astype("float32") - low) * (255 / ((high - low) or 1))).astype("uint8")
    if sample.ndim != 3:
        raise ProgramError("the samples are no images")
    if sample.shape[0] == 3:
        return panels.png(enlarged(sample.transpose(1, 2, 0).tolist(), 96))
    return panels.png(enlarged(sample[0].tolist(), 96))
