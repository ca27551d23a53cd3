#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which files of src/ a build for GPUs compiles for the device, and what each of them includes."""
import hashlib
import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
# What makes code for the device, or is looked at by nvcc's own checks of lambdas.
KERNEL = re.compile(r"parallel_(?:for|reduce|scan)|for_each_(?:chunk|team)|KOKKOS_\w*(?:LAMBDA|FUNCTION)")
# Micro-kernels of a CPU, which are no part of a build for GPUs.
HOST_ONLY = "host"
# Folders of src/ that own a vendor's headers.
VENDOR_FOLDERS = ("comm/nccl", "linalg/cublas")


def vendor_of(name):
    return next((folder for folder in VENDOR_FOLDERS if name.startswith(folder + "/")), None)


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

    def to_compile(self, vendors):
        """Every .cpp that meets Kokkos or lies in one of the vendors' folders, as names below src/."""
        for path in sorted(self.src.rglob("*.cpp")):
            name = path.relative_to(self.src).as_posix()
            if HOST_ONLY in path.relative_to(self.src).parts[:-1]:
                continue
            if vendor_of(name):
                if vendor_of(name) in vendors:
                    yield name
            elif any(header.startswith("Kokkos_") for header in self.includes(name)[1]):
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
