#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes device code compile against a Kokkos that was built without a GPU back end.

Kokkos installs the headers of all its back ends, but generates five small headers that switch on
those it was built with. This writes an overlay folder with changed copies of the five, CUDA or HIP
switched on. Put in front of the include path, nvcc or hipcc then compiles every kernel; nothing of it
can be run, and only objects that call into Kokkos' library for the device cannot be linked.
"""
import argparse
import dataclasses
import pathlib
import re
import sys

DECLARE = "KokkosCore_Config_DeclareBackend.hpp"
FORWARD = "KokkosCore_Config_FwdBackend.hpp"
SETUP = "KokkosCore_Config_SetupBackend.hpp"
CONFIG = "KokkosCore_config.h"
ATOMICS = "desul/atomics/Config.hpp"


class OverlayError(Exception):
    """The installed headers do not look as expected."""


@dataclasses.dataclass(frozen=True)
class Backend:
    """What a Kokkos for a device has in its generated headers."""

    switches: tuple  # of KokkosCore_config.h
    atomics: str     # the one of desul/atomics/Config.hpp
    includes: dict   # generated header: headers that it includes, in this order
    replaces: str = ""  # a back end for the host that gives way to Serial


CUDA = Backend(
    switches=("KOKKOS_ENABLE_CUDA", "KOKKOS_ARCH_AMPERE", "KOKKOS_ARCH_AMPERE80"),
    atomics="DESUL_ATOMICS_ENABLE_CUDA",
    includes={DECLARE: ("decl/Kokkos_Declare_CUDA.hpp",), FORWARD: ("fwd/Kokkos_Fwd_CUDA.hpp",),
              SETUP: ("setup/Kokkos_Setup_Cuda.hpp",)})
# Serial beside it: OpenMP would need the header of another compiler's run-time library.
HIP = Backend(
    switches=("KOKKOS_ENABLE_HIP", "KOKKOS_ENABLE_SERIAL", "KOKKOS_ARCH_AMD_GPU",
              "KOKKOS_ARCH_AMD_GFX90A"),
    atomics="DESUL_ATOMICS_ENABLE_HIP",
    includes={DECLARE: ("decl/Kokkos_Declare_SERIAL.hpp", "decl/Kokkos_Declare_HIP.hpp"),
              FORWARD: ("fwd/Kokkos_Fwd_SERIAL.hpp", "fwd/Kokkos_Fwd_HIP.hpp"),
              SETUP: ("setup/Kokkos_Setup_HIP.hpp",)},
    replaces="OPENMP")


def switch_on(text, names, where):
    """`text` with "/* #undef NAME */" made "#define NAME"; what is defined already stays."""
    for name in names:
        if re.search(rf"^#define {name}\b", text, re.MULTILINE):
            continue
        text, count = re.subn(rf"/\* #undef {name} \*/", f"#define {name}", text)
        if count == 0:
            raise OverlayError(f"{where}: no line '/* #undef {name} */'")
    return text


def leave_out(text, backend):
    """`text` without what switches a back end on, or includes its headers."""
    return re.sub(rf"^#(define KOKKOS_ENABLE_|include <\w+/Kokkos_\w+_){backend}\b.*$", "", text,
                  flags=re.MULTILINE)


def add_include(text, header, where):
    """`text` with one more include before its last #endif: after those of the other back ends."""
    line = f"#include <{header}>"
    if line in text:
        return text
    head, endif, tail = text.rpartition("#endif")
    if not endif:
        raise OverlayError(f"{where}: no include guard")
    return f"{head}{line}\n\n{endif}{tail}"


def write_overlay(installed, overlay, backend):
    """Writes the changed copies of the headers below `installed` to the folder `overlay`."""
    changed = {}
    for name in (CONFIG, ATOMICS, *backend.includes):
        path = installed / name
        if not path.is_file():
            raise OverlayError(f"{path} is missing")
        text = path.read_text(encoding="utf-8")
        if backend.replaces:
            text = leave_out(text, backend.replaces)
        for header in backend.includes.get(name, ()):
            if not (installed / header).is_file():
                raise OverlayError(f"{installed / header} is missing: this Kokkos was installed "
                                   "without the headers of its other back ends")
            text = add_include(text, header, path)
        if name == CONFIG:
            text = switch_on(text, backend.switches, path)
        elif name == ATOMICS:
            text = switch_on(text, (backend.atomics,), path)
        changed[name] = text
    for name, text in changed.items():
        path = overlay / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", choices=("cuda", "hip"))
    parser.add_argument("installed", type=pathlib.Path, help="folder with Kokkos_Core.hpp")
    parser.add_argument("overlay", type=pathlib.Path, help="folder to write")
    options = parser.parse_args()
    try:
        write_overlay(options.installed, options.overlay, {"cuda": CUDA, "hip": HIP}[options.backend])
    except OverlayError as error:
        sys.exit(f"kokkos_overlay: {error}")


if __name__ == "__main__":
    main()
