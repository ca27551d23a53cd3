#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles everything that a CUDA build compiles with nvcc, against the Kokkos that is installed, for
sm_80 and sm_90. No GPU and no CUDA-enabled Kokkos is needed, and nothing is run: this shows that the
kernels compile, not that they are right (the tests run them on the CPU for that).

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

    def digest(self, name, salt):
        """Changes with everything that the compilation of the file sees of ours."""
        state = hashlib.sha256(salt.encode())
        for file in sorted(self.includes(name)[0]):
            state.update(file.encode() + b"\0" + (self.src / file).read_bytes())
        return state.hexdigest()


def vendor_of(name):
    return next((folder for folder in VENDORS if name.startswith(folder + "/")), None)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def compile_file(command, stamp, digest):
    """Runs the command unless it succeeded before on the same input; the compiler's output if it
    fails, else None."""
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return None
    stamp.unlink(missing_ok=True)
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return result.stdout + result.stderr
    stamp.write_text(digest, encoding="utf-8")
    return None


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
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    salt = version + " ".join(common)
    names = [name for name in sources.to_compile() if re.search(options.only, name)]
    jobs = {}
    objects = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name in names:
            stem = build / name.replace("/", "_").removesuffix(".cpp")
            if vendor_of(name):
                mode, output = ["-c", "-Xcompiler", "-fPIC,-O0"], stem.with_suffix(".o")
                objects.setdefault(vendor_of(name), []).append(output)
            elif sources.has_kernels(name):
                mode, output = ["--cuda"], stem.with_suffix(".ii")
            else:
                mode, output = ["--fatbin"], stem.with_suffix(".fatbin")
            command = [*common, *mode, str(sources.src / name), "-o", str(output)]
            digest = sources.digest(name, salt + " ".join(mode))
            jobs[pool.submit(compile_file, command, stem.with_suffix(".ok"), digest)] = name
        failures = [(jobs[job], job.result()) for job in jobs if job.result() is not None]
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
