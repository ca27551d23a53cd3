#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles everything that a CUDA build compiles with nvcc, against the Kokkos that is installed, for
sm_80 and sm_90. No GPU and no CUDA-enabled Kokkos is needed, and nothing is run: this shows that the
kernels compile, not that they are right (the tests run them on the CPU for that).

Kokkos' headers take most of the time, so the files of a room are compiled together; one by one only
where that fails.

Files that own a vendor's library (comm/nccl, linalg/cublas) are also linked against it.
Exit status 77: skipped, with the reason.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import kokkos_overlay

SKIPPED = 77
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
# What makes code for the device, or is looked at by nvcc's own checks of lambdas.
KERNEL = re.compile(r"parallel_(?:for|reduce|scan)|for_each_(?:chunk|team)|KOKKOS_\w*(?:LAMBDA|FUNCTION)")
# Micro-kernels of a CPU, which are no part of a CUDA build.
HOST_ONLY = "host"
# Libraries of folders of src/ that own a vendor's headers.
VENDORS = {"comm/nccl": ["-lnccl"], "linalg/cublas": ["-lcublasLt"]}
VENDOR_SYMBOL = re.compile(r"undefined symbol: ((?:nccl|pnccl|cublas|cuda|cu[A-Z])\w*)")
# One front end for both: sm_90 runs what compute_80 describes.
ARCHITECTURES = ["-gencode", "arch=compute_80,code=[sm_80,sm_90]"]
FLAGS = ["-x", "cu", "-std=c++20", "--extended-lambda", "--expt-relaxed-constexpr", "--fmad=false",
         "-Xcompiler", "-fopenmp", "-Xcudafe", "--diag_suppress=20012"]


class Sources:
    """The files below src/ and what they include."""

    def __init__(self, src):
        self.src = src
        self.known = {}

    def includes(self, name):
        """(own headers, others) of a file, through own headers as well."""
        if name not in self.known:
            own, others = {name}, set()
            self.known[name] = (own, others)
            for quote, header in INCLUDE.findall((self.src / name).read_text(encoding="utf-8")):
                if quote == '"' and (self.src / header).is_file():
                    below = self.includes(header)
                    own |= below[0]
                    others |= below[1]
                else:
                    others.add(header)
        return self.known[name]

    def to_compile(self):
        """Every .cpp that meets Kokkos or owns a vendor's library, as names below src/."""
        for path in sorted(self.src.rglob("*.cpp")):
            name = path.relative_to(self.src).as_posix()
            if HOST_ONLY in path.relative_to(self.src).parts[:-1]:
                continue
            others = self.includes(name)[1]
            if vendor_of(name) or any(header.startswith("Kokkos_") for header in others):
                yield name

    def has_kernels(self, name):
        own = [name] + [header for header in self.includes(name)[0] if "/device/" in header]
        return any(KERNEL.search((self.src / file).read_text(encoding="utf-8")) for file in own)

    def digest(self, names, salt):
        """Changes with everything that the compilation of the files sees of ours."""
        state = hashlib.sha256(salt.encode())
        for file in sorted(set().union(*(self.includes(name)[0] for name in names))):
            state.update(file.encode() + b"\0" + (self.src / file).read_bytes())
        return state.hexdigest()


def vendor_of(name):
    return next((folder for folder in VENDORS if name.startswith(folder + "/")), None)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class Compiler:
    """nvcc on files of a room, as far as needed to know that they compile."""

    def __init__(self, sources, build, command):
        self.sources, self.build, self.command = sources, build, command
        version = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True)
        self.salt = version.stdout + " ".join(command)

    def compile(self, names, mode, output):
        """Runs nvcc unless it succeeded before on the same input; its output if it fails, else None."""
        digest = self.sources.digest(names, " ".join([self.salt, *mode, *names]))
        stamp = output.with_suffix(".ok")
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
            return None
        stamp.unlink(missing_ok=True)
        unit = output.with_suffix(".cpp")
        unit.write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
        result = subprocess.run([*self.command, *mode, unit, "-o", output], capture_output=True,
                                text=True, check=False)
        if result.returncode != 0:
            return result.stdout + result.stderr
        stamp.write_text(digest, encoding="utf-8")
        return None

    def failures(self, names, mode, stem):
        """[(name, nvcc's output)] of the files that do not compile."""
        if len(names) > 1 and self.compile(names, mode, self.build / f"{stem}.o") is None:
            return []
        outputs = ((name, self.compile([name], mode, self.build / f"{one_name(name)}.o")) for name in names)
        return [(name, output) for name, output in outputs if output is not None]


