# SPDX-License-Identifier: Apache-2.0
"""The program gemm_ceiling with a BLAS of a few lines: check_gemm_ceiling.py PROGRAM LIBRARY."""
import json
import os
import subprocess
import sys
import unittest

PROGRAM, LIBRARY = sys.argv[1:3]


def measure(requests, library=LIBRARY, **environment):
    return subprocess.run([PROGRAM, library], input=requests, capture_output=True, text=True,
                          check=False, env={**os.environ, **environment})


class GemmCeilingProgramTest(unittest.TestCase):
    def test_all_forms_and_odd_sizes_are_right_and_timed(self):
        done = measure("nn 3 5 7\nnt 17 33 3\ntn 33 1 17\nnt 1 1 1\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, *answers = map(json.loads, done.stdout.splitlines())
        self.assertEqual(first, {"core": ""})
        self.assertEqual(len(answers), 4)
        for answer in answers:
            self.assertGreater(answer["seconds"], 0)

    def test_a_library_that_computes_something_else_is_refused(self):
        done = measure("nt 8 8 8\n", NAIVE_BLAS_WRONG="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("computes something else", done.stderr)

    def test_libraries_that_cannot_be_used(self):
        done = measure("", library="/nowhere/libblas.so")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere/libblas.so", done.stderr)
        done = measure("", library="libm.so.6")
        self.assertEqual(done.returncode, 1)
        self.assertIn("neither dnnl_sgemm nor cblas_sgemm", done.stderr)

    def test_bad_requests_are_refused(self):
        for request in ("xy 1 1 1\n", "nn 0 1 1\n", "nn 1 1\n", "tt 2 2 2\n", "nn a 1 1\n"):
            done = measure(request)
            self.assertEqual(done.returncode, 1, request)
            self.assertIn("was asked for something else", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1])
