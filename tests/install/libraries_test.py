# SPDX-License-Identifier: Apache-2.0
"""A library that is too old stops the configuration, with a message that says what was found; NOTICE
has every library whose code gets into programs."""
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import configured
from configured import ConfiguredTest, given

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "cmake/QuernDependencies.cmake"
LINKED_DYNAMICALLY = {"HDF5", "ZLIB", "MPI", "PNG", "JPEG"}
# Looks for the library TOO_OLD, nowhere but in OLD, and for no other.
PROJECT = f"""cmake_minimum_required(VERSION 3.22)
project(libraries LANGUAGES NONE)
macro(find_package name)
  if("${{name}}" STREQUAL "${{TOO_OLD}}")
    _find_package(${{ARGV}} PATHS ${{OLD}} NO_DEFAULT_PATH)
  endif()
endmacro()
list(APPEND CMAKE_MODULE_PATH {ROOT}/cmake)
include(QuernDependencies)
"""
# Takes the Kokkos of a folder of its own, whose system is the folder SYSTEM.
CHOICE = f"""cmake_minimum_required(VERSION 3.22)
project(choice LANGUAGES NONE)
set(CMAKE_SYSTEM_PREFIX_PATH ${{SYSTEM}})
macro(find_package name)
  if("${{name}}" STREQUAL "Kokkos")
    _find_package(${{ARGV}})
    message(STATUS "took ${{Kokkos_DIR}}")
  endif()
endmacro()
list(APPEND CMAKE_MODULE_PATH {ROOT}/cmake)
include(QuernDependencies)
"""
VERSION = """set(PACKAGE_VERSION {})
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
"""

def wanted():
    """{package: oldest version, or ""}"""
    return dict(re.findall(r"find_package\((\w+) ?([\d.]*) ", LIBRARIES.read_text()))


class ImagesTest(ConfiguredTest):
    def test_libraries_of_images(self):
        for kind in ("PNG", "JPEG"):
            missing = f"-DCMAKE_DISABLE_FIND_PACKAGE_{kind}=ON"
            said = self.refusal(f"-DQUERN_ENABLE_{kind}=ON", missing)
            self.assertIn(f"QUERN_ENABLE_{kind} is ON, but no library for {kind} was found", said)
            for options in ([f"-DQUERN_ENABLE_{kind}=OFF"], [missing]):
                self.assertRegex(self.configure(*options), f"; {kind}: no")
        self.assertIn("PNG: yes; JPEG: yes", self.configure("-DQUERN_ENABLE_PNG=ON", "-DQUERN_ENABLE_JPEG=ON"))


class LibrariesTest(unittest.TestCase):
    def test_too_old(self):
        for name in ("Kokkos", "fmt", "nlohmann_json", "tomlplusplus", "CLI11"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "CMakeLists.txt").write_text(PROJECT)
                (Path(folder) / f"{name}Config.cmake").write_text("")
                version = Path(folder) / f"{name}ConfigVersion.cmake"
                version.write_text(VERSION.format("1.0.1"))
                done = self.configure(folder, name)
                said = " ".join(done.stderr.split())
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f'compatible with requested version "{wanted()[name]}"', said)
                self.assertIn(f"{folder}/{name}Config.cmake, version: 1.0.1", said)
                version.write_text(VERSION.format(wanted()[name]))
                done = self.configure(folder, name)
                self.assertEqual(done.returncode, 0, done.stderr)

    def configure(self, folder, name):
        return subprocess.run([given.cmake, "-S", folder, "-B", f"{folder}/build",
                               f"-DTOO_OLD={name}", f"-DOLD={folder}"],
                              text=True, capture_output=True, check=False)

    def test_kokkos_that_setup_chose(self):
        """Before the system's and after what the caller names; without a choice its own is the last."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "CMakeLists.txt").write_text(CHOICE)
            (folder / "build").mkdir()
            memory = folder / "build/.quern-setup.env"
            for prefix in ("system", "chosen", "named", "build/deps/kokkos"):
                package = folder / prefix / "lib/cmake/Kokkos"
                package.mkdir(parents=True)
                (package / "KokkosConfig.cmake").write_text("")
                (package / "KokkosConfigVersion.cmake").write_text(VERSION.format("99"))
            memory.write_text(f"KOKKOS_PREFIX={folder}/chosen\n")
            self.assertEqual(self.taken(folder), "chosen")
            self.assertEqual(self.taken(folder, f"-DKokkos_ROOT={folder}/named"), "named")
            self.assertEqual(self.taken(folder, f"-DCMAKE_PREFIX_PATH={folder}/named"), "named")
            memory.write_text("KOKKOS_PREFIX=\n")
            self.assertEqual(self.taken(folder), "system")
            memory.unlink()
            self.assertEqual(self.taken(folder), "system")
            shutil.rmtree(folder / "system")
            self.assertEqual(self.taken(folder), "build/deps/kokkos")

    def taken(self, folder, *options):
        (folder / "build/CMakeCache.txt").unlink(missing_ok=True)
        done = subprocess.run([given.cmake, "-S", folder, "-B", folder / "build", f"-DSYSTEM={folder}/system",
                               *options], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(r"took (\S+)/lib/cmake/Kokkos", done.stdout)
        self.assertIsNotNone(found, done.stdout)
        return str(Path(found[1]).relative_to(folder))

    def test_setup_wants_the_same(self):
        """The probe of scripts/setup, on the libraries of this system."""
        self.assertEqual(self.setup_lacks({}), [])
        for name in ("HDF5", "fmt", "nlohmann_json", "tomlplusplus", "CLI11", "xxHash"):
            with self.subTest(name):
                self.assertEqual(self.setup_lacks({f"{name} {wanted()[name]}": f"{name} 99"}), [name])

    def setup_lacks(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "scripts", f"{folder}/scripts")
            shutil.copytree(ROOT / "cmake", f"{folder}/cmake")
            libraries = Path(folder) / "cmake/QuernDependencies.cmake"
            text = LIBRARIES.read_text()
            for old, new in changes.items():
                self.assertIn(f"({old} ", text)
                text = text.replace(f"({old} ", f"({new} ")
            libraries.write_text(text)
            lib = f"{folder}/scripts/lib"
            names = sorted(set(wanted()) - {"Kokkos"})
            done = subprocess.run(["bash", "-euc", f". {lib}/common.sh; . {lib}/packages.sh; "
                                   f"cmake_lacks {' '.join(names)}"],
                                  text=True, capture_output=True, check=True)
            return done.stdout.split()

    def test_notice(self):
        notice = (ROOT / "NOTICE").read_text()
        sections = {re.sub(r"\W|plusplus", "", re.sub(r"\+\+", "", name)).lower()
                    for name in re.findall(r"^(\S+) {2,}\S.* https?://", notice, re.MULTILINE)}
        for name in set(wanted()) - LINKED_DYNAMICALLY:
            self.assertIn(name.replace("_", "").replace("plusplus", "").lower(), sections)
        for licence in ("BSD-3-Clause", "MIT", "Apache-2.0 WITH LLVM-exception"):
            self.assertIn(licence, notice)


if __name__ == "__main__":
    configured.main()
