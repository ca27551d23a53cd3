# SPDX-License-Identifier: Apache-2.0
"""Names for the classes of data that have none, and those that a checkpoint has."""
import h5py


def name_classes(folder, names):
    """In every shard of the folder."""
    for path in folder.iterdir():
        with h5py.File(path, "r+") as file:
            file.attrs["class_names"] = "\n".join(names)


def names_of(checkpoint):
    """None where it has none."""
    with h5py.File(checkpoint, "r") as file:
        text = file["train"].attrs.get("class_names")
        return None if text is None else text.split("\n")
