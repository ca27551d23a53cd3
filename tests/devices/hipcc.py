#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hipcc: how it is called for gfx90a, and what the code it makes has to be like."""
import re

import kokkos_overlay
import vendor_headers

# The descriptor of a kernel in a code object; its name says how Kokkos launches it.
DESCRIPTOR = re.compile(rb"([\w.$]+)\.kd\0")
DEVICE = ("--offload-device-only", "--no-gpu-bundle-output", "-c")
HOST = ("--offload-host-only", "-fsyntax-only")


class Hipcc:
    """Compiles for a Kokkos with HIP."""

    program = "hipcc"
    targets = "gfx90a"
    backend = kokkos_overlay.HIP
    flags = ["-x", "hip", "-std=c++20", "--offload-arch=gfx90a", "-ffp-contract=off",
             "-DQUERN_HAVE_RCCL"]
    # {kind of file: runs of the compiler}. The device's part is linked as well, by itself.
    passes = {"kernels": (DEVICE, HOST), "plain": (("-fsyntax-only",),), "vendor": (HOST,)}

    def __init__(self, path):
        self.path = path

    def vendors(self, options):
        """The vendors' folders that can be compiled: RCCL's, where it is new enough for Quern."""
        command = [self.path, *self.flags, "--offload-host-only", *options, "-E", "-dM"]
        there = vendor_headers.is_new_enough(vendor_headers.macros(command, "rccl/rccl.h"))
        return ("comm/nccl",) if there else ()

    def problem_of(self, kind, output):
        """What is wrong with what was compiled, or None."""
        if kind != "kernels":
            return None
        kernels = set(DESCRIPTOR.findall(output.read_bytes()))
        if not kernels:
            return "no kernel in the code for the device"
        waiting = [name.decode() for name in sorted(kernels) if b"launch_constant_memory" in name]
        if waiting:
            return "arguments too large to travel with the launch: " + ", ".join(waiting)
        return None

    def link(self, folder, objects, build):
        """Nothing is linked for the host."""
        del folder, objects, build
