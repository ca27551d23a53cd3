# SPDX-License-Identifier: Apache-2.0
"""What jobs/submit makes of Slurm's accounting: a warning before anything is queued, and nothing where it knows nothing.
Called as `accounts_test.py .../bin/quern`; sacctmgr is a script here."""
import getpass
import sys
import time
import unittest

from submit_case import SubmitCase

# Account, partition, QOS, as sacctmgr --parsable2 prints them.
ASSOCIATIONS = "proj1||normal,long\nproj2|gpu|normal\nproj2|debug|normal,short\n"
RUN = ["generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run"]


class AccountsTest(SubmitCase):
    def setUp(self):
        super().setUp()
        self.program("scontrol", "#!/bin/sh\necho 'ClusterName             = hill'\n")
        self.accounting(f"cat <<'END'\n{ASSOCIATIONS}END\n")

    def accounting(self, commands):
        self.program("sacctmgr", f'#!/bin/sh\necho "$*" >>"$SEEN/asked"\n{commands}')

    def warnings(self, *values):
        """Of a submission, which is not refused."""
        done = self.submit(*RUN, *values)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_what_is_theirs(self):
        for values in (["ACCOUNT=proj1"], ["ACCOUNT=PROJ1", "QOS=long", "PARTITION=any"], ["QOS=short"], [],
                       ["ACCOUNT=proj2", "PARTITION=cpu,gpu"], ["ACCOUNT=proj2", "PARTITION=gpu", "QOS=normal"],
                       ["ACCOUNT=proj2"]):
            self.assertEqual(self.warnings(*values), "", values)
        asked = (self.folder / "asked").read_text()
        self.assertEqual(asked.count("\n"), 6, "nothing to ask without account and QOS")
        self.assertIn(f" user={getpass.getuser()} cluster=hill ", asked)

    def test_what_is_not(self):
        for values, text in (
                (["ACCOUNT=other"], "ACCOUNT=other: none of yours here, says Slurm's accounting, which knows proj1, proj2\n"),
                (["ACCOUNT=proj2", "PARTITION=cpu"],
                 "PARTITION=cpu: not yours with ACCOUNT=proj2, says Slurm's accounting, which knows debug, gpu\n"),
                (["ACCOUNT=proj2", "PARTITION=gpu", "QOS=short"],
                 "QOS=short: not yours with ACCOUNT=proj2, says Slurm's accounting, which knows normal\n"),
                (["QOS=urgent"], "QOS=urgent: not yours, says Slurm's accounting, which knows long, normal, short\n")):
            self.assertEqual(self.warnings(*values), f"submit: warning: {text}")
        # Slurm is asked once, also for a plan whose jobs have queues and accounts of their own.
        (self.folder / "asked").unlink()
        done = self.submit("-n", "perlmutter", "pipeline", *RUN[2:], "ACCOUNT=other_g", "IDX_DIR=.", "DATA_DIR=data")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: ACCOUNT=other_g: none", done.stderr)
        self.assertIn("warning: ACCOUNT=other: none", done.stderr)
        self.assertEqual((self.folder / "asked").read_text().count("\n"), 1)
        # Once for all jobs of a plan.
        done = self.submit("generic", "chain", *RUN[2:], "COUNT=3", "ACCOUNT=other")
        self.assertEqual(done.stderr.count("ACCOUNT=other: none of yours"), 1)

    def test_where_nothing_is_known(self):
        for commands in ("exit 1\n", "echo 'slurm_persist_conn_open: failed' >&2\nexit 1\n", "exit 0\n", "echo 'other||'\n"):
            self.accounting(commands)
            self.assertEqual(self.warnings("ACCOUNT=other", "QOS=urgent"), "")
        self.accounting("exec sleep 60\n")
        begin = time.monotonic()
        self.assertEqual(self.warnings("ACCOUNT=other"), "")
        self.assertLess(time.monotonic() - begin, 50)
        done = self.submit("local", *RUN[1:2], *RUN[2:], "-n", "ACCOUNT=other")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "asked").read_text().count("\n"), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
