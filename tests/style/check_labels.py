#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels and views of src/<room> are labelled "quern::<room>::<operation>", fences that or
"quern::<room>: why".

Who declares costs of kernels (KERNEL_COSTS) names labels of other rooms, each of which must be there.

A label may also be the parameter `label` of a helper: its callers name it. What a profiler sees at
run time is the subject of another test.
"""
import re

import tree

KERNEL_COSTS = "src/bench/kernel_cost.cpp"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
KERNEL = re.compile(r"\bparallel_(?:for|reduce|scan)\s*(?:<[^;(]*>)?\s*\(\s*([^\s,(]+)")
FENCE = re.compile(r"\bfence\s*\(\s*([^\s,()]*)")
VIEW = re.compile(
    r"\b(?:(?:\w*View|ScatterView|DualView)(?:<[^;(){}]*>)?\s*\w*\s*[({]|view_alloc\s*\()\s*(\"[^\"]*\")")
LITERAL = re.compile(r"\"(quern::[^\"]*)\"")
OPERATION = re.compile(r"^quern::[a-z_]+(::[a-z0-9_]*)?(: .*)?$")


def blank(found):
    return re.sub(r"[^\n]", " ", found[0])


def check(root):
    offences, costs, labels = [], {}, set()
    for path in tree.cpp_files(root, "src"):
        room = path.parts[1]
        text = COMMENT.sub(blank, tree.text(root, path))

        def offend(found, what, path=path, text=text):
            line = text.count("\n", 0, found.start()) + 1
            offences.append(f"{path}:{line}: {what}")

        for pattern, what in ((KERNEL, "kernel"), (FENCE, "fence"), (VIEW, "view")):
            for found in pattern.finditer(text):
                # "const": parallel_for itself, whose callers give the label.
                if found[1] not in ("label", "const") and not found[1].startswith('"quern::'):
                    offend(found, f"{what} without a label \"quern::{room}::...\"")
        views = {found.start(1) for found in VIEW.finditer(text)}
        for found in LITERAL.finditer(text):
            if path.as_posix() == KERNEL_COSTS:
                costs[found[1]] = text.count("\n", 0, found.start()) + 1
                continue
            if found.start() not in views:
                labels.add(found[1])
            if not found[1].startswith(f"quern::{room}:") or not OPERATION.match(found[1]):
                offend(found, f"label \"{found[1]}\", expected \"quern::{room}::snake_case\"")
    offences += [f"{KERNEL_COSTS}:{line}: no kernel has the label \"{label}\""
                 for label, line in costs.items() if label not in labels]
    return offences


if __name__ == "__main__":
    tree.run(check, __doc__)
