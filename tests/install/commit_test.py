# SPDX-License-Identifier: Apache-2.0
"""The commit that a build writes into its program: of a clone, of an archive, of sources inside of
another repository, and when it is given."""
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import configured
from configured import given

SCRIPT = "cmake/WriteGitCommit.cmake"
STATED = "cmake/archive_commit.txt"  # git archive writes the hash in place of the field
FIELD = "$Format:%H$"
ROOT = Path(__file__).resolve().parents[2]
IDENTITY = ["-c", "user.name=one", "-c", "user.email=one@example.org"]

class CommitTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def git(self, folder, *words):
        done = subprocess.run(["git", *IDENTITY, "-C", folder, *words], text=True, check=True,
                              capture_output=True)
        return done.stdout.strip()

    def sources(self, name):
        """A folder with what matters here of a clone, also where this tree is an unpacked archive."""
        folder = self.folder / name
        for file in (SCRIPT, ".gitattributes"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, folder / file)
        (folder / STATED).write_text(FIELD + "\n")
        return folder

    def repository(self, folder):
        self.git(folder, "init", "--quiet")
        self.git(folder, "add", ".")
        self.git(folder, "commit", "--quiet", "--message", "One")
        return self.git(folder, "rev-parse", "HEAD")

    def commit(self, source, *options):
        out = self.folder / "commit.hpp"
        subprocess.run([given.cmake, f"-DSOURCE={source}", f"-DOUTPUT={out}", *options, "-P",
                        ROOT / SCRIPT], check=True)
        return re.fullmatch('#define QUERN_GIT_COMMIT "(.*)"\n', out.read_text())[1]

    def test_clone(self):
        source = self.sources("clone")
        commit = self.repository(source)
        self.assertEqual(self.commit(source), commit[:12])
        (source / SCRIPT).write_text("")
        self.assertEqual(self.commit(source), commit[:12] + "-dirty")

    def test_given(self):
        source = self.sources("clone")
        self.repository(source)
        self.assertEqual(self.commit(source, "-DCOMMIT=0123456789ab"), "0123456789ab")

    def test_archive(self):
        source = self.sources("clone")
        commit = self.repository(source)
        self.git(source, "archive", "--output", self.folder / "a.tar", "HEAD")
        with tarfile.open(self.folder / "a.tar") as file:
            file.extractall(self.folder / "unpacked")
        self.assertEqual(self.commit(self.folder / "unpacked"), commit[:12])

    def test_this_tree_states_the_field_or_a_hash(self):
        self.assertRegex((ROOT / STATED).read_text(), rf"\A({re.escape(FIELD)}|[0-9a-f]{{40}})\n\Z")

    def test_copy_without_git(self):
        self.assertEqual(self.commit(self.sources("copy")), "unknown")

    def test_clone_of_somebody_else(self):
        """Git refuses to read it, and says so in English or not."""
        source = self.sources("clone")
        self.repository(source)
        out = self.folder / "commit.hpp"
        for options, warns in (((), True), (("-DCOMMIT=0123456789ab",), False)):
            done = subprocess.run([given.cmake, f"-DSOURCE={source}", f"-DOUTPUT={out}", *options, "-P",
                                   ROOT / SCRIPT], check=True, text=True, capture_output=True,
                                  env={**os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1",
                                       "LANG": "de_DE.UTF-8", "LANGUAGE": "de"})
            self.assertEqual("expected -DQUERN_COMMIT=" in configured.one_line(done.stderr), warns, done.stderr)
            self.assertEqual("unknown" in out.read_text(), warns)

    def test_inside_of_another_repository(self):
        source = self.sources("outer/quern")
        self.repository(self.folder / "outer")
        self.assertEqual(self.commit(source), "unknown")


if __name__ == "__main__":
    configured.main()
