# SPDX-License-Identifier: Apache-2.0
"""jobs/submit in a scratch folder, without a Slurm: sbatch is a script that writes down its arguments."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUBMIT = ROOT / "jobs" / "submit"
PROGRAM = str(Path(sys.argv[1]).resolve())
RECIPE = ROOT / "recipes" / "mlp-mnist.toml"


class SubmitCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        shutil.copy(RECIPE, self.folder / "mlp.toml")
        (self.folder / "data-test-00000-of-00001.h5").touch()
        for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
            (self.folder / f"{name}-ubyte").touch()
        (self.folder / "grid").write_text("optimizer.lr=1e-3\n# no trial\n\noptimizer.lr=2e-3\n")
        (self.folder / "bin").mkdir()
        self.program("sbatch", '#!/bin/sh\necho "$@" >> "$SEEN/sbatch-calls"\nenv -0 > "$SEEN/environment"\necho 42\n')
        # No job is queued or running, and what AFTER names is.
        self.program("squeue", "#!/bin/sh\n")
        self.program("scontrol", '#!/bin/sh\necho "JobId=1 JobState=PENDING Reason=None"\n')

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def begin_run(self, name):
        """A run folder with a recipe and a checkpoint, of which submit asks no more than whether there is one."""
        checkpoints = self.folder / name / "checkpoints"
        checkpoints.mkdir(parents=True)
        shutil.copy(self.folder / "mlp.toml", self.folder / name / "recipe.toml")
        (checkpoints / "ckpt-0000000013.h5").touch()

    def submit(self, *args, command=SUBMIT, **variables):
        env = dict(os.environ, QUERN=PROGRAM, SEEN=str(self.folder), XDG_CONFIG_HOME=str(self.folder / "config"),
                   PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}") | variables
        return subprocess.run([str(command), *args], cwd=self.folder, env=env, capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL)

    def filled(self, *args):
        done = self.submit("-n", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def train(self, site, *values):
        account = [] if "generic" in site else ["ACCOUNT=p1"]
        return self.filled(site, "train", "RECIPE=mlp.toml", "RUN_DIR=run", *account, *values)

    def assert_refused(self, args, *texts, printed=False):
        """Status 2, one error line with these texts, and nothing was written or queued. `printed`: -n prints the job all
        the same, and warns."""
        before = sorted(self.folder.rglob("*"))
        for mode in ([], ["-n"]):
            done = self.submit(*mode, *args)
            warns = printed and mode
            self.assertEqual(done.returncode, 0 if warns else 2, done.stdout + done.stderr)
            self.assertEqual("#SBATCH" in done.stdout, bool(warns))
            errors = [line for line in done.stderr.splitlines()
                      if line.startswith("submit: warning:" if warns else "submit: error:")]
            self.assertEqual(len(errors), 1, done.stderr)
            for text in texts:
                self.assertIn(text, errors[0])
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def refuse_train(self, site, values, *texts):
        self.assert_refused([site, "train", "RECIPE=mlp.toml", "RUN_DIR=run", *values], *texts)

    def calls(self):
        """The arguments of each sbatch."""
        return (self.folder / "sbatch-calls").read_text().splitlines()
