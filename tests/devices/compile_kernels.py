#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles everything that a build for GPUs compiles with nvcc or hipcc, against the Kokkos that is
installed. No GPU and no Kokkos for GPUs is needed, and nothing is run: this shows that the kernels
compile, not that they are right (the tests run them on the CPU for that).

Kokkos' headers take most of the time, so the files of a room are compiled together; one by one only
where that fails. What a vendor's library is linked with, nvcc.py and hipcc.py say.
Exit status 77: skipped, with the reason.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

import kokkos_overlay
from hipcc import Hipcc
from nvcc import Nvcc
from sources import Sources, vendor_of

SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class Compiler:
    """The toolchain's compiler on files of a room, as far as needed to know that they compile."""

    def __init__(self, toolchain, sources, build, options):
        self.toolchain, self.sources, self.build = toolchain, sources, build
        self.command = [toolchain.path, *toolchain.flags, *options]
        version = subprocess.run([toolchain.path, "--version"], capture_output=True, text=True, check=True)
        self.salt = version.stdout + " ".join(self.command)

    def compile(self, names, kind, output):
        """Runs the compiler unless it succeeded before on the same input; what it says if it fails,
        else None."""
        passes = self.toolchain.passes[kind]
        digest = self.sources.digest(names, repr((self.salt, passes, names)))
        stamp = output.with_suffix(".ok")
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
            return None
        stamp.unlink(missing_ok=True)
        unit = output.with_suffix(".cpp")
        unit.write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
        problem = next(filter(None, (self.run(mode, unit, output) for mode in passes)), None)
        problem = problem or self.toolchain.problem_of(kind, output)
        if problem is None:
            stamp.write_text(digest, encoding="utf-8")
        return problem

    def run(self, mode, unit, output):
        """One run of the compiler; what it says if it fails, never nothing, else None."""
        where = [] if "-fsyntax-only" in mode else ["-o", output]
        result = subprocess.run([*self.command, *mode, unit, *where], capture_output=True, text=True,
                                check=False)
        if result.returncode == 0:
            return None
        return f"{result.stdout}{result.stderr}exit status {result.returncode}"

    def failures(self, names, kind, stem):
        """[(name, the compiler's output)] of the files that do not compile."""
        if len(names) > 1 and self.compile(names, kind, self.build / f"{stem}.o") is None:
            return []
        outputs = ((name, self.compile([name], kind, self.build / f"{one_name(name)}.o")) for name in names)
        return [(name, output) for name, output in outputs if output is not None]

    def takes_kokkos(self):
        """Do Kokkos' own headers compile?"""
        unit = self.build / "kokkos_alone.cpp"
        unit.write_text("#include <Kokkos_Core.hpp>\n", encoding="utf-8")
        output = unit.with_suffix(".o")
        return all(self.run(mode, unit, output) is None for mode in self.toolchain.passes["plain"])


def one_name(name):
    return name.replace("/", "_").removesuffix(".cpp")


def groups(sources, names):
    """{(room or vendor's folder, kind of file): names}."""
    found = {}
    for name in names:
        if vendor_of(name):
            key = vendor_of(name), "vendor"
        else:
            key = name.split("/")[0], "kernels" if sources.has_kernels(name) else "plain"
        found.setdefault(key, []).append(name)
    return found


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toolchain", choices=("cuda", "hip"))
    parser.add_argument("src", type=pathlib.Path, help="the folder src/")
    parser.add_argument("build", type=pathlib.Path, help="folder for what is written")
    parser.add_argument("--kokkos", type=pathlib.Path, required=True,
                        help="folder with Kokkos_Core.hpp")
    parser.add_argument("--include", action="append", default=[], help="one more include folder")
    parser.add_argument("--only", default="", help="regular expression for names below src/")
    return parser.parse_args()


def find_toolchain(name):
    kind = {"cuda": Nvcc, "hip": Hipcc}[name]
    path = shutil.which(kind.program)
    if path is None:
        skip(f"no {kind.program} on the path, so no kernel is compiled for {kind.targets}")
    return kind(path)


def main():
    options = parse_arguments()
    toolchain = find_toolchain(options.toolchain)
    build = options.build.resolve()
    try:
        kokkos_overlay.write_overlay(options.kokkos, build / "overlay", toolchain.backend)
    except kokkos_overlay.OverlayError as error:
        skip(f"the installed Kokkos gives no overlay: {error}")

    sources = Sources(options.src.resolve())
    includes = [f"-I{build / 'overlay'}", f"-I{sources.src}", "-isystem", str(options.kokkos)]
    for folder in options.include:
        includes += ["-isystem", folder]
    names = [name for name in sources.to_compile(toolchain.vendors(includes)) if re.search(options.only, name)]
    compiler = Compiler(toolchain, sources, build, includes)
    jobs = []
    objects = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for (room, kind), together in groups(sources, names).items():
            if kind == "vendor":
                objects[room] = [build / f"{one_name(name)}.o" for name in together]
            parts = [[name] for name in together] if kind == "vendor" else [together]
            stem = f"{room.replace('/', '_')}_{kind}"
            jobs += [pool.submit(compiler.failures, part, kind, stem) for part in parts]
        failures = [failure for job in jobs for failure in job.result()]
    if failures and not compiler.takes_kokkos():
        skip(f"{toolchain.program} does not compile the installed Kokkos' own headers for {toolchain.targets}")
    if not failures:
        for folder, files in objects.items():
            problem = toolchain.link(folder, files, build)
            if problem:
                failures.append((folder, problem))
    for name, output in failures:
        print(f"== {name}\n{output}")
    kernels = sum(sources.has_kernels(name) for name in names)
    print(f"note: {len(names)} files, {kernels} of them with kernels, for {toolchain.targets}; with vendors' "
          f"libraries: {', '.join(objects) or 'none'}; {len(failures)} failed; compiled only: nothing ran on a GPU")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
