# SPDX-License-Identifier: Apache-2.0
"""What is asked of an nvcc: the vendors' headers that it finds, and the folders that it links from.
A toolkit of the test's own, whose nvcc hands on to the host's compiler, reached by a wrapper elsewhere
as scripts/test makes one."""
import argparse
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from kokkos_overlay import ATOMICS, CONFIG, CUDA, SETUP
from nvcc import Nvcc

NVCC = """#!/bin/sh
if [ "$1" = --dryrun ]; then
  echo '#$ TOP={toolkit}/bin/..' >&2
  echo '#$ LIBRARIES=  "-L{toolkit}/lib/stubs" "-L{toolkit}/lib"' >&2
  exit
fi
while [ $# -gt 0 ]; do
  case "$1" in
    -x | -Xcudafe | -gencode) shift ;;
    -Xcompiler) hand_on="$hand_on $2"; shift ;;
    -E) hand_on="$hand_on -E -x c++ -nostdinc" ;;
    --*) ;;
    *) hand_on="$hand_on $1" ;;
  esac
  shift
done
exec {compiler} -I{toolkit}/include -L{toolkit}/lib $hand_on
"""
# Takes what includes no Kokkos.
OLD_NVCC = """#!/bin/sh
case "$*" in
  *' -E '*) printf '#define NCCL_MAJOR 2\\n#define NCCL_MINOR 20\\n' ;;
  --version | *comm_nccl*) ;;
  *) exit 1 ;;
esac
"""
HERE = Path(__file__).resolve().parent
given = None


class NvccTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.toolkit = self.folder / "toolkit"
        for name in ("bin", "include", "lib", "lib/stubs"):
            (self.toolkit / name).mkdir(parents=True)
        real = self.program(self.toolkit / "bin/nvcc",
                            NVCC.format(toolkit=self.toolkit, compiler=given.compiler))
        (self.folder / "links").mkdir()
        self.nvcc = Nvcc(str(self.program(self.folder / "links/nvcc", f'#!/bin/sh\nexec "{real}" "$@"\n')))

    def program(self, path, text):
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def nccl(self, major, minor):
        (self.toolkit / "include/nccl.h").write_text(
            f"#define NCCL_MAJOR {major}\n#define NCCL_MINOR {minor}\n", encoding="utf-8")

    def compile(self, name, text, *options):
        source = self.folder / "source.cpp"
        source.write_text(text, encoding="utf-8")
        subprocess.run([given.compiler, "-fPIC", source, "-o", name, *options], check=True)
        return name

    def test_headers_that_are_missing_or_too_old(self):
        self.assertEqual(list(self.nvcc.vendors([])), [])
        (self.toolkit / "include/cublasLt.h").touch()
        self.nccl(2, 19)
        self.assertEqual(list(self.nvcc.vendors([])), ["linalg/cublas"])
        self.nccl(2, 20)
        self.assertEqual(list(self.nvcc.vendors([])), ["comm/nccl", "linalg/cublas"])
        self.nccl(3, 0)
        self.assertEqual(list(self.nvcc.vendors([])), ["comm/nccl", "linalg/cublas"])

    def test_libraries_of_the_toolkit_and_of_the_user(self):
        # libnccl.so lies in the toolkit and needs a library that only the user's path leads to.
        users = self.folder / "users"
        users.mkdir()
        self.compile(users / "libcudauser.so", 'extern "C" void cudaUser() {}', "-shared")
        self.compile(self.toolkit / "lib/libnccl.so", 'extern "C" { void cudaUser(); void ncclOne() { cudaUser(); } }',
                     "-shared", "-L", users, "-lcudauser")
        good = self.compile(self.folder / "good.o", 'extern "C" void ncclOne(); void f() { ncclOne(); }', "-c")
        bad = self.compile(self.folder / "bad.o", 'extern "C" void ncclTwo(); void f() { ncclTwo(); }', "-c")
        with mock.patch.dict(os.environ, LD_LIBRARY_PATH=str(users)):
            self.assertIsNone(self.nvcc.link("comm/nccl", [good], self.folder))
            self.assertIn("ncclTwo", self.nvcc.link("comm/nccl", [bad], self.folder))

    def installed_kokkos(self):
        """What the overlay needs of Kokkos' headers."""
        texts = {CONFIG: "".join(f"/* #undef {name} */\n" for name in CUDA.switches),
                 ATOMICS: f"/* #undef {CUDA.atomics} */\n"}
        for name, headers in CUDA.includes.items():
            texts |= {name: "#endif\n", **dict.fromkeys(headers, "")}
        for name, text in texts.items():
            file = self.folder / "kokkos" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return self.folder / "kokkos"

    def assert_skipped(self, kokkos, reason):
        self.program(self.folder / "links/nvcc", OLD_NVCC)
        done = subprocess.run(
            [sys.executable, "-B", HERE / "compile_kernels.py", "cuda", HERE.parents[1] / "src", self.folder / "build",
             "--kokkos", kokkos, "--only", "^(comm/nccl|network)/"], capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{self.folder / 'links'}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertRegex(done.stdout, f"^skipped: {reason}")

    def test_nvcc_that_does_not_take_kokkos(self):
        self.assert_skipped(self.installed_kokkos(), "nvcc does not compile the installed Kokkos' own headers")

    def test_kokkos_without_headers_for_cuda(self):
        kokkos = self.installed_kokkos()
        (kokkos / CUDA.includes[SETUP][0]).unlink()
        self.assert_skipped(kokkos, "the installed Kokkos gives no overlay: .* is missing")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    given = parser.parse_args()
    unittest.main(verbosity=2, argv=sys.argv[:1])
