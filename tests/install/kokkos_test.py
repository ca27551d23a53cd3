# SPDX-License-Identifier: Apache-2.0
"""Which Kokkos CMake takes: one that Quern knows, and the one that was asked for or none."""
import re
import shutil
import subprocess

import configured
from configured import ConfiguredTest, given


class KokkosTest(ConfiguredTest):
    def test_back_ends(self):
        for name in ("SYCL", "OPENACC", "OPENMPTARGET", "HPX"):
            kokkos = self.kokkos(f"set(Kokkos_DEVICES {name} SERIAL)")
            said = self.refusal(f"-DKokkos_DIR={kokkos}")
            self.assertIn(f"The Kokkos in {kokkos} was built for {name}, for which Quern has no kernels", said)
        self.configure(f"-DKokkos_DIR={self.kokkos('set(Kokkos_DEVICES OPENMP THREADS SERIAL)')}")

    def test_another_than_asked_for(self):
        old = self.kokkos(name="old/lib/cmake/Kokkos")
        (old / "KokkosConfigVersion.cmake").write_text("set(PACKAGE_VERSION 4.5.1)\n")
        for name, value in (("Kokkos_DIR", old), ("Kokkos_ROOT", self.folder / "old")):
            said = self.refusal("-UKokkos_DIR", f"-D{name}={value}")
            self.assertIn(f"{name} is {value}, but CMake took Kokkos ", said)
            self.assertIn(f"looked at: {old}/KokkosConfig.cmake", said)
            self.assertIn("4.5.1", said)
            self.assertIn(f"-U{name} looks for another", said)
        said = self.configure("-UKokkos_DIR", Kokkos_ROOT=str(self.folder / "old"))
        self.assertIn("The environment's Kokkos_ROOT is", said)
        new = self.kokkos(name="new/lib/cmake/Kokkos")
        (self.folder / "link").symlink_to(self.folder / "new")
        for option in (f"-DKokkos_DIR={new}", f"-DKokkos_ROOT={self.folder}/new/",
                       f"-DKokkos_ROOT={self.folder}/link", f"-DKokkos_ROOT={self.folder}/none;{self.folder}/new"):
            said = self.configure("-UKokkos_DIR", option)
            self.assertNotIn("CMake Warning", said)
            self.assertIn(f"/lib/cmake/Kokkos for ", said)
        # The newer choice does not count: the cache remembers the older one.
        said = self.run_cmake(f"-DKokkos_ROOT={self.folder}/old", self.build).stderr
        self.assertIn("-UKokkos_DIR looks again", configured.one_line(said))

    def test_newer_than_known(self):
        kokkos = self.kokkos("set(Kokkos_VERSION 6.0.0)", version="6.0.0")
        said = self.configure(f"-DKokkos_DIR={kokkos}")
        self.assertIn(f"Kokkos 6.0.0 in {kokkos} is newer than any", said)

    def test_gcc_12_behind_nvcc(self):
        version = subprocess.run([given.compiler, "-dumpfullversion"], text=True, capture_output=True,
                                 check=False).stdout
        if not re.match(r"12\.[2-5]\.", version):
            self.skipTest("the compiler is not GCC 12.2 to 12.5")
        for more, warns in (("", True), ("set(Kokkos_ENABLE_IMPL_VIEW_LEGACY ON)", False),
                            ("set(Kokkos_VERSION 4.6.2)", False)):
            kokkos = self.kokkos("set(Kokkos_ENABLE_CUDA ON)", "set(Kokkos_VERSION 5.2.2)", more)
            done = self.try_to_configure(f"-DKokkos_DIR={kokkos}", "-DQUERN_ENABLE_CUBLAS=OFF")
            self.assertEqual("behind nvcc miscompiles the View of Kokkos" in configured.one_line(done.stderr), warns)

    def test_summary(self):
        said = self.configure()
        self.assertRegex(said, r"-- Kokkos: \d\S+ in \S+ for \w+")
        self.assertRegex(said, r"-- MPI: no; HDF5: \d\S+ \S+; PNG: (yes|no); JPEG: (yes|no)")

    def test_users_have_found_it_in_a_function(self):
        """find_package(quern), with a libquern that nobody has built."""
        self.configure()
        package, user = self.folder / "package", self.folder / "user"
        shutil.copytree(self.build / "package/quern_library", package)
        (package / "quernTargets.cmake").write_text("add_library(quern::quern INTERFACE IMPORTED)\n")
        user.mkdir()
        lines = ("cmake_minimum_required(VERSION 3.22)", "project(user LANGUAGES C CXX)",
                 "function(find_it)", "find_package(Kokkos REQUIRED)", "endfunction()", "find_it()",
                 "find_package(quern REQUIRED)", "message(STATUS found)")
        (user / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
        others = [f"-D{name}={value}" for name, value in configured.read_cache(self.build).items()
                  if name.endswith("_DIR") and name != "Kokkos_DIR" and value.startswith("/")]
        for found in (lines[3], "add_library(k INTERFACE)\nadd_library(Kokkos::kokkos ALIAS k)"):
            (user / "CMakeLists.txt").write_text("\n".join(lines).replace(lines[3], found) + "\n")
            done = self.run_cmake("-S", user, "-B", user / "build", f"-Dquern_DIR={package}",
                                  f"-DKokkos_DIR={given.kokkos if found == lines[3] else self.folder}",
                                  "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", *others)
            self.assertIn("-- found", done.stdout, done.stderr)
            shutil.rmtree(user / "build")


if __name__ == "__main__":
    configured.main()
