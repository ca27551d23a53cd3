# SPDX-License-Identifier: Apache-2.0
"""The smoke tests of `spack test run quern`, on the program just built: they pass, and they fail when
the program does not do what they are about. Usage: smoke_test.py PROGRAM"""

import contextlib
import os
import sys
import tempfile
import unittest
from pathlib import Path

from recipe import ROOT, api, package

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else ""
FORGETFUL = """#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test "$1" != checkpoint || head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \\n' && echo
"""
MUTE = """#!/bin/sh
echo
"""


@contextlib.contextmanager
def installed(program, spec="quern"):
    """The package of spec, installed in a new folder that is the current one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder) / "prefix"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "share" / "quern").mkdir(parents=True)
        (prefix / "share" / "quern" / "recipes").symlink_to(ROOT / "recipes")
        quern = prefix / "bin" / "quern"
        if "\n" in program:
            quern.write_text(program, encoding="utf-8")
            quern.chmod(0o755)
        else:
            quern.symlink_to(Path(program).resolve())
        os.chdir(folder)
        try:
            yield package(spec, str(prefix))
        finally:
            os.chdir(before)


class SmokeTest(unittest.TestCase):
    def test_program_passes(self):
        with installed(PROGRAM) as quern:
            quern.test_resume()
            try:
                quern.test_two_ranks()
            except api.SkipTest as reason:
                self.skipTest(str(reason))

    def test_one_rank_build_has_no_ranks_to_compare(self):
        with installed(PROGRAM, "quern~mpi") as quern, self.assertRaises(api.SkipTest):
            quern.test_two_ranks()

    def test_other_weights_are_noticed(self):
        with installed(FORGETFUL) as quern, self.assertRaisesRegex(AssertionError, "in one go"):
            quern.test_resume()
        with installed(FORGETFUL) as quern, self.assertRaisesRegex(AssertionError, "two ranks"):
            try:
                quern.test_two_ranks()
            except api.SkipTest as reason:
                self.skipTest(str(reason))

    def test_no_hash_is_noticed(self):
        with installed(MUTE) as quern, self.assertRaisesRegex(AssertionError, "SHA-256"):
            quern.test_resume()


if __name__ == "__main__":
    unittest.main(verbosity=2)
