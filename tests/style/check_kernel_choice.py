#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One mechanism chooses kernels (src/tensor/kernel_choice.hpp): nothing else asks whether the kernels of
devices run, in the rooms with kernels nothing else tells CPUs from devices, and what is in a folder host/
or device/ is named outside of such a folder as a set that is handed to choose_kernels() only. Who may do
otherwise is listed here, with the reason, and does so."""
import re

import tree

# Rooms whose operations may have several sets of kernels.
ROOMS = {"tensor", "linalg", "layers", "loss", "optim", "network"}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
ASKS = re.compile(r"\bruns_device_kernels\b")
BRANCHES = re.compile(r"\bkHostExecution\b")
NAMES = re.compile(r"\b(?:host|device)::\w+")
# As a set, or where only the type of its kernels is wanted.
SET = re.compile(r"(?:\bhost_set<|\bdecltype\(|\.device\w* =\s+)$")

# {what: {file below src/: why}}
ALLOWED = {
    ASKS: {
        "tensor/kernel_choice.cpp": "the answer",
        "tensor/kernel_choice.hpp": "the mechanism",
        "tensor/activation.cpp": "a layout is no kernel: flat_layout()",
        "samples/shard_stream.cpp": "the way of samples into a device's memory",
        "train/recipe_check.cpp": "what only the CPU's kernels can do is refused",
    },
    BRANCHES: {
        "tensor/types.hpp": "the constant",
        "tensor/kernel_choice.hpp": "the mechanism",
        "tensor/chunks.hpp": "how much a work item does",
        "tensor/host_values.hpp": "what the host reads where it lies needs no copy",
        "tensor/parallel_for.hpp": "how a kernel is launched",
        "tensor/team.hpp": "how many threads a team has",
        "linalg/device/tensor_tile.hpp": "how many threads a warp has",
        "optim/optimizer.cpp": "kernels that call a function of the host by its address",
        "optim/flush_denormal.hpp": "who makes zeros of denormals",
    },
    NAMES: {
        "app/kernel_level.cpp": "a user's choice among units that multiply tiles",
        "parallel/shared_memory_reducer.cpp": "ranks that share memory compute on CPUs",
        "bench/tile_peak.cpp": "the peak of the unit that multiplies tiles",
        "train/run_warnings.cpp": "a warning where there is no such unit",
    },
}


def is_kernel_folder(path):
    return path.parent.name in ("host", "device")


def found_in(path, text):
    """(pattern, match, what is wrong with it where it is not allowed)"""
    for found in ASKS.finditer(text):
        yield ASKS, found, "asks which kernels run"
    if path.parts[1] in ROOMS:
        for found in BRANCHES.finditer(text):
            yield BRANCHES, found, "tells CPUs from devices"
    if not is_kernel_folder(path):
        for found in NAMES.finditer(text):
            if not SET.search(text[: found.start()]):
                yield NAMES, found, "kernels that are not chosen"


def check(root):
    offences, used = [], set()
    for path in tree.cpp_files(root, "src"):
        text = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), tree.text(root, path))
        name = path.relative_to("src").as_posix()
        for pattern, found, what in found_in(path, text):
            if name in ALLOWED[pattern]:
                used.add((pattern, name))
                continue
            line = text.count("\n", 0, found.start()) + 1
            offences.append(f"{path}:{line}: '{found[0]}': {what} (expected choose_kernels() of "
                            "tensor/kernel_choice.hpp)")
    offences += [f"tests/style/check_kernel_choice.py: src/{name} is listed, and does not name it: {pattern.pattern}"
                 for pattern, places in ALLOWED.items() for name in places
                 if (root / "src" / name).is_file() and (pattern, name) not in used]
    return offences


if __name__ == "__main__":
    tree.run(check, __doc__)
