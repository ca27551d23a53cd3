#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvcc: how it is called for sm_80 and sm_90, and how the vendors' libraries are linked."""
import os
import re
import subprocess

import kokkos_overlay
import vendor_headers

LIBRARIES = {"comm/nccl": ["-lnccl"], "linalg/cublas": ["-lcublasLt"]}
VENDOR_SYMBOL = re.compile(r"undefined symbol: ((?:nccl|pnccl|cublas|cuda|cu[A-Z])\w*)")


class Nvcc:
    """Compiles for a Kokkos with CUDA."""

    program = "nvcc"
    targets = "sm_80 and sm_90"
    backend = kokkos_overlay.CUDA
    # One front end for both: sm_90 runs what compute_80 describes.
    flags = ["-x", "cu", "-std=c++20", "--extended-lambda", "--expt-relaxed-constexpr", "--fmad=false",
             "-Xcompiler", "-fopenmp", "-Xcudafe", "--diag_suppress=20012",
             "-gencode", "arch=compute_80,code=[sm_80,sm_90]"]
    # {kind of file: runs of the compiler}
    passes = {"kernels": (("--cuda",),), "plain": (("--fatbin",),),
              "vendor": (("-c", "-Xcompiler", "-fPIC,-O0"),)}

    def __init__(self, path):
        self.path = path

    def vendors(self, options):
        """The vendors' folders that can be compiled: those of which the toolkit has the header."""
        command = [self.path, *self.flags, *options, "-E", "-Xcompiler", "-dM"]
        found = []
        if vendor_headers.is_new_enough(vendor_headers.macros(command, "nccl.h")):
            found.append("comm/nccl")
        if vendor_headers.macros(command, "cublasLt.h") is not None:
            found.append("linalg/cublas")
        return found

    def problem_of(self, kind, output):
        """What is wrong with what was compiled, or None."""
        del kind, output

    def link(self, folder, objects, build):
        """Links a vendor's folder; what it leaves undefined of the vendor's own, or None."""
        library = build / (folder.replace("/", "_") + ".so")
        result = subprocess.run([self.path, "-shared", *objects, *LIBRARIES[folder], "-o", library],
                                capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return f"{result.stdout}{result.stderr}exit status {result.returncode}"
        folders = [*self.library_folders(), os.environ.get("LD_LIBRARY_PATH", "")]
        listing = subprocess.run(["ldd", "-r", library], capture_output=True, text=True, check=False,
                                 env={**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, folders))})
        missing = sorted(set(VENDOR_SYMBOL.findall(listing.stdout + listing.stderr)))
        if not missing:
            return None
        return f"{folder}: not in {' '.join(LIBRARIES[folder])}: {', '.join(missing)}"

    def library_folders(self):
        """Where nvcc links from, as it says itself: its path may be that of a wrapper. Not the stubs,
        which stand in for the driver's library."""
        said = subprocess.run([self.path, "--dryrun", "-x", "cu", "/dev/null"], capture_output=True, text=True,
                              check=False)
        line = re.search(r"^#\$ LIBRARIES=(.*)$", said.stderr, re.MULTILINE)
        folders = re.findall(r'"-L([^"]*)"', line[1]) if line else []
        return [folder for folder in folders if os.path.basename(folder) != "stubs"]
