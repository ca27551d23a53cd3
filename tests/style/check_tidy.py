#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy (.clang-tidy), with clang's own warnings, finds nothing in the files of src/ and their
headers. Files that include Kokkos are left out without --kernels: clang cannot read the commands of nvcc
and hipcc.

With --changed-since COMMIT only files that differ from it (their headers are looked at through them).
Versions differ in their checks: with another version than ours the check is skipped (status 77).
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import check_rooms
import tree

VERSION = "14"
FINDING = re.compile(r": (?:error|warning): .*\[[\w.,-]+\]$")
# Clang cannot compile all that GCC's standard library offers; whether code compiles, GCC says.
CLANG_ITSELF = "[clang-diagnostic-error]"
COLLISION = re.compile(r"error: .*(?:redefinition|ambiguous|conflict).*\[clang-diagnostic-error\]")
BATCH = 8


def find_clang_tidy():
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        program = shutil.which(name)
        if program:
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
            if re.search(rf"version {VERSION}\.", said.stdout):
                return program
    return None


def changed_files(root, commit):
    """Paths below root that differ from the commit."""
    listing = subprocess.run(["git", "-C", str(root), "diff", "--name-only", commit, "--", "src"],
                             capture_output=True, text=True, check=True)
    return {pathlib.PurePath(line) for line in listing.stdout.splitlines()}


def sources(root, build, kernels=False, changed=None):
    """The compiled files of src/, with `kernels` those that Kokkos reaches as well; of those the changed ones."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    compiled = {(pathlib.Path(entry["directory"]) / entry["file"]).resolve() for entry in commands}
    includes, known = check_rooms.read_includes(root), {}
    for path in includes:
        reached = check_rooms.everything_included(path, includes, known)
        has_kernels = any(check_rooms.VENDOR_HEADERS["Kokkos"].match(name) for name in reached)
        if path.suffix == ".cpp" and root / path in compiled and (kernels or not has_kernels) and (
                changed is None or path in changed):
            yield path


def compile_arguments(build):
    """{compiled file: the compiler's arguments without input and output}."""
    arguments = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = iter(shlex.split(entry["command"])[1:])
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        kept = []
        for word in words:
            if word in ("-o", "-MF", "-MT", "-MQ"):
                next(words)
            elif word == "-include":  # GCC's precompiled headers, which clang cannot read, are left out
                name = next(words)
                kept += [] if name.endswith("cmake_pch.hxx") else [word, name]
            elif word not in ("-c", "-MD", "-Winvalid-pch", entry["file"]) and not word.endswith(("/c++", "/g++")):
                kept.append(word)
        arguments.setdefault(path, tuple(kept))
    return arguments


def batches(root, build, **which):
    """[(files, compiler's arguments)]: files of one room that are compiled alike, a few at a time."""
    arguments, groups = compile_arguments(build), {}
    for path in sources(root, build, **which):
        groups.setdefault((path.parts[1], arguments[root / path]), []).append(path)
    return [(files[i:i + BATCH], alike) for (_, alike), files in groups.items()
            for i in range(0, len(files), BATCH)]


def run_tidy(root, program, source, arguments):
    """(findings, do names collide?) of a source and what it includes of src/."""
    # GCC's own warning options are unknown to clang.
    result = subprocess.run(
        [program, "--quiet", f"--config-file={root / '.clang-tidy'}", f"--header-filter=^{root}/src/",
         "--checks=-bugprone-suspicious-include", str(source), "--", *arguments,
         "-Wno-unknown-warning-option", "-ferror-limit=0"],
        cwd=root, capture_output=True, text=True, check=False)
    lines = [line.replace(f"{root}/", "") for line in result.stdout.splitlines()
             if FINDING.search(line)]
    if result.returncode and not lines:  # no findings, and yet not well
        lines = [f"{source}: clang-tidy failed: {result.stdout[-500:]}{result.stderr[-500:]}"]
    collide = any(COLLISION.search(line) for line in lines)
    return [line for line in lines if CLANG_ITSELF not in line], collide


def findings(root, folder, program, files, arguments):
    """Of several files in one go, since most of the time goes into the headers they share; in halves
    where they do not go together (two helpers of one name)."""
    if len(files) == 1:
        return run_tidy(root, program, files[0], arguments)[0]
    together = folder / files[0].as_posix().replace("/", "_")
    together.write_text("".join(f'#include "{root / path}"\n' for path in files), encoding="utf-8")
    lines, collide = run_tidy(root, program, together, arguments)
    if not collide:
        return lines
    half = len(files) // 2
    return [line for part in (files[:half], files[half:])
            for line in findings(root, folder, program, part, arguments)]


def check(root, build, **which):
    program = find_clang_tidy()
    if not program:
        print(f"skipped: no clang-tidy {VERSION}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        found = workers.map(lambda batch: findings(root, pathlib.Path(folder), program, *batch),
                            batches(root, build, **which))
        return sorted({line for lines in found for line in lines})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=tree.ROOT / "build/release")
    parser.add_argument("--kernels", action="store_true", help="also the files that include Kokkos")
    parser.add_argument("--changed-since", metavar="COMMIT", help="only files that differ from it")
    options, rest = parser.parse_known_args()
    sys.argv[1:] = rest

    def chosen(root):
        since = options.changed_since
        return check(root, options.build.resolve(), kernels=options.kernels,
                     changed=changed_files(root, since) if since else None)
    tree.run(chosen, __doc__)


if __name__ == "__main__":
    main()
