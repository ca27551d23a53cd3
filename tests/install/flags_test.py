# SPDX-License-Identifier: Apache-2.0
"""The flags of the processor: what CMake adds to the compiler's, and finds out about it."""
import platform
import re
import subprocess
import unittest

import configured
from configured import ConfiguredTest, given

# As Spack's compiler wrapper: the target's flags for commands that compile or link, the linker's own for
# those that link, which are all that say nothing else.
WRAPPER = """#!/bin/bash
mode=ccld
for word in "$@"; do
  case "$word" in
    -E) mode=cpp; break ;;
    -c | -S) mode=cc; break ;;
  esac
done
case "$mode" in
  cpp) exec {0} "$@" ;;
  cc) exec {0} -march=x86-64-v4 "$@" ;;
  ccld) exec {0} -march=x86-64-v4 -Wl,-rpath,/usr/lib "$@" ;;
esac
"""
# As Kokkos' nvcc_wrapper where no GPU is: it answers for the compiler of the host only.
NVCC_WRAPPER = """#!/bin/bash
if [[ " $* " == *" --help=target "* || " $* " == *" -dM "* ]]; then
  [[ $1 == --host-only ]] || {{ echo "No input files specified" >&2; exit 1; }}
  shift
fi
exec {0} "$@"
"""
MUTE = """#!/bin/bash
[[ " $* " != *" -dM "* ]] || exit 1
exec {0} "$@"
"""


def is_gcc_12():
    macros = subprocess.run([given.compiler, "-E", "-dM", "-x", "c++", "/dev/null"], text=True,
                            capture_output=True, check=True).stdout
    return re.search(r"__GNUC__ 12\b", macros) and "__clang__" not in macros


def on_x86_64(test):
    return unittest.skipUnless(platform.machine() == "x86_64", "flags of x86-64")(test)


class FlagsTest(ConfiguredTest):
    def wrapper(self, name, text):
        return self.command_file(name, text.format(given.compiler))

    @on_x86_64
    def test_wide_stores_are_off_for_gcc_12_however_it_is_called(self):
        if not is_gcc_12():
            self.skipTest("the compiler is not GCC 12")
        for name, options in (
                ("spack", [f"-DCMAKE_CXX_COMPILER={self.wrapper('spack/c++', WRAPPER)}", "-DQUERN_ARCH="]),
                ("linker's flags", ["-DCMAKE_CXX_FLAGS=-Wl,-z,relro", "-DQUERN_ARCH=x86-64-v4"]),
                ("nvcc_wrapper", [f"-DCMAKE_CXX_COMPILER={self.wrapper('nvcc_wrapper', NVCC_WRAPPER)}",
                                  "-DQUERN_ARCH=x86-64-v4"]),
                ("plain", ["-DQUERN_ARCH=x86-64-v4"])):
            with self.subTest(name):
                said = self.configure(*options)
                self.assertIn("-mprefer-vector-width=512", self.flags())
                self.assertIn("-mstore-max=128", self.flags())
                self.assertIn("-- Processor: x86-64-v4, tuned for ", said)
        self.configure("-DQUERN_ARCH=x86-64-v3")
        self.assertNotIn("-mstore-max=128", self.flags())

    @on_x86_64
    def test_compiler_that_does_not_answer(self):
        if not is_gcc_12():
            self.skipTest("the compiler is not GCC 12")
        said = self.configure(f"-DCMAKE_CXX_COMPILER={self.wrapper('c++', MUTE)}", "-DQUERN_ARCH=x86-64-v3")
        self.assertIn("does not print its macros with", said)
        self.assertIn("-mstore-max=128", self.flags())

    @on_x86_64
    def test_flags_of_the_site_count(self):
        processor = "-march=x86-64-v2"
        for options, environment in (([f"-DCMAKE_CXX_FLAGS=-g {processor}"], {}),
                                     ([], {"CXXFLAGS": processor})):
            said = self.configure(*options, **environment)
            self.assertIn(f"QUERN_ARCH is empty and not native by default, because CMAKE_CXX_FLAGS has {processor}",
                          said)
            self.assertEqual([word for word in self.flags() if word.startswith("-march")], [processor])
        self.configure(f"-DCMAKE_CXX_FLAGS={processor}", "-DQUERN_ARCH=x86-64-v3")
        self.assertIn("-march=x86-64-v3", self.flags())
        self.configure("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=x86_64")
        self.assertEqual([word for word in self.flags() if word.startswith("-march")], [])
        self.assertNotIn("by default", self.configure())
        self.assertIn("-march=native", self.flags())

    def test_unknown_processor(self):
        self.assertIn("does not know QUERN_ARCH=zen9", self.refusal("-DQUERN_ARCH=zen9"))

    @on_x86_64
    def test_kokkos_that_was_built_for_a_processor(self):
        """Its flags come after ours."""
        add = "set_property(TARGET Kokkos::kokkoscore APPEND PROPERTY INTERFACE_COMPILE_OPTIONS {})"
        option = f"-DKokkos_DIR={self.kokkos(add.format('$<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v2>'))}"
        said = self.configure(option, "-DQUERN_ARCH=x86-64-v4")
        self.assertIn("compiled with -march=x86-64-v2: this overrides QUERN_ARCH=x86-64-v4", said)
        self.assertIn("-- Processor: x86-64-v2", said)
        self.assertIn("-march=x86-64-v4 -march=x86-64-v2", said)
        if is_gcc_12():  # files without Kokkos are for AVX-512
            self.assertIn("-mstore-max=128", self.flags())
        self.assertNotIn("overrides", self.configure(option, "-DQUERN_ARCH="))
        self.assertNotIn("overrides", self.configure(option, "-DQUERN_ARCH=x86-64-v2"))
        said = self.refusal(option, "-DQUERN_PORTABLE=ON")
        self.assertIn("QUERN_PORTABLE is for any processor, but the Kokkos in", said)
        self.assertIn("Kokkos_ARCH_", said)


if __name__ == "__main__":
    configured.main()
