# SPDX-License-Identifier: Apache-2.0
"""Builds that cannot come to anything are refused by CMake, in a sentence."""
import shutil
import unittest

import configured
from configured import ConfiguredTest, ROOT


class BuildsTest(ConfiguredTest):
    def test_compilers(self):
        for name, version, too_old in (("GNU", "11.3.0", True), ("GNU", "12.1.0", False), ("Clang", "13.0.1", True),
                                       ("Clang", "14.0.6", False), ("AppleClang", "13.0", False)):
            said, stopped = self.script("QuernCompiler.cmake", CMAKE_CXX_COMPILER="c++", CMAKE_CXX_COMPILER_ID=name,
                                        CMAKE_CXX_COMPILER_VERSION=version)
            self.assertEqual(stopped, too_old, said)
            if too_old:
                self.assertIn(f"c++ is {name} {version}, too old for Quern (expected GCC 12, Clang 14", said)

    def test_build_types(self):
        said = self.refusal("-DCMAKE_BUILD_TYPE=Relase")
        self.assertIn("CMAKE_BUILD_TYPE is Relase, for which there are no flags", said)
        self.configure("-DCMAKE_BUILD_TYPE=Mine", "-DCMAKE_CXX_FLAGS_MINE=-O1")
        self.configure("-DCMAKE_BUILD_TYPE=None")
        self.configure()
        self.assertIn("-O3", self.flags())

    @unittest.skipUnless(shutil.which("ninja"), "no ninja")
    def test_several_configurations(self):
        self.assertIn("The generator Ninja Multi-Config has several", self.refusal("-G", "Ninja Multi-Config"))

    def test_part_of_another_project(self):
        """...has no tests, and leaves cpack to it."""
        self.source = self.folder
        lines = ("cmake_minimum_required(VERSION 3.22)", "project(outer LANGUAGES C CXX)",
                 f"add_subdirectory({ROOT} quern)", "add_executable(outer main.cpp)",
                 "target_link_libraries(outer PRIVATE quern::quern)")
        (self.folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
        (self.folder / "main.cpp").touch()
        self.configure("-UQUERN_ENABLE_TESTS")
        self.assertEqual(configured.read_cache(self.build)["QUERN_ENABLE_TESTS"], "OFF")
        self.assertFalse((self.build / "CPackConfig.cmake").exists())
        self.assertFalse((self.build / "quern/tests").exists())

    def test_build_among_the_sources(self):
        shutil.copy(ROOT / "CMakeLists.txt", self.folder)
        done = self.run_cmake("-S", self.folder, "-B", self.folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Quern is not built among its sources", configured.one_line(done.stderr))


if __name__ == "__main__":
    configured.main()
