# SPDX-License-Identifier: Apache-2.0
"""What jobs/submit takes from the user's file of defaults, and which site it takes without one. Called as
`defaults_test.py .../bin/quern`."""
import shutil
import sys
import unittest

from submit_case import PROGRAM, SubmitCase

TRAIN = ["train", "RECIPE=mlp.toml", "RUN_DIR=run"]


class DefaultsTest(SubmitCase):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "config" / "quern" / "jobs.env"
        self.file.parent.mkdir(parents=True)

    def print(self, *args, **variables):
        done = self.submit("-n", *args, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_the_file(self):
        self.file.write_text("# mine\n\nSITE=perlmutter\nACCOUNT=m1_g\nMAIL=ada@example.org\r\n")
        done = self.print(*TRAIN)
        self.assertIn("#SBATCH --account=m1_g\n", done.stdout)
        self.assertIn("#SBATCH --mail-user=ada@example.org\n", done.stdout)
        self.assertIn("for site perlmutter", done.stdout)
        self.assertIn(f"SITE=perlmutter ACCOUNT=m1_g MAIL=ada@example.org: from {self.file}", done.stderr)
        # The script says all of it: submitted again elsewhere it is the same job.
        self.assertIn("jobs/submit perlmutter train RECIPE=mlp.toml RUN_DIR=run ACCOUNT=m1_g", done.stdout)
        self.assertIn("ACCOUNT", self.submit("--keys", "train").stdout)

    def test_the_command_line_wins(self):
        self.file.write_text("SITE=perlmutter\nACCOUNT=m1_g\nMAIL=ada@example.org\n")
        done = self.print("perlmutter", *TRAIN, "ACCOUNT=m2_g", "MAIL=")
        self.assertIn("#SBATCH --account=m2_g\n", done.stdout)
        self.assertNotIn("--mail", done.stdout)
        self.assertNotIn(str(self.file), done.stderr)
        # An account is that of a site.
        done = self.print("generic", *TRAIN)
        self.assertNotIn("--account", done.stdout)
        self.assertIn("--mail-user", done.stdout)
        self.assertIn("#SBATCH --account=m3_g\n", self.print(*TRAIN, SBATCH_ACCOUNT="m3_g").stdout)
        self.file.write_text("ACCOUNT=m1_g\n")
        self.assertIn("#SBATCH --account=m1_g\n", self.print("perlmutter", *TRAIN).stdout)

    def test_every_job_of_a_plan(self):
        self.file.write_text("SITE=generic\nMAIL=ada@example.org\nPYTHON=python3.99\n")
        plan = ["pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", "IDX_DIR=.", "DATA_DIR=data"]
        text = self.print(*plan).stdout
        self.assertEqual(text.count("#SBATCH --mail-user=ada@example.org\n"), 4)
        self.assertEqual(text.count("python=python3.99\n"), 1)
        self.assertNotIn("--mail", self.print(*plan, "MAIL=").stdout)
        self.assertNotIn("python3.99", self.print(*TRAIN).stdout)  # no key of this template

    def test_the_program(self):
        home = self.folder / "home"
        home.mkdir()
        shutil.copy(PROGRAM, home / "my-quern")
        self.file.write_text("QUERN=~/my-quern\n")
        self.assertIn("home/my-quern\n", self.print("generic", *TRAIN, QUERN="", HOME=str(home)).stdout)
        self.assertNotIn("home/my-quern\n", self.print("generic", *TRAIN, HOME=str(home)).stdout)

    def test_places(self):
        self.file.write_text("SITE=generic\n")
        home = self.folder / "home"
        self.print(*TRAIN)
        done = self.submit("-n", *TRAIN, XDG_CONFIG_HOME="", HOME=str(home))
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{home}/.config/quern/jobs.env", done.stderr)
        shutil.copytree(self.folder / "config", home / ".config")
        self.print(*TRAIN, XDG_CONFIG_HOME="", HOME=str(home))
        self.print("generic", *TRAIN, XDG_CONFIG_HOME="", HOME="")

    def test_mistakes(self):
        for text, line, expected in (("SITE=nowhere\n", 1, "no site 'nowhere'"),
                                     ("SITE=../sites/generic\n", 1, "begins with / or ~/"),
                                     ("SITE=/no/where\n", 1, "no site '/no/where'"),
                                     ("# x\nPARTITION=gpu\n", 2, "unknown key 'PARTITION'"),
                                     ("MAIL=a b\n", 1, "blanks"), ("MAIL='$(touch x)'\n", 1, "MAIL"),
                                     ("MAIL=a\nMAIL=b\n", 2, "twice"), ("generic\n", 1, "unknown key")):
            self.file.write_text(text)
            self.assert_refused(["generic", *TRAIN], f"{self.file}:{line}: ", expected)

    def test_the_site_by_the_name_of_the_machine(self):
        hostname = self.folder / "bin" / "hostname"
        hostname.write_text("#!/bin/sh\necho login07.frontier.olcf.ornl.gov\n")
        hostname.chmod(0o755)
        done = self.print(*TRAIN, "ACCOUNT=p")
        self.assertIn("for site frontier", done.stdout)
        self.assertIn("site frontier: by the name of this machine", done.stderr)
        self.file.write_text("SITE=generic\n")
        self.assertIn("for site generic", self.print(*TRAIN).stdout)
        self.file.unlink()
        # A centre with two kinds of nodes: which one is meant is for the user to say.
        hostname.write_text("#!/bin/sh\necho login07.chn.perlmutter.nersc.gov\n")
        self.assert_refused(TRAIN, "name fits 2 (perlmutter perlmutter-cpu)", "SITE train")
        hostname.write_text("#!/bin/sh\necho laptop\n")
        self.assert_refused(TRAIN, "no site is given", str(self.file), "juwels-booster")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
