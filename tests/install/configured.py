# SPDX-License-Identifier: Apache-2.0
"""Configures this tree, or parts of cmake/, in scratch folders, without building anything."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
given = argparse.Namespace()


def main():
    parser = argparse.ArgumentParser()
    for option in ("cmake", "compiler", "kokkos"):
        parser.add_argument(f"--{option}", required=True)
    parser.parse_args(namespace=given)
    unittest.main(module="__main__", verbosity=2, argv=sys.argv[:1])


def one_line(text):
    """CMake breaks messages into lines."""
    return " ".join(text.split())


def read_cache(folder):
    """{variable: value} of the CMake cache in a build folder."""
    found = {}
    for line in (Path(folder) / "CMakeCache.txt").read_text().splitlines():
        name, colon, rest = line.partition(":")
        if colon and not line.startswith(("#", "//")):
            found[name] = rest.partition("=")[2]
    return found


class ConfiguredTest(unittest.TestCase):
    source = ROOT

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.build = self.folder / "build"

    def run_cmake(self, *words, **environment):
        """Without what the caller's shell says of flags and of Kokkos."""
        inherited = {name: value for name, value in os.environ.items()
                     if name not in ("CFLAGS", "CXXFLAGS", "LDFLAGS", "Kokkos_ROOT", "CMAKE_PREFIX_PATH")}
        return subprocess.run([given.cmake, *map(str, words)], text=True, capture_output=True, check=False,
                              env={**inherited, **environment})

    def try_to_configure(self, *options, **environment):
        """In an empty folder, the program without tests and MPI, which is the quickest."""
        shutil.rmtree(self.build, ignore_errors=True)
        return self.run_cmake("-S", self.source, "-B", self.build, f"-DCMAKE_CXX_COMPILER={given.compiler}",
                              f"-DKokkos_DIR={given.kokkos}", "-DQUERN_ENABLE_TESTS=OFF",
                              "-DQUERN_ENABLE_MPI=OFF", *options, **environment)

    def configure(self, *options, **environment):
        """What CMake says on one line, messages and warnings."""
        done = self.try_to_configure(*options, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return one_line(done.stdout + done.stderr)

    def refusal(self, *options, **environment):
        done = self.try_to_configure(*options, **environment)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return one_line(done.stderr)

    def script(self, file, **variables):
        """cmake/FILE alone, with these variables: what it says, and whether it stops."""
        done = self.run_cmake(*(f"-D{name}={value}" for name, value in variables.items()),
                              "-P", ROOT / "cmake" / file)
        return one_line(done.stdout + done.stderr), done.returncode != 0

    def flags(self):
        """The words of the command that compiles a file with kernels."""
        commands = json.loads((self.build / "compile_commands.json").read_text())
        return next(one["command"].split() for one in commands if one["file"].endswith("layers/linear.cpp")
                    or "quern_layers" in one["command"])

    def kokkos(self, *lines, name="kokkos", version=""):
        """A folder with a Kokkos that is the given one, changed by these lines of CMake."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        config = "\n".join((f"include({given.kokkos}/KokkosConfig.cmake)", *lines))
        (folder / "KokkosConfig.cmake").write_text(config + "\n")
        compatible = "set(PACKAGE_VERSION {})\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
        (folder / "KokkosConfigVersion.cmake").write_text(
            compatible.format(version) if version else f"include({given.kokkos}/KokkosConfigVersion.cmake)\n")
        return folder

    def command_file(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
        return file
