# SPDX-License-Identifier: Apache-2.0
"""Programs of packages outside scripts/setup's list are kept from the tests, and found in a build:
against a dpkg database of the test's own."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "scripts/lib/listed_programs.py"


@unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg")
class ListedProgramsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.links = self.folder / "links"
        self.database = self.folder / "dpkg"
        for folder in (self.links, self.database / "info", self.database / "updates"):
            folder.mkdir(parents=True)
        (self.database / "info/format").write_text("1\n")
        self.status = ""
        self.package("base", ["cat"], "Priority: required")
        self.package("listed", ["head"], "Depends: absent | below (>= 1), virtual")
        self.package("below", ["tail"])
        self.package("behind", ["wc"], "Provides: virtual (= 1)")
        self.package("stranger", ["sed", "tr"])
        self.cache = self.folder / "CMakeCache.txt"

    def package(self, name, programs, *fields):
        lines = ["Package: " + name, "Status: install ok installed", "Version: 1",
                 "Architecture: all", "Maintainer: x <x@example.invalid>", "Description: x", *fields]
        self.status += "\n".join(lines) + "\n\n"
        (self.database / "status").write_text(self.status)
        files = "".join(f"/usr/bin/{program}\n" for program in programs)
        (self.database / f"info/{name}.list").write_text("/.\n/usr\n/usr/bin\n" + files)

    def run_tool(self, *words, path=None):
        done = subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True,
                              env={**os.environ, "DPKG_ADMINDIR": str(self.database),
                                   "PATH": path or os.environ["PATH"]}, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_path_has_the_list_what_it_needs_and_the_base(self):
        self.assertEqual(self.run_tool("path", self.links, "listed")[0], 0)
        names = {link.name for link in self.links.iterdir() if link.is_symlink()}
        self.assertEqual(names, {"cat", "head", "tail", "wc"})

    def test_program_that_is_asked_for(self):
        status, said = self.run_tool("path", self.links, "listed", "program:tr", "program:cat")
        self.assertEqual(status, 0)
        self.assertIn("tr", said.split())
        self.assertNotIn("cat", said.split())
        done = subprocess.run([self.links / "tr", "a", "b"], input="aa", capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout, "bb")
        self.assertFalse((self.links / "sed").exists())

    def test_strangers_in_a_build_are_named(self):
        self.cache.write_text("GOOD:FILEPATH=/usr/bin/head\nBAD:FILEPATH=/usr/bin/sed\n"
                              "CMAKE_CXX_COMPILER_LAUNCHER:STRING=tr\nOWN:PATH=/nowhere\n")
        self.assertEqual(self.run_tool("check", self.cache, "listed"), (
            1, "BAD=/usr/bin/sed: package stranger\n"
               f"CMAKE_CXX_COMPILER_LAUNCHER={shutil.which('tr')}: package stranger\n"))
        self.assertEqual(self.run_tool("check", self.cache, "listed", "program:tr", "program:sed"),
                         (0, ""))

    def test_where_dpkg_cannot_say(self):
        status, said = self.run_tool("path", self.links, "listed", "unknown")
        self.assertEqual((status, said), (77, "not installed as packages of dpkg: unknown\n"))
        self.assertEqual(self.run_tool("check", self.cache, path=str(self.folder)),
                         (77, "there is no dpkg\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
