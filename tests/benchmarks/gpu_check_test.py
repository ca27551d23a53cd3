# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check where there is no GPU, and the page it writes."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from fakes import ROOT

PAGE = "before\n<!-- gpu-check: begin -->\nold\n<!-- gpu-check: end -->\nafter\n"


class GpuCheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tool(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run_check(self, *words):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        done = subprocess.run([ROOT / "scripts" / "gpu-check", *words], env=environment,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_wrong_words(self):
        for words, said in ((("--nope",), "unknown option '--nope'"), (("--build",), "needs a value"),
                            (("--only", "tests,fun"), "unknown step 'fun'")):
            status, _, errors = self.run_check(*words)
            self.assertEqual(status, 2)
            self.assertIn(said, errors)

    def test_no_gpu_is_one_message(self):
        self.tool("nvidia-smi", "exit 9")
        status, output, errors = self.run_check()
        self.assertEqual((status, output), (2, ""))
        self.assertRegex(errors, r"^gpu-check: error: no GPU: .*\n$")

    def test_no_build_is_one_message(self):
        self.tool("nvidia-smi", "echo 'Some GPU, 1.2'")
        status, _, errors = self.run_check("--build", str(self.folder))
        self.assertEqual(status, 2)
        self.assertRegex(errors, r"^gpu-check: error: no build for GPUs in .*\n$")

    def make_build(self):
        """(a build of programs that do nothing, a page)"""
        build = self.folder / "build"
        (build / "bin").mkdir(parents=True)
        (build / "CMakeCache.txt").write_text("QUERN_ENABLE_NCCL:BOOL=ON\n")
        page = self.folder / "gpu.md"
        page.write_text(PAGE)
        self.tool("nvidia-smi", "echo 'Some GPU, 1.2'")
        self.tool("cmake", "exit 0")
        self.tool("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.1'")
        self.tool("build/bin/quern", "echo 'commit      abc'; echo 'nccl        NCCL 2.28.9'")
        return build, page

    def test_a_build_that_fails_is_one_message(self):
        build, page = self.make_build()
        self.tool("cmake", "exit 1")
        status, _, errors = self.run_check("--build", str(build), "--only", "tests", "--out", str(page))
        self.assertEqual(status, 2)
        self.assertRegex(errors, r"gpu-check: error: the build in .* fails\n$")
        self.assertEqual(page.read_text(), PAGE)

    def test_a_folder_that_recipes_do_not_name_is_refused(self):
        build, _ = self.make_build()
        status, _, errors = self.run_check("--build", str(build), "--data", str(self.folder))
        self.assertEqual(status, 2)
        self.assertRegex(errors, r"^gpu-check: error: --data .*: expected a folder called data, .*\n$")

    def test_ctest_without_nccl(self):
        build, page = self.make_build()
        (build / "CMakeCache.txt").write_text("QUERN_ENABLE_NCCL:BOOL=OFF\n")
        self.tool("ctest", f"echo \"$QUERN_SHARE_GPU $*\" >> {self.folder}/ctest.log")
        status, _, errors = self.run_check("--build", str(build), "--only", "tests", "--out", str(page))
        self.assertEqual(status, 0, errors)
        self.assertEqual((self.folder / "ctest.log").read_text().splitlines(),
                         [f"1 --test-dir {build} -L ^{label}$ --no-tests=error --output-on-failure"
                          for label in ("unit", "gpu", "e2e")])

    def test_page_says_what_passed_and_what_failed(self):
        build, page = self.make_build()
        self.tool("ctest", "case \"$*\" in *nccl*) echo broken; exit 8 ;; esac")
        status, output, _ = self.run_check("--build", str(build), "--only", "tests", "--out", str(page))
        self.assertEqual(status, 1)
        self.assertIn("broken", output)
        text = page.read_text()
        self.assertIn("GPU and driver: Some GPU, 1.2; CUDA release 13.0; NCCL 2.28.9; Quern abc. "
                      "Steps: tests.\n", text)
        self.assertIn("| ctest -L unit | passed |\n| ctest -L gpu | passed |\n| ctest -L e2e | passed |\n"
                      "| ctest -L nccl | **failed** |", text)
        self.assertTrue(text.startswith("before\n<!-- gpu-check: begin -->\n"), text)
        self.assertTrue(text.endswith("\n<!-- gpu-check: end -->\nafter\n"), text)
        self.assertNotIn("old", text)

    def test_page_says_what_was_left_out(self):
        build, page = self.make_build()
        status, output, _ = self.run_check("--build", str(build), "--cpu", str(self.folder / "none"),
                                           "--only", "resume,peers", "--out", str(page))
        self.assertEqual(status, 0)
        left_out = (f"resume (no build for processors in {self.folder}/none), "
                    "peers (no --python with PyTorch)")
        self.assertIn(f"Quern abc. Steps: none. Left out: {left_out}.\n", page.read_text())
        self.assertIn(f"0 failed; left out: {left_out}\n", output)

    def test_page_without_a_section_is_refused(self):
        build, page = self.make_build()
        page.write_text("nothing here")
        status, _, errors = self.run_check("--build", str(build), "--cpu", str(self.folder / "none"),
                                           "--only", "resume", "--out", str(page))
        self.assertEqual(status, 1)
        self.assertIn(f"{page}: no lines '<!-- gpu-check: begin -->'", errors)
        self.assertEqual(page.read_text(), "nothing here")

    def test_the_page_of_the_documents_has_the_section(self):
        self.assertIn("gpu-check: begin", (ROOT / "docs" / "gpu.md").read_text())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