def one_name(name):
    return name.replace("/", "_").removesuffix(".cpp")


def link_vendor(nvcc, folder, objects, build):
    """Links a vendor's folder; what it leaves undefined of the vendor's own, or None."""
    library = build / (folder.replace("/", "_") + ".so")
    result = subprocess.run([nvcc, "-shared", *objects, *VENDORS[folder], "-o", library],
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return result.stdout + result.stderr
    toolkit = pathlib.Path(nvcc).resolve().parent.parent / "lib64"
    listing = subprocess.run(["ldd", "-r", library], capture_output=True, text=True, check=False,
                             env={**os.environ, "LD_LIBRARY_PATH": str(toolkit)})
    missing = sorted(set(VENDOR_SYMBOL.findall(listing.stdout + listing.stderr)))
    return f"{folder}: not in {' '.join(VENDORS[folder])}: {', '.join(missing)}" if missing else None


def groups(sources, names):
    """{(room or vendor's folder, nvcc's options): names}."""
    found = {}
    for name in names:
        if vendor_of(name):
            key = vendor_of(name), ("-c", "-Xcompiler", "-fPIC,-O0")
        elif sources.has_kernels(name):
            key = name.split("/")[0], ("--cuda",)
        else:
            key = name.split("/")[0], ("--fatbin",)
        found.setdefault(key, []).append(name)
    return found


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("src", type=pathlib.Path, help="the folder src/")
    parser.add_argument("build", type=pathlib.Path, help="folder for what is written")
    parser.add_argument("--kokkos", type=pathlib.Path, required=True,
                        help="folder with Kokkos_Core.hpp")
    parser.add_argument("--include", action="append", default=[], help="one more include folder")
    parser.add_argument("--only", default="", help="regular expression for names below src/")
    return parser.parse_args()


def main():
    options = parse_arguments()
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        skip("no nvcc on the path, so no kernel is compiled for a GPU")
    build = options.build.resolve()
    try:
        kokkos_overlay.write_overlay(options.kokkos, build / "overlay")
    except kokkos_overlay.OverlayError as error:
        skip(f"the installed Kokkos gives no overlay: {error}")

    sources = Sources(options.src.resolve())
    common = [nvcc, *FLAGS, *ARCHITECTURES, f"-I{build / 'overlay'}", f"-I{sources.src}",
              "-isystem", str(options.kokkos)]
    for folder in options.include:
        common += ["-isystem", folder]
    names = [name for name in sources.to_compile() if re.search(options.only, name)]
    compiler = Compiler(sources, build, common)
    jobs = []
    objects = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for (room, mode), together in groups(sources, names).items():
            if room in VENDORS:
                objects[room] = [build / f"{one_name(name)}.o" for name in together]
            parts = [[name] for name in together] if room in VENDORS else [together]
            stem = f"{room.replace('/', '_')}_{mode[0].strip('-')}"
            jobs += [pool.submit(compiler.failures, part, mode, stem) for part in parts]
        failures = [failure for job in jobs for failure in job.result()]
    if not failures:
        for folder, files in objects.items():
            problem = link_vendor(nvcc, folder, files, build)
            if problem:
                failures.append((folder, problem))
    for name, output in failures:
        print(f"== {name}\n{output}")
    kernels = sum(sources.has_kernels(name) for name in names)
    print(f"{len(names)} files, {kernels} of them with kernels, for sm_80 and sm_90; linked: "
          f"{', '.join(objects) or 'nothing'}; {len(failures)} failed")
    print("Compiled only: nothing ran on a GPU.")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
