#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What core_latency prints, and what it refuses: check_core_latency.py PROGRAM."""

import os
import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else ""


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, timeout=60)


class CoreLatency(unittest.TestCase):
    def setUp(self):
        self.cores = sorted(os.sched_getaffinity(0))[:2]

    def test_says_which_cores(self):
        if len(self.cores) < 2:
            self.skipTest("needs two cores")
        for words, (first, second) in (((), self.cores), (self.cores[::-1], self.cores[::-1])):
            result = run(*words)
            self.assertEqual(result.returncode, 0, result.stderr)
            match = re.fullmatch(rf"(\d+) ns from core {first} to core {second}\n", result.stdout)
            self.assertTrue(match, result.stdout)
            self.assertGreater(int(match[1]), 5)

    def test_refuses_other_words(self):
        for words, message in (((self.cores[0],), "expected two numbers"),
                               ((self.cores[0], self.cores[0]), "two different cores"),
                               ((self.cores[0], "1x"), "'1x' is no core"),
                               ((self.cores[0], -1), "'-1' is no core"),
                               ((self.cores[0], 10**9), "is no core")):
            result = run(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(message, result.stderr)

    def test_needs_two_cores(self):
        result = subprocess.run(["taskset", "-c", str(self.cores[0]), PROGRAM], capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("one core only", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
