#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes device code compile against a Kokkos that was built without a GPU back end.

Kokkos installs the headers of all its back ends, but generates five small headers that switch on
those it was built with. This writes an overlay folder with changed copies of the five, CUDA switched
on. Put in front of the include path, nvcc then compiles every kernel; nothing of it can be run, and
only objects that call into Kokkos' CUDA library cannot be linked.
"""
import argparse
import pathlib
import re
import sys

SWITCHES = ("KOKKOS_ENABLE_CUDA", "KOKKOS_ARCH_AMPERE", "KOKKOS_ARCH_AMPERE80")
# The generated headers that list back ends, and what each has to include for CUDA.
LISTS = {
    "KokkosCore_Config_DeclareBackend.hpp": "decl/Kokkos_Declare_CUDA.hpp",
    "KokkosCore_Config_FwdBackend.hpp": "fwd/Kokkos_Fwd_CUDA.hpp",
    "KokkosCore_Config_SetupBackend.hpp": "setup/Kokkos_Setup_Cuda.hpp",
}


class OverlayError(Exception):
    """The installed headers do not look as expected."""


def switch_on(text, names, where):
    """`text` with "/* #undef NAME */" made "#define NAME"; what is defined already stays."""
    for name in names:
        if re.search(rf"^#define {name}\b", text, re.MULTILINE):
            continue
        text, count = re.subn(rf"/\* #undef {name} \*/", f"#define {name}", text)
        if count == 0:
            raise OverlayError(f"{where}: no line '/* #undef {name} */'")
    return text


def add_include(text, header, where):
    """`text` with one more include before its last #endif: behind those of the other back ends."""
    line = f"#include <{header}>"
    if line in text:
        return text
    head, endif, tail = text.rpartition("#endif")
    if not endif:
        raise OverlayError(f"{where}: no include guard")
    return f"{head}{line}\n\n{endif}{tail}"


def write_overlay(installed, overlay):
    """Writes the changed copies of the headers below `installed` to the folder `overlay`."""
    changed = {}
    for name in ("KokkosCore_config.h", "desul/atomics/Config.hpp", *LISTS):
        path = installed / name
        if not path.is_file():
            raise OverlayError(f"{path} is missing")
        text = path.read_text(encoding="utf-8")
        if name in LISTS:
            if not (installed / LISTS[name]).is_file():
                raise OverlayError(f"{installed / LISTS[name]} is missing: this Kokkos was installed "
                                   "without the headers of its CUDA back end")
            text = add_include(text, LISTS[name], path)
        elif name == "KokkosCore_config.h":
            text = switch_on(text, SWITCHES, path)
        else:
            text = switch_on(text, ("DESUL_ATOMICS_ENABLE_CUDA",), path)
        changed[name] = text
    for name, text in changed.items():
        path = overlay / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("installed", type=pathlib.Path, help="folder with Kokkos_Core.hpp")
    parser.add_argument("overlay", type=pathlib.Path, help="folder to write")
    options = parser.parse_args()
    try:
        write_overlay(options.installed, options.overlay)
    except OverlayError as error:
        sys.exit(f"kokkos_overlay: {error}")


if __name__ == "__main__":
    main()
