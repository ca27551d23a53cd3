# SPDX-License-Identifier: Apache-2.0
"""jobs/lint and Slurm agree: sbatch refuses the #SBATCH lines of which jobs/lint says that it does, and takes those in which
nothing is found."""
import subprocess
import sys

import cluster
from cluster import ROOT

sys.path.insert(0, str(ROOT / "tests" / "jobs" / "lint"))

from variants import ASKED, GOOD, WRITTEN  # noqa: E402

# Rules that say so. (A name of a job may be written with typographic quotes; what it should have been is lost.)
REFUSED = {"stray-word", "unknown-option", "one-dash", "bad-value", "memory-twice"}
TYPOGRAPHIC_DASHES = ("\u2013", "\u2014")
OF_PLUGINS = "--uenv"  # an option that only some centres have


class LintTest(cluster.JobTest):
    SHAPE = {"NODES": 2, "CPUS": 32, "GPUS": 4, "MEM": 200000}

    def ask(self, script):
        """What sbatch --test-only says; empty when it takes the script."""
        done = subprocess.run(["sbatch", "--test-only"], input=script.encode(), env=self.cluster.env,
                              capture_output=True, check=False, timeout=60)
        return "" if done.returncode == 0 else done.stderr.decode(errors="replace")

    def test_refused_and_taken(self):
        self.assertEqual(self.ask(GOOD), "")
        asked = {"refused": 0, "taken": 0}
        for old, new, wanted in WRITTEN + ASKED:
            if not GOOD[:GOOD.index(old)].count("#SBATCH") or "program" in old or OF_PLUGINS in new:
                continue
            rules = {word for word in wanted.replace(",", "").split() if not word.isdigit()}
            with self.subTest(new):
                said = self.ask(GOOD.replace(old, new, 1))
                if rules & REFUSED or new.startswith(TYPOGRAPHIC_DASHES):
                    self.assertNotEqual(said, "")
                    asked["refused"] += 1
                elif not rules:
                    self.assertEqual(said, "")
                    asked["taken"] += 1
        self.assertGreaterEqual(asked["refused"], 15)
        self.assertGreaterEqual(asked["taken"], 12)


if __name__ == "__main__":
    cluster.main()
