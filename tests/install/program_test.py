# SPDX-License-Identifier: Apache-2.0
"""The installed program and what lies beside it; the archives of cpack, unpacked elsewhere."""
import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
given = None


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def must(self, *command):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, text=True,
                              capture_output=True, timeout=250, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def assert_works(self, prefix):
        """The program below `prefix` runs and finds its share folder, and the rest is there."""
        share = prefix / "share/quern"
        info = self.must(prefix / "bin/quern", "info")
        self.assertRegex(info, rf"(?m)^share +{re.escape(str(share.resolve()))}$")
        self.must(prefix / "bin/quern", "train", share / "recipes/ddp-toy.toml", "--run-dir",
                  self.folder / "run")
        for name in ("submit", "status", "stop", "again", "lint"):
            self.assertRegex(self.must(prefix / f"bin/quern-{name}", "--help"), r"(?i)^usage: ")
        for name in ("share/man/man1/quern.1", "share/bash-completion/completions/quern",
                     "share/quern/examples/train_lenet.cpp", "share/quern/analysis/report",
                     "include/quern/train/training_run.hpp"):
            self.assertTrue((prefix / name).is_file(), name)
        for name in ("LICENSE", "NOTICE"):
            self.assertEqual((share / name).read_bytes(), (SOURCE / name).read_bytes())
        self.assertTrue(list(prefix.glob("lib*/**/cmake/quern/quernConfig.cmake")))

    def test_install(self):
        self.must(given.cmake, "--install", given.build, "--prefix", self.folder / "prefix")
        moved = (self.folder / "prefix").rename(self.folder / "moved")
        self.assert_works(moved)
        link = self.folder / "link"
        link.symlink_to(moved / "bin/quern")
        self.assertIn(str(moved / "share/quern"), self.must(link, "info"))

    def test_no_library_comes_from_the_working_directory(self):
        """...of who starts the program: any file there would break it, or be loaded."""
        self.must(given.cmake, "--install", given.build, "--prefix", self.folder / "prefix")
        installed = self.folder / "prefix/bin/quern"
        for program in (given.quern, installed):
            said = self.must("readelf", "--dynamic", program)
            for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", said):
                for entry in path.split(":"):
                    self.assertRegex(entry, r"^(/|\$ORIGIN)", f"{program}: {path}")
            for library in re.findall(r"\(NEEDED\).*\[(.*)\]", said):
                (self.folder / library).write_text("no library")
            self.must(program, "info")
        self.assertIn("[$ORIGIN:$ORIGIN/../", self.must("readelf", "--dynamic", installed))

    def test_job_commands_on_the_path(self):
        """...of the installation and no other, through links too; one way to name them."""
        self.must(given.cmake, "--install", given.build, "--prefix", self.folder / "prefix")
        moved = (self.folder / "prefix").rename(self.folder / "moved")
        links = self.folder / "links"
        links.mkdir()
        for name in ("submit", "status", "stop", "again", "lint"):
            (links / f"quern-{name}").symlink_to(moved / f"bin/quern-{name}")
        recipe = moved / "share/quern/recipes/ddp-toy.toml"
        words = ["train", f"RECIPE={recipe}", "RUN_DIR=run"]
        for where in (moved / "bin", links):
            filled = self.must(where / "quern-submit", "-n", "generic", *words)
            self.assertIn(f"quern={moved.resolve()}/bin/quern\n", filled)
        said = self.must(links / "quern-submit", "local", *words)
        self.assertIn("quern-stop", said)
        self.assertRegex(self.must(links / "quern-status", "run"), "run: done")
        self.assertIn("no job is queued", self.must(links / "quern-stop", "run"))
        self.assertIn("quern-submit --go-on local train", self.must(links / "quern-again", "-n", "run"))
        self.assertIn("0 finding(s)", self.must(links / "quern-lint", "run/job/train.sbatch"))

    def test_notice_is_right_of_what_is_linked_dynamically(self):
        needed = self.must("readelf", "--dynamic", given.quern)
        for name in ("libhdf5", "libz", "libmpi"):
            self.assertRegex(needed, rf"NEEDED.*\[{name}\b|NEEDED.*\[{name}_")

    def test_built_program_has_no_share(self):
        self.assertNotRegex(self.must(given.quern, "info"), r"(?m)^share ")

    def test_archive(self):
        self.cpack("TGZ")
        (archive,) = self.folder.glob("packages/*.tar.gz")
        self.assertRegex(archive.name, r"^quern-\d+\.\d+\.\d+-linux-")
        with tarfile.open(archive) as file:
            file.extractall(self.folder / "unpacked")
        (prefix,) = (self.folder / "unpacked").iterdir()
        self.assert_works(prefix)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg")
    def test_debian_package(self):
        self.cpack("DEB")
        (package,) = self.folder.glob("packages/*.deb")
        self.assertEqual(self.must("dpkg-deb", "--field", package, "Package"), "quern\n")
        if shutil.which("dpkg-shlibdeps"):
            self.assertIn("libhdf5", self.must("dpkg-deb", "--field", package, "Depends"))
        self.must("dpkg-deb", "--extract", package, self.folder / "root")
        self.assert_works(self.folder / "root/usr")

    def cpack(self, kind):
        self.must(given.cpack, "-G", kind, "--config", Path(given.build) / "CPackConfig.cmake",
                  "-B", self.folder / "packages")

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_manual_page_is_sound(self):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", SOURCE / "docs/quern.1"],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        self.assertIn("EXIT STATUS", re.sub(".\x08", "", done.stdout))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("build", "cmake", "cpack", "quern"):
        parser.add_argument(f"--{option}", required=True)
    given = parser.parse_args()
    unittest.main(verbosity=2, argv=sys.argv[:1])
