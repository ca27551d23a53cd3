# SPDX-License-Identifier: Apache-2.0
"""find_package(quern) from a project outside of this tree, against an installed libquern that was
moved to another prefix afterwards."""
import argparse
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
RECIPE = SOURCE / "recipes/ddp-toy.toml"
given = None


def run(*command, cwd=None):
    return subprocess.run([str(word) for word in command], cwd=cwd, text=True, capture_output=True,
                          timeout=500, check=False)


def public_headers():
    lines = (SOURCE / "src/public_headers.txt").read_text().splitlines()
    return [f"quern/{line}" for line in lines if line.endswith(".hpp")]


def launcher_of(build):
    """The option that gives another project the compiler launcher of this one, if it has any. From
    the cache: an empty argument is easily lost on the way through CMake, and a list is split."""
    cache = (Path(build) / "CMakeCache.txt").read_text()
    found = re.search(r"(?m)^CMAKE_CXX_COMPILER_LAUNCHER:\w+=(.+)$", cache)
    return [f"-DCMAKE_CXX_COMPILER_LAUNCHER={found[1]}"] if found else []


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = Path(cls.scratch.name)
        done = run(given.cmake, "--install", given.build, "--prefix", folder / "built",
                   "--component", given.component)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        cls.prefix = (folder / "built").rename(folder / "moved")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def must(self, *command):
        done = run(*command, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        return done

    def configure(self, source, *options):
        return run(given.cmake, "-S", source, "-B", self.folder / "build", *launcher_of(given.build),
                   f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   f"-DCMAKE_CXX_COMPILER={given.compiler}", *options)

    def project(self, *lines):
        """A folder with a project of these lines."""
        (self.folder / "CMakeLists.txt").write_text(
            "\n".join(("cmake_minimum_required(VERSION 3.22)", *lines)) + "\n")
        return self.folder

    def refusal(self, *lines, options=()):
        """What CMake says, on one line, to a project that must not be configured."""
        done = self.configure(self.project(*lines), *options)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return " ".join(done.stderr.split())

    def test_outside_project_trains(self):
        lines = (HERE / "outside_project/main.cpp").read_text().splitlines()
        self.assertLessEqual(len(lines), 15, "a dozen lines, and a licence")
        done = self.configure(HERE / "outside_project")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.must(given.cmake, "--build", self.folder / "build")
        outside = self.folder / "build/outside"
        self.must(outside, RECIPE, "one")
        self.must(given.mpiexec, "-n", 2, outside, RECIPE, "two")
        hashes = [self.must(given.quern, "checkpoint", "hash", name).stdout
                  for name in ("one", "two")]
        self.assertRegex(hashes[0], "^[0-9a-f]{64}\n$")
        self.assertEqual(hashes[0], hashes[1])
        self.must(given.quern, "train", RECIPE, "--run-dir", "program")
        self.assertEqual(self.must(given.quern, "checkpoint", "hash", "program").stdout, hashes[0],
                         "the outside program and quern train differ")
        # Errors are those of the program.
        done = run(outside, "nowhere.toml", "run", cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"^quern: error: .*nowhere\.toml.*\n$")

    def test_installed_example_runs(self):
        examples = self.prefix / "share/quern/examples"  # comes with the program
        if given.component == "quern_shared":
            examples = SOURCE / "examples"
        done = self.configure(examples)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.must(given.cmake, "--build", self.folder / "build", "--target", "one_kernel")
        self.assertRegex(self.must(self.folder / "build/one_kernel").stdout, r"^largest difference")

    def test_only_public_headers_are_installed(self):
        """Those of the list, what they include below quern/detail/, and nothing else."""
        root = self.prefix / "include"
        installed = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
        named = public_headers()
        detail = {name for name in installed if name.startswith("quern/detail/")}
        self.assertEqual(installed - detail, set(named))
        wanted = set()
        for name in installed:
            for included in re.findall(r'^ *# *include "([^"]+)"', (root / name).read_text(), re.MULTILINE):
                self.assertIn(included, installed, name)
                wanted.add(included)
        self.assertEqual(detail - wanted, set(), "nobody includes them")

    def test_each_public_header_compiles_alone(self):
        """With Kokkos and no other library, without a warning, and twice."""
        names = public_headers()
        if given.component == "quern_shared":  # the same headers: once is enough
            names = ["quern/train/training_run.hpp"]
        sources = [f"{number}.cpp" for number in range(len(names))]
        for source, name in zip(sources, names):
            (self.folder / source).write_text(f"#include <{name}>\n" * 2)
        done = self.configure(self.project(
            "project(headers)", "find_package(quern REQUIRED)",
            f"add_library(headers OBJECT {' '.join(sources)})",
            "target_link_libraries(headers quern::train)",
            "target_compile_options(headers PRIVATE -Wall -Wextra -fsyntax-only)"))
        self.assertEqual(done.returncode, 0, done.stderr)
        built = self.must(given.cmake, "--build", self.folder / "build", "--parallel", 2)
        self.assertNotIn("warning", built.stdout + built.stderr)

    def test_no_flags_or_folders_of_the_build_leak(self):
        for file in (self.prefix / "lib").rglob("quernTargets*.cmake"):
            text = file.read_text()
            for word in ("-march", "-W", str(given.build), str(SOURCE)):
                self.assertNotIn(word, text, file)

    def test_version(self):
        text = self.refusal("project(p)", "find_package(quern 0.2 REQUIRED)")
        self.assertIn('compatible with requested version "0.2"', text)
        self.assertRegex(text, r"quernConfig\.cmake, version: 0\.1\.\d")

    def test_other_kokkos(self):
        (self.folder / "KokkosConfig.cmake").write_text(
            "set(Kokkos_VERSION 4.6.0)\nset(Kokkos_DEVICES SERIAL)\n")
        text = self.refusal("project(p)", "find_package(quern REQUIRED)",
                            options=[f"-DKokkos_DIR={self.folder}"])
        self.assertIn(f"but {self.folder} has 4.6.0 for 'SERIAL'", text)
        self.assertIn("quern was built with Kokkos ", text)

    def test_without_c(self):
        done = self.configure(self.project("project(p LANGUAGES CXX)",
                                           "find_package(quern REQUIRED)"))
        if given.component == "quern_shared":
            self.assertEqual(done.returncode, 0, "a shared library needs nothing of C")
        else:
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("project(... LANGUAGES C CXX)", " ".join(done.stderr.split()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("build", "component", "cmake", "compiler", "mpiexec", "quern"):
        parser.add_argument(f"--{option}", required=True)
    given = parser.parse_args()
    unittest.main(verbosity=2, argv=sys.argv[:1])
