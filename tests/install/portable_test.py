# SPDX-License-Identifier: Apache-2.0
"""QUERN_PORTABLE: the build folders of all levels find the same libraries and have the same flags."""
import platform
import re
import shutil
import unittest

import configured
from configured import ConfiguredTest, given, read_cache

OWN = {"QUERN_ARCH", "QUERN_CPU_LEVEL", "QUERN_CPU_LEVEL_OF", "QUERN_ENABLE_TESTS", "CMAKE_HOME_DIRECTORY",
       "CMAKE_CACHEFILE_DIR"}
ALIKE = re.compile(r"CMAKE_(C|CXX|EXE|SHARED|MODULE|STATIC|INSTALL|BUILD)|MPI|HDF5|Kokkos|QUERN|fmt|xxHash|PNG")


@unittest.skipUnless(platform.machine() == "x86_64", "other processors have one level")
class PortableTest(ConfiguredTest):
    def test_levels_are_alike(self):
        mpicc = shutil.which("mpicc")
        mpi = self.command_file("mpi/bin/mpicc", f'#!/bin/sh\nexec {mpicc} "$@"\n')
        self.configure("-DQUERN_PORTABLE=ON", "-DQUERN_ENABLE_MPI=ON", f"-DMPI_C_COMPILER={mpi}",
                       f"-DMPIEXEC_EXECUTABLE={mpi}", "-DCMAKE_C_FLAGS=-DC_FLAG", "-DCMAKE_CXX_FLAGS=-DA=1 -DB",
                       "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,now",
                       "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=OFF", "-DQUERN_REQUIRE_BACKEND=OPENMP",
                       "-DCMAKE_MODULE_PATH=/nowhere", f"-DKokkos_ROOT={given.kokkos}/../../..")
        top = {name: value for name, value in read_cache(self.build).items() if ALIKE.match(name)}
        for level in ("avx2", "avx512"):
            done = self.run_cmake("--build", self.build, "--target", f"quern_{level}-configure")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            cache = read_cache(self.build / "levels" / level)
            differ = {name: (value, cache.get(name)) for name, value in top.items()
                      if name not in OWN and not name.endswith("-ADVANCED") and cache.get(name) != value}
            self.assertEqual(differ, {}, level)
            self.assertEqual(cache["MPI_C_COMPILER"], str(mpi))

    def test_levels_are_configured_again_after_a_change_only(self):
        self.configure("-DQUERN_PORTABLE=ON")
        target = ("--build", self.build, "--target", "quern_avx2-configure")
        self.assertEqual(self.run_cmake(*target).returncode, 0)
        self.assertEqual(self.run_cmake(self.build).returncode, 0)
        self.assertNotIn("Configuring done", self.run_cmake(*target).stdout)
        self.assertEqual(self.run_cmake("-DCMAKE_C_FLAGS=-DOTHER", self.build).returncode, 0)
        self.assertIn("Configuring done", self.run_cmake(*target).stdout)
        self.assertEqual(read_cache(self.build / "levels/avx2")["CMAKE_C_FLAGS"], "-DOTHER")

    def test_contradictions(self):
        said = self.refusal("-DQUERN_PORTABLE=ON", "-DQUERN_ARCH=znver3")
        self.assertIn("QUERN_PORTABLE is for any processor, and QUERN_ARCH=znver3 for one", said)
        said = self.refusal("-DQUERN_PORTABLE=ON", "-DQUERN_CPU_LEVEL=avx")
        self.assertIn("QUERN_CPU_LEVEL is 'avx' (expected one of x86-64;avx2;avx512)", said)


if __name__ == "__main__":
    configured.main()
