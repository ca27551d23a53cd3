# SPDX-License-Identifier: Apache-2.0
"""jobs/lint and Slurm agree: sbatch refuses the #SBATCH lines of which jobs/lint says that it does, and takes those in which
nothing is found; signals reach mpirun as it says."""
import json
import subprocess
import sys

import cluster
import toy
from cluster import FINAL, PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "tests" / "jobs" / "lint"))

from variants import ASKED, GOOD, WRITTEN  # noqa: E402

# Rules that say so. (A name of a job may be written with typographic quotes; what it should have been is lost.)
REFUSED = {"stray-word", "unknown-option", "one-dash", "bad-value", "memory-twice"}
TYPOGRAPHIC_DASHES = ("\u2013", "\u2014")
# The ranks of a training under mpirun, which as root wants to be asked twice.
MPIRUN = f"""#!/bin/bash
#SBATCH --nodes=1 --ntasks=2 --cpus-per-task=1 --mem=1000 --time=10
#SBATCH --signal=@SIGNAL@ --requeue --open-mode=append
#SBATCH --output=@RUN@-%j.out
# lint: allow no-requeue
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
@TRAP@
mpirun --oversubscribe {PROGRAM} train long.toml --run-dir @RUN@ @END@
"""
WAIT = """&
wait $!
status=$?
if ((status > 128)); then
  wait $!
  status=$?
fi
exit $status"""
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

    def start_mpirun(self, run, signal, trap="", end=""):
        """A job that trains, and the rules that jobs/lint finds in its script."""
        text = MPIRUN
        for name, value in (("@SIGNAL@", signal), ("@RUN@", run), ("@TRAP@", trap), ("@END@", end)):
            text = text.replace(name, value)
        file = self.folder / f"{run}.sbatch"
        file.write_text(text)
        job = self.cluster.run("sbatch", "--parsable", file, cwd=self.folder, env=self.slow_down()).strip()
        found = subprocess.run([sys.executable, ROOT / "jobs" / "lint", "--json", file], capture_output=True, text=True,
                               check=False)
        self.wait_for_checkpoint(job, run, after=20)
        return job, [one["name"] for one in json.loads(found.stdout)]

    def test_signals_and_mpirun(self):
        """mpirun in a batch script is no step: Slurm's signal reaches its ranks through a trap alone."""
        toy.write_recipe(self.folder, "long.toml", toy.RECIPE.replace("epochs = 20", "epochs = 1000000").replace(
            "every_steps = 1", "every_steps = 20"))
        deaf, found = self.start_mpirun("deaf", "USR1@300")
        self.assertEqual(found, ["signal-not-forwarded"])
        self.cluster.run("scancel", "--signal=USR1", deaf, check=False)  # as --signal=USR1 does
        before = self.checkpoint_steps("deaf")[-1]
        self.wait_for_checkpoint(deaf, "deaf", after=before + 100)
        self.cluster.run("scancel", deaf)
        job, found = self.start_mpirun("hears", "B:USR1@300", "trap 'kill -USR1 $!' USR1", WAIT)
        self.assertEqual(found, [])
        self.cluster.run("scancel", "--batch", "--signal=USR1", job)  # as --signal=B:USR1 does
        self.assertEqual(self.cluster.wait(job), ("FAILED", 85))
        self.assertTrue(set(self.cluster.states(deaf)) <= FINAL)


if __name__ == "__main__":
    cluster.main()
