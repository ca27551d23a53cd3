# SPDX-License-Identifier: Apache-2.0
"""jobs/lint finds each mistake at its line and leaves good scripts alone."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).resolve().parents[2] / "jobs" / "lint"

GOOD = """#!/bin/bash
#SBATCH --job-name=good
#SBATCH --nodes=2 --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=4 --gpu-bind=none
#SBATCH --time=02:00:00
#SBATCH --signal=USR1@300
#SBATCH --requeue --open-mode=append
#SBATCH --output=log-%j.out
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
srun program train
[[ $? != 85 ]] || scontrol requeue "$SLURM_JOB_ID"
"""


class LintTest(unittest.TestCase):
    def lint(self, text, *options):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "job.sbatch"
            file.write_bytes(text.encode())
            return subprocess.run([sys.executable, LINT, *options, file], capture_output=True,
                                  text=True, check=False)

    def names(self, text):
        done = self.lint(text, "--json")
        self.assertEqual(done.stderr, "")
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1 if found else 0)
        for one in found:
            self.assertTrue(one["text"] and one["why"] and one["fix"], one)
        return [(one["line"], one["name"]) for one in found]

    def assert_found(self, old, new, *expected):
        """Changing GOOD so makes these findings and no others."""
        self.assertIn(old, GOOD)
        self.assertEqual(self.names(GOOD.replace(old, new)), sorted(expected))

    def test_good_script(self):
        self.assertEqual(self.names(GOOD), [])
        self.assertIn("0 finding(s)", self.lint(GOOD).stdout)

    def test_variables_in_directives(self):
        for text in ("$NAME", "${NAME}", "`date`", "$(date)"):
            self.assert_found("job-name=good", f"job-name={text}", (2, "variable-in-directive"))

    def test_tasks_against_gpus(self):
        self.assert_found("per-node=4\n", "per-node=2\n", (5, "tasks-and-gpus"))
        self.assert_found("per-node=4\n", "per-node=8\n", (5, "tasks-and-gpus"))
        self.assert_found("--gpus-per-node=4", "--gres=gpu:a100:2", (5, "tasks-and-gpus"))
        self.assert_found("--gpus-per-node=4", "--gpus=8")
        self.assert_found("srun program", "srun torchrun program", (11, "tasks-and-gpus"))

    def test_hidden_peers(self):
        self.assert_found("--gpus-per-node=4 --gpu-bind=none", "--gpus-per-task=1", (5, "hidden-gpus"))
        self.assert_found("--gpu-bind=none", "--gpu-bind=single:1", (5, "hidden-gpus"))
        self.assert_found("srun program", "srun --gpu-bind=closest program", (11, "hidden-gpus"))

    def test_cores(self):
        self.assert_found("#SBATCH --cpus-per-task=8\n", "", (3, "no-cores"))
        self.assert_found("SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK ", "", (11, "srun-without-cores"))
        self.assert_found("OMP_NUM_THREADS=", "THREADS=", (4, "no-threads"))
        self.assertEqual(self.names(GOOD.replace("export SRUN_CPUS_PER_TASK=", "A=")
                                    .replace("srun p", "srun -c 8 p")), [])

    def test_signal(self):
        self.assert_found("#SBATCH --signal=USR1@300\n", "", (6, "no-signal"))
        self.assert_found("USR1@300", "USR1@60", (7, "short-signal"))
        self.assert_found("USR1@300", "USR1", (7, "short-signal"))
        self.assert_found("USR1@300", "USR1@5000", (7, "signal-and-time"))
        self.assert_found("USR1@300", "B:USR1@300", (7, "signal-not-forwarded"))
        trap = GOOD.replace("USR1@300", "B:USR1@300").replace("srun", "trap 'stop' USR1\nsrun")
        self.assertEqual(self.names(trap), [])

    def test_requeue(self):
        self.assert_found('[[ $? != 85 ]] || scontrol requeue "$SLURM_JOB_ID"\n', "", (7, "no-requeue"))
        self.assert_found("--requeue --open-mode", "--open-mode", (2, "no-requeue"))
        self.assert_found(" --open-mode=append", "", (9, "no-append"))
        self.assert_found("--output=log-%j", "--array=0-3 --output=log-%A_%a",
                          (12, "requeues-whole-array"))

    def test_logs(self):
        self.assert_found("log-%j", "log", (9, "shared-log"))
        self.assert_found("#SBATCH --output=log-%j.out", "#SBATCH -o log", (9, "shared-log"))
        array = GOOD.replace("--output=log-%j", "--array=0-3 --output=log-%A")
        self.assertIn((9, "shared-log"), self.names(array))

    def test_ranks_at_batch_scope(self):
        line = "export RANK=$SLURM_PROCID\nsrun program"
        self.assert_found("srun program", line, (11, "rank-in-batch-scope"))
        inside = "srun bash -c 'export LOCAL_RANK=$SLURM_LOCALID; exec program'"
        self.assertEqual(self.names(GOOD.replace("srun program train", inside)), [])

    def test_launch(self):
        self.assert_found("srun program", "program", (12, "nothing-launched"))
        self.assert_found("srun program train", "srun program train &", (11, "no-wait"))

    def test_network(self):
        self.assert_found("export ", "export NCCL_NET=OFI ", (10, "fixed-network"))
        self.assert_found("export ", "export MASTER_PORT=29500 ", (10, "fixed-port"))

    def test_what_slurm_does_not_read(self):
        self.assert_found("#SBATCH --requeue", "date\n#SBATCH --requeue", (2, "no-append"), (2, "no-requeue"),
                          (9, "directive-after-command"), (10, "directive-after-command"))
        self.assert_found("#SBATCH --job-name", "# SBATCH --job-name", (2, "not-a-directive"))

    def test_first_line(self):
        self.assert_found("#!/bin/bash\n", "\n", (1, "no-interpreter"))
        self.assertEqual(self.names(GOOD.replace("\n", "\r\n")), [(1, "windows-line-ends")])

    def test_allowed(self):
        text = GOOD.replace("#SBATCH --signal=USR1@300\n", "# lint: allow no-signal: short\n")
        self.assertEqual(self.names(text), [])

    def test_odd_files(self):
        for text in ("", "#!/bin/bash", "\xff\x00", "#!/bin/sh\n#SBATCH\n#SBATCH -\nsrun \\"):
            self.names(text)
        missing = subprocess.run([sys.executable, LINT, "no-such-file"], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(missing.returncode, 2)
        self.assertIn("cannot read no-such-file", missing.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
