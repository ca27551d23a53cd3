#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every #include of src/ follows an arrow of src/rooms.txt, each arrow has one, vendor headers stay in
their rooms, and fmt and nlohmann-json meet Kokkos in no file, not even through other headers. What is
written for vector registers (SIMD) is in folders host/. Headers say #pragma once."""
import re

from rooms import FILE, Rooms
import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
# The vendor named in src/rooms.txt, by the headers that are its own.
VENDOR_HEADERS = {
    "Kokkos": re.compile(r"^(Kokkos_|impl/Kokkos|decl/Kokkos|desul/)"),
    "mpi.h": re.compile(r"^mpi\.h$"),
    "cublasLt.h": re.compile(r"^cublas"),
    "mma.h": re.compile(r"^(mma|cuda_bf16)\.h"),
    "nccl.h": re.compile(r"^(nccl|rccl/rccl|rccl)\.h$"),
    "hdf5.h": re.compile(r"^(hdf5(_hl)?|H5\w*)\.h$"),
    "toml++": re.compile(r"^toml(\+\+/|plusplus|\.h)"),
    "zlib.h": re.compile(r"^z(lib|conf)\.h$"),
    "png.h": re.compile(r"^png\.h$"),
    "jpeglib.h": re.compile(r"^j(peglib|config|morecfg)\.h$"),
    "CLI": re.compile(r"^CLI/"),
    "xxhash.h": re.compile(r"^(xxhash|xxh3)\.h$"),
}
# What code for one vendor's devices is known by, anywhere in a file but in comments.
VENDOR_NAMES = {
    "GPU": re.compile(r"\b(?:(?:cuda|hip)[A-Z]\w*|KOKKOS_(?:ENABLE|ARCH)_\w+|__(?:CUDA|HIP|NVCC)\w*|"
                      r"QUERN_DRIVER|Kokkos::(?:Cuda|HIP|SYCL))\b"),
}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Headers that the build writes.
GENERATED = {"quern_git_commit.hpp"}
SIMD = "linalg/host/simd.hpp"
NOT_WITH_KOKKOS = re.compile(r"^(fmt/|nlohmann/)")


def read_includes(root):
    """Every C++ file of src/ with its includes as (quote, name, line number)."""
    includes = {}
    for path in tree.cpp_files(root, "src"):
        text = tree.text(root, path)
        includes[path] = [(found[1], found[2], text.count("\n", 0, found.start()) + 1)
                          for found in INCLUDE.finditer(text)]
    return includes


def check_include(root, rooms, path, quote, name, line):
    where = f"{path}:{line}"
    below = path.relative_to("src")
    room = below.parts[0]
    if name in GENERATED:
        return
    if quote == '"':
        target = name.split("/")[0]
        if not (root / "src" / name).is_file():
            yield f"{where}: \"{name}\" is no file of src/ (own headers are named from src/ on)"
        elif target not in rooms.reach.get(room, ()):
            yield f"{where}: room '{room}' may not include \"{name}\": src/rooms.txt has no arrow"
        return
    if name.split("/")[0] in rooms.reach and (root / "src" / name).is_file():
        yield f"{where}: own header <{name}> is to be included with quotes"
    for vendor, pattern in VENDOR_HEADERS.items():
        if pattern.match(name) and not rooms.place_of_vendor(vendor, below):
            yield f"{where}: <{name}> is only for {rooms.vendors.get(vendor, [])}"


def check_names(root, rooms, path):
    """Names of vendors outside of their places; the places that write some go to rooms.used."""
    text = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), tree.text(root, path))
    for vendor, pattern in VENDOR_NAMES.items():
        for found in pattern.finditer(text):
            if not rooms.place_of_vendor(vendor, path.relative_to("src")):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: '{found[0]}' is only for {rooms.vendors.get(vendor, [])}"


def unused_arrows(rooms, includes):
    used = {(path.parts[1], name.split("/")[0])
            for path, lines in includes.items() for quote, name, _ in lines if quote == '"'}
    return [f"{FILE}: '{room}' names '{target}', and includes nothing of it"
            for room, targets in rooms.arrows.items() for target in targets if (room, target) not in used]


def everything_included(path, includes, known):
    """The angled headers that reach the file, directly or through own headers, with a way each."""
    if path not in known:
        known[path] = found = {}
        for quote, name, _ in includes.get(path, ()):
            if quote == "<":
                found.setdefault(name, str(path))
            else:
                below = everything_included(tree.pathlib.PurePath("src") / name, includes, known)
                for vendor, way in below.items():
                    found.setdefault(vendor, f"{path} -> {way}")
    return known[path]


def reaches(path, header, includes, seen):
    """Does the file include the header of src/, directly or through others?"""
    if path in seen:
        return False
    seen.add(path)
    own = [name for quote, name, _ in includes.get(path, ()) if quote == '"']
    return header in own or any(
        reaches(tree.pathlib.PurePath("src") / name, header, includes, seen) for name in own)


def check_host(path, includes):
    if path.parent.name != "host" and reaches(path, SIMD, includes, set()):
        yield f"{path}: uses \"{SIMD}\" (expected in a folder host/ only)"


def check(root):
    rooms = Rooms((root / FILE).read_text(encoding="utf-8"))
    includes = read_includes(root)
    offences = rooms.mistakes + unused_arrows(rooms, includes)
    offences += [f"{FILE}: vendor '{vendor}' is not known to check_rooms.py"
                 for vendor in rooms.vendors if vendor not in VENDOR_HEADERS and vendor not in VENDOR_NAMES]
    known = {}
    for path, lines in includes.items():
        if len(path.parts) < 3 or path.parts[1] not in rooms.reach:
            offences.append(f"{path}: lies in no room of src/rooms.txt")
            continue
        if path.suffix == ".hpp" and "\n#pragma once\n" not in tree.text(root, path):
            offences.append(f"{path}: no '#pragma once'")
        for quote, name, line in lines:
            offences += check_include(root, rooms, path, quote, name, line)
        offences += check_names(root, rooms, path)
        offences += check_host(path, includes)
        reached = everything_included(path, includes, known)
        kokkos = [way for name, way in reached.items() if VENDOR_HEADERS["Kokkos"].match(name)]
        for name, way in reached.items():
            if kokkos and NOT_WITH_KOKKOS.match(name):
                offences.append(f"{path}: meets both <{name}> ({way}) and Kokkos ({kokkos[0]})")
    offences += [f"{FILE}: nothing in '{place}' is of vendor '{vendor}'" for vendor, places in rooms.vendors.items()
                 for place in places if (vendor, place) not in rooms.used]
    return offences


if __name__ == "__main__":
    tree.run(check, __doc__)
