#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy (.clang-tidy) finds nothing in the files of src/ that do not include Kokkos.

Files with Kokkos take clang-tidy five times as long each and are left to the developer's editor.
Versions differ in their checks: with another version than ours the check is skipped (status 77).
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import check_rooms
import tree

VERSION = "14"
FINDING = re.compile(r": (?:error|warning): .*\[[\w.,-]+\]$")
# Clang cannot compile all that GCC's standard library offers; whether code compiles, GCC says.
CLANG_ITSELF = "[clang-diagnostic-"


def find_clang_tidy():
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        program = shutil.which(name)
        if program:
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
            if re.search(rf"version {VERSION}\.", said.stdout):
                return program
    return None


def sources(root, build):
    """The compiled files of src/ that Kokkos does not reach."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    compiled = {(pathlib.Path(entry["directory"]) / entry["file"]).resolve() for entry in commands}
    includes, known = check_rooms.read_includes(root), {}
    for path in includes:
        reached = check_rooms.everything_included(path, includes, known)
        if path.suffix == ".cpp" and root / path in compiled and not any(
                check_rooms.VENDOR_HEADERS["Kokkos"].match(name) for name in reached):
            yield path


def findings(root, build, program, path):
    # GCC's own warning options are unknown to clang.
    result = subprocess.run(
        [program, "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option", str(path)],
        cwd=root, capture_output=True, text=True, check=False)
    lines = [line.replace(f"{root}/", "") for line in result.stdout.splitlines()
             if FINDING.search(line)]
    if result.returncode and not lines:  # no findings, and yet not well
        lines = [f"{path}: clang-tidy failed: {result.stdout[-500:]}{result.stderr[-500:]}"]
    return lines


def check(root, build):
    program = find_clang_tidy()
    if not program:
        print(f"skipped: no clang-tidy {VERSION}")
        sys.exit(77)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        found = workers.map(lambda path: findings(root, build, program, path),
                            list(sources(root, build)))
        return sorted({line for lines in found for line in lines if CLANG_ITSELF not in line})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=tree.ROOT / "build/release")
    options, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    tree.run(lambda root: check(root, options.build.resolve()), __doc__)


if __name__ == "__main__":
    main()
