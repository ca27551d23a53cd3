# SPDX-License-Identifier: Apache-2.0
import json
import os
import unittest
from unittest import mock

from fakes import CEILING, QUERN, FakesCase

import gemm_ceiling
import gemm_libraries


class GemmCeilingTest(FakesCase):
    main = staticmethod(gemm_ceiling.main)

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.json"
        numbers = mock.patch.object(gemm_libraries, "BLIS_NUMBERS", 6)
        numbers.start()
        self.addCleanup(numbers.stop)
        cores, environment = os.sched_getaffinity(0), dict(os.environ)
        self.addCleanup(os.sched_setaffinity, 0, cores)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(environment)))

    def ceiling(self, *words, program=None):
        return self.run_main("--program", program or self.program("ceiling", CEILING), "--quern",
                             self.program("quern", QUERN), "--workloads", "W1", "--rounds", 2,
                             "--json", self.out, *words)

    def test_best_library_sum_and_ratio(self):
        with mock.patch.object(gemm_libraries, "processor_flags", lambda: {"avx512f"}):
            status, text, errors = self.ceiling()
        self.assertEqual((status, errors), (0, ""))
        document = json.loads(self.out.read_text())
        result = document["results"][0]
        self.assertEqual(set(result["library_sum_us"]),
                         {"openblas:Haswell", "openblas:SkylakeX", "blis:generic", "blis:skx"})
        self.assertEqual({row["best"] for row in result["products"]}, {"openblas:SkylakeX"})
        self.assertAlmostEqual(result["best_sum_us"], 11e3)
        self.assertAlmostEqual(result["step_us"], 128 / 4000 * 1e6)
        self.assertAlmostEqual(result["step_over_products"], 32e3 / 11e3)
        self.assertEqual(list(document["left_out"]), ["onednn"])
        self.assertIn("onednn is left out", text)
        self.assertIn("2.91 times as long", text)

    def test_a_library_given_by_its_path(self):
        with mock.patch.object(gemm_libraries, "processor_flags", set):
            status, _, errors = self.ceiling("--library", "openblas=libplain.so", "--library",
                                             "mine=libopenblas.so.0")
        self.assertEqual((status, errors), (0, ""))
        sums = json.loads(self.out.read_text())["results"][0]["library_sum_us"]
        self.assertEqual(set(sums), {"openblas", "blis:generic", "mine:Haswell"})

    def test_nothing_to_measure(self):
        status, text, errors = self.ceiling(
            program=self.program("none", "import sys\nsys.exit('cannot open')\n"))
        self.assertEqual(status, 2)
        self.assertIn("there is no library to measure", errors)
        self.assertIn("openblas is left out", text)
        status, _, errors = self.ceiling(program="/nowhere/gemm_ceiling")
        self.assertEqual(status, 2)
        self.assertIn("QUERN_ENABLE_BENCHMARKS", errors)

    def test_usage_errors(self):
        for words in (["--library", "openblas"], ["--workloads", "gemm"], ["--rounds", "x"]):
            self.assertEqual(self.ceiling(*words)[0], 2, words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
