# SPDX-License-Identifier: Apache-2.0
"""package.py: its variants, dependencies, conflicts and CMake options."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from recipe import ROOT, dependencies, directives, package, refusals, variants
from specs import Spec

GPUS = ("+cuda cuda_arch=80", "+cuda cuda_arch=90", "+rocm amdgpu_target=gfx90a")


class RecipeTest(unittest.TestCase):
    def test_variants(self):
        self.assertLessEqual(
            {"mpi", "nccl", "openmp", "cuda", "rocm", "shared"}, set(variants())
        )
        on = {name for name, options in variants().items() if options["default"] is True}
        self.assertEqual(on, {"mpi", "openmp"})
        for name in ("cuda_arch", "amdgpu_target"):
            self.assertIs(variants()[name]["multi"], False, "Kokkos takes one GPU type")

    def test_conditions_name_variants_that_exist(self):
        for one in directives("depends_on") + directives("conflicts") + directives("requires"):
            texts = [one.options.get("when", "")]
            texts += one.args if one.kind == "conflicts" else ()
            for text in texts:
                self.assertLessEqual(set(Spec(text).variants), set(variants()), one)

    def test_few_dependencies_on_processors(self):
        self.assertLessEqual(len({Spec(one).name for one in dependencies("quern")}), 15)
        for gpus, wanted in (
            ("~cuda~rocm", {"kokkos~cuda", "kokkos~rocm"}),
            ("+cuda~rocm cuda_arch=80", {"kokkos~rocm"}),
            ("~cuda+rocm amdgpu_target=gfx90a", {"kokkos~cuda"}),
        ):
            found = {"kokkos~cuda", "kokkos~rocm"} & set(dependencies(f"quern{gpus}"))
            self.assertEqual(found, wanted, gpus)
        self.assertNotIn("mpi", dependencies("quern~mpi"))
        self.assertIn("hdf5~mpi", dependencies("quern~mpi"))
        self.assertIn("kokkos~openmp", dependencies("quern~openmp"))
        self.assertNotIn("kokkos+openmp", dependencies("quern~openmp"))

    def test_libraries_are_those_cmake_looks_for(self):
        texts = [
            path.read_text(encoding="utf-8")
            for path in (ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("Quern*.cmake"))
        ]
        wanted = set(re.findall(r"(?m)^ *find_package\((\w+) ?([\d.]*) ", "".join(texts)))
        known = {
            "Kokkos": "kokkos",
            "HDF5": "hdf5",
            "ZLIB": "zlib-api",
            "PNG": "libpng",
            "JPEG": "jpeg",
            "fmt": "fmt",
            "nlohmann_json": "nlohmann-json",
            "tomlplusplus": "tomlplusplus",
            "CLI11": "cli11",
            "xxHash": "xxhash",
            "MPI": "mpi",
            "GTest": "googletest",
            "CUDAToolkit": "cuda",
            "NCCL": "nccl",
        }
        self.assertEqual({name for name, _ in wanted}, set(known))
        have = {}
        for one in dependencies("quern+nccl+cuda cuda_arch=80", tested=True):
            have.setdefault(Spec(one).name, []).extend(Spec(one).others)
        for name, oldest in wanted:
            newest = "5" if name == "Kokkos" else ""
            self.assertEqual(have[known[name]], [f"@{oldest}:{newest}"] if oldest else [], name)
        # Of what is installed and not built: install.md names the same version.
        self.assertEqual(have["python"], ["@3.11:"])
        self.assertIn("| Python | 3.11,", (ROOT / "docs" / "install.md").read_text(encoding="utf-8"))
        least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", texts[0])[1]
        self.assertIn(f"cmake@{least}:", dependencies("quern"))

    def test_gpu_type_goes_to_kokkos_and_nccl(self):
        for gpu in GPUS:
            self.assertIn(f"kokkos{gpu}", dependencies(f"quern{gpu}"))
            self.assertEqual(refusals(f"quern+nccl{gpu}"), [])
        self.assertIn("nccl@2.20: cuda_arch=90", dependencies("quern+nccl+cuda cuda_arch=90"))
        self.assertIn("kokkos+cuda+wrapper", dependencies("quern+cuda cuda_arch=90"))
        rccl = dependencies("quern+nccl+rocm amdgpu_target=gfx90a")
        self.assertIn("rccl@6.2: amdgpu_target=gfx90a", rccl)
        for gpu in GPUS:
            names = {Spec(one).name for one in dependencies(f"quern{gpu}")}
            self.assertFalse(names & {"nccl", "rccl"})

    def test_conflicts(self):
        self.assertEqual(refusals("quern"), [])
        self.assertEqual(refusals("quern~mpi~openmp+shared"), [])
        for spec, word in (
            ("quern+cuda", "cuda_arch"),
            ("quern+rocm", "amdgpu_target"),
            ("quern+cuda+rocm cuda_arch=80 amdgpu_target=gfx90a", "one of"),
            ("quern+nccl", "+cuda or +rocm"),
            ("quern+nccl~mpi+cuda cuda_arch=80", "+mpi"),
        ):
            with self.subTest(spec):
                self.assertEqual(len(refusals(spec)), 1, refusals(spec))
                self.assertIn(word, refusals(spec)[0])
        for one in directives("conflicts") + directives("requires"):
            if "msg" in one.options:
                self.assertLess(len(one.options["msg"]), 80)
        self.assertTrue(all("msg" in one.options for one in directives("conflicts")))

    def test_kokkos_that_the_recipe_refuses(self):
        refused = [(*one.args, one.options.get("when", "")) for one in directives("conflicts")]
        for name in ("sycl", "openmptarget", "hpx"):
            self.assertIn((f"^kokkos+{name}", ""), refused)
        self.assertIn(("%gcc@12.2:12.5", "+cuda ^kokkos@4.7:"), refused)
        self.assertIn("kokkos@4.6:5", dependencies("quern"))

    def test_cmake_options(self):
        args = package("quern").cmake_args()
        for wanted in (
            "-DQUERN_ENABLE_MPI:BOOL=ON",
            "-DQUERN_ENABLE_NCCL:BOOL=OFF",
            "-DQUERN_ENABLE_CUBLAS:BOOL=OFF",
            "-DQUERN_ENABLE_PNG:BOOL=ON",
            "-DQUERN_ENABLE_JPEG:BOOL=ON",
            "-DQUERN_ENABLE_TESTS:BOOL=OFF",
            "-DBUILD_SHARED_LIBS:BOOL=OFF",
            "-DQUERN_ARCH:STRING=",
        ):
            self.assertIn(wanted, args)
        self.assertFalse([one for one in args if "BACKEND" in one or "COMPILER" in one])
        self.assertIn("-DQUERN_ENABLE_MPI:BOOL=OFF", package("quern~mpi").cmake_args())
        self.assertIn("-DBUILD_SHARED_LIBS:BOOL=ON", package("quern+shared").cmake_args())
        self.assertIn("kokkos+shared", dependencies("quern+shared"))
        self.assertNotIn("kokkos+shared", dependencies("quern"))
        options = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        for name in ("BUILD_SHARED_LIBS", "QUERN_ENABLE_MPI", "QUERN_ENABLE_TESTS"):
            self.assertIn(f"option({name} ", options)

    def test_commit_of_sources_without_git(self):
        quern = package("quern")
        self.assertFalse([one for one in quern.cmake_args() if "QUERN_COMMIT" in one])
        quern.spec.variants["commit"] = SimpleNamespace(value="0123456789abcdef" * 2 + "01234567")
        self.assertIn("-DQUERN_COMMIT:STRING=0123456789ab", quern.cmake_args())

    def test_tests_are_built_when_they_are_run(self):
        self.assertIn("-DQUERN_ENABLE_TESTS:BOOL=ON", package("quern", tested=True).cmake_args())
        self.assertIn("googletest+gmock", dependencies("quern", tested=True))
        self.assertNotIn("googletest+gmock", dependencies("quern"))

    def test_check_fails_without_a_test(self):
        quern = package("quern", tested=True)
        with tempfile.TemporaryDirectory() as folder:
            quern.build_directory = folder
            tests = Path(folder) / "CTestTestfile.cmake"
            for label, passes in (("", False), ("style", False), ("unit", True), ("mpi", True)):
                tests.write_text(
                    f'add_test(one "true")\nset_tests_properties(one PROPERTIES LABELS "{label}")\n'
                )
                with self.subTest(label):
                    if passes:
                        quern.check()
                    else:
                        self.assertRaises(subprocess.CalledProcessError, quern.check)

    def test_builds_its_own_checkout(self):
        self.assertEqual(package("quern").git, f"file://{ROOT}")
        self.assertEqual([one.args for one in directives("version")], [("main",)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
