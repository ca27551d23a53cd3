# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check where there is no GPU, and the page it writes."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from fakes import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import replace_section  # noqa: E402

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
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
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
        with self.assertRaises(ValueError):
            replace_section.replaced("nothing here", "gpu-check", "x")
        self.assertIn("gpu-check: begin", (ROOT / "docs" / "gpu.md").read_text())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
