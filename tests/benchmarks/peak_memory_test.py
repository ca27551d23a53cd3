# SPDX-License-Identifier: Apache-2.0
"""The memory that steps take beside the program that takes them."""
import argparse
import sys
import unittest
from pathlib import Path

from fakes import ROOT  # noqa: F401, puts the benchmarks on the path

import peak_memory
from workloads import ProblemError

MIB = 2**20


def holding(mib):
    return [sys.executable, "-c", f"block = b'x' * ({mib} * 2**20)"]


class PeakMemoryTest(unittest.TestCase):
    def test_the_most_that_was_resident(self):
        more = peak_memory.peak_bytes(holding(256)) - peak_memory.peak_bytes(holding(0))
        self.assertAlmostEqual(more / MIB, 256, delta=40)  # the parent counts in small ones

    def test_a_program_that_fails_is_shown(self):
        with self.assertRaisesRegex(ProblemError, "status 3: no such recipe"):
            peak_memory.peak_bytes([sys.executable, "-c", "print('no such recipe'); raise SystemExit(3)"])

    def test_programs_are_subtracted(self):
        asked, sizes = [], {"info": 30, "nothing": 500, "step": 1030, "fused": 2500}

        def fake(command):
            asked.append(command)
            return next(size * MIB for word, size in sizes.items() if word in command)

        original, peak_memory.peak_bytes = peak_memory.peak_bytes, fake
        self.addCleanup(setattr, peak_memory, "peak_bytes", original)
        rows = peak_memory.measure(argparse.Namespace(
            recipe=Path("r.toml"), set=["data.global_batch=32"], quern="quern", variant=["fused"]))
        self.assertEqual(rows, [("Quern", 1000 * MIB), ("PyTorch, fused", 2000 * MIB)])
        self.assertEqual(asked[0][-2:], ["--set", "data.global_batch=32"])
        self.assertRegex(peak_memory.table(rows), r"Quern +1000 MiB +0\.50\nPyTorch, fused +2000 MiB +1\.00$")


if __name__ == "__main__":
    unittest.main()
