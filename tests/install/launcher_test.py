#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bin/quern of an installation for many processors: which program it becomes.

The launcher and the program for this processor are the real ones; the programs of other levels are
scripts that tell how they were started. A build with QUERN_PORTABLE has them all, takes three times
as long, and is tested with the best one that runs here.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

LEVELS = ["x86-64", "avx2", "avx512"]  # worst first
SCRIPT = '#!/bin/sh\necho "$(basename "$0"): $*"\nexit 7\n'
options = argparse.Namespace()


def level_of(program):
    """The level that a program says it is compiled for."""
    text = subprocess.run([program, "info"], capture_output=True, text=True, check=True).stdout
    line = next(line for line in text.splitlines() if line.startswith("kernels"))
    return line.split()[1].rstrip(":")


def best_of(program):
    """Of the programs of a build for many processors the best one that runs here; else the program itself."""
    for level in reversed(LEVELS):
        other = program.with_name(f"quern-{level}")
        if other.exists() and subprocess.run([other, "info"], capture_output=True).returncode == 0:
            return other
    return program


class LauncherTest(unittest.TestCase):
    def setUp(self):
        self.own = level_of(options.quern)
        if self.own not in LEVELS:
            self.skipTest(f"one level only on this processor: {self.own}")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = Path(folder.name)
        self.programs = self.prefix / "libexec" / "quern"
        self.programs.mkdir(parents=True)
        (self.prefix / "bin").mkdir()
        self.launcher = self.prefix / "bin" / "quern"
        shutil.copy(options.launcher, self.launcher)

    def install(self, level, program=None):
        target = self.programs / f"quern-{level}"
        if program:
            shutil.copy(program, target)
        else:
            target.write_text(SCRIPT)
            target.chmod(0o755)

    def start(self, *arguments, cpu=None):
        environment = {key: value for key, value in os.environ.items() if key != "QUERN_CPU"}
        if cpu is not None:
            environment["QUERN_CPU"] = cpu
        return subprocess.run(
            [self.launcher, *arguments], capture_output=True, text=True, env=environment
        )

    def test_becomes_the_program_for_this_processor(self):
        for level in LEVELS[: LEVELS.index(self.own)]:
            self.install(level)
        self.install(self.own, options.quern)
        result = self.start("info")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"kernels     {self.own}: ", result.stdout)
        self.assertEqual(self.start("info", cpu=self.own).returncode, 0)

    def test_a_wish_chooses_and_arguments_and_exit_status_pass(self):
        self.install("x86-64")
        self.install(self.own, options.quern)
        if self.own == "x86-64":
            self.skipTest("this processor runs one level only")
        result = self.start("train", "a b.toml", cpu="x86-64")
        self.assertEqual((result.stdout, result.returncode), ("quern-x86-64: train a b.toml\n", 7))

    def test_starts_through_a_link(self):
        self.install(self.own, options.quern)
        link = self.prefix / "link"
        link.symlink_to(self.launcher)
        result = subprocess.run([link, "--version"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_takes_the_best_there_is(self):
        self.install("x86-64")
        self.assertEqual(self.start("x").stdout, "quern-x86-64: x\n")

    def test_a_wish_that_cannot_be_met_is_refused_by_the_program(self):
        self.install(self.own, options.quern)
        for wish in ["AVX9", "neon"]:
            result = self.start("info", cpu=wish)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, f"^quern: error: QUERN_CPU={wish}: .*expected.*\n$")

    def test_an_empty_installation_says_where_it_looked(self):
        result = self.start("info")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"no program in {self.programs}", result.stderr)

    def test_a_program_that_does_not_start_is_named(self):
        broken = self.programs / f"quern-{self.own}"
        broken.write_bytes(b"\x7fELF, but no more")
        broken.chmod(0o755)
        result = self.start("info")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"cannot start {broken}", result.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--quern", required=True, type=Path)
    options, rest = parser.parse_known_args()
    options.quern = best_of(options.quern)
    unittest.main(verbosity=2, argv=["launcher_test", *rest])
