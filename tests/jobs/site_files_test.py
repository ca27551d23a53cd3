# SPDX-License-Identifier: Apache-2.0
"""Sites' files: what is wrong with a value is said with file and line. Called as `site_files_test.py .../bin/quern`."""
import shutil
import sys
import unittest

from submit_case import ROOT, SubmitCase

FACTS = ["# mine", "TITLE=mine", "LIMIT=main 1-8 1-00:00:00", "PARTITION=main"]
TRAIN = ["train", "RECIPE=mlp.toml", "RUN_DIR=run"]


class SiteFilesTest(SubmitCase):
    def setUp(self):
        super().setUp()
        for part in ("analysis", "jobs"):
            shutil.copytree(ROOT / part, self.folder / "tree" / part, ignore=shutil.ignore_patterns("__pycache__"))
        self.file = self.folder / "tree" / "jobs" / "sites" / "mine.env"
        self.command = self.folder / "tree" / "jobs" / "submit"

    def write(self, *lines, end="\n"):
        self.file.write_bytes("".join(line + end for line in lines).encode())

    def refused(self, *lines):
        """The one error line about a site of these lines."""
        self.write(*lines)
        done = self.submit("-n", "mine", *TRAIN, command=self.command)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr.removesuffix("\n")

    def test_values(self):
        time = "a time of Slurm was expected: minutes, HH:MM:SS, D-HH:MM:SS or UNLIMITED"
        limit = ("PARTITION[:QOS] FIRST-LAST TIME was expected, nodes and a time of Slurm or UNLIMITED, such as "
                 "main 1-64 1-00:00:00")
        share = "PARTITION[:QOS] FIRST-LAST was expected, such as main 1-4"
        count, number = "a number from 1 on was expected", "a number from 0 on was expected"
        request = ("an option with @GPUS@ for the number of devices was expected, such as --gpus-per-node=@GPUS@")
        for line, expected in (
                ("REQUEUE=No", "yes or no was expected"), ("EXCLUSIVE=Yes", "yes or no was expected"),
                ("UENV=true", "yes or no was expected"), ("ACCOUNT=Required", "one of required, optional was expected"),
                ("TIME=1h", time), ("TIME=0", time), ("TIME=1234567-00:00:00", time), ("LIMIT=main 1-1000", limit),
                ("LIMIT=main 1-1000 2h", limit), ("LIMIT=main 8-1 60", limit), ("LIMIT=2h", limit),
                ("LIMIT=main 1-010 60", limit), ("LIMIT=main 1-8 60 min", limit), ("LIMIT=ma'in 1-8 60", limit),
                ("CPU_LIMIT=main 1", share), ("GPU_LIMIT=1-4", share), ("CPUS_PER_NODE=lots", count),
                ("CPUS_PER_GPU=0", count), ("RANKS_PER_NODE=x", count), ("THREADS_PER_CORE=two", count),
                ("MAX_ARRAY=abc", count), ("SERIAL_CPUS=-1", count), ("GPUS_PER_NODE=four", number),
                ("GPUS_PER_NODE=08", number), ("SERIAL_GPUS=yes", number),
                ("CPUS_RULE=foo", "one of exact, multiple, min, free was expected"),
                ("OMP_BIND=foo", "one of spread, close, none, program was expected"),
                ("HINT=threads", "one of compute_bound, memory_bound, multithread, nomultithread was expected"),
                ("SCHEDULER=pbs", "one of slurm, none was expected"), ("GPU_REQUEST=4", request),
                ("GPU_STEP=--gres=gpu:@GPU@", request), ("SRUN=pmix", "an option was expected, --name=value"),
                ("OPTION=nice=5", "an option was expected, --name=value"),
                ("MEM_FULL_NODE=all", "memory was expected, such as 480G (without a unit: MB)")):
            self.assertEqual(self.refused(*FACTS, line), f"submit: error: {self.file}:5: {line}: {expected}")
        for line, key in (("PARTITION=a b", "PARTITION"), ("QOS=a'b", "QOS"), ("GPU_ACCOUNT_END=_g $x", "GPU_ACCOUNT_END")):
            self.assertEqual(self.refused(FACTS[0], FACTS[2], line), f"submit: error: {self.file}:3: {key}='{line.split('=')[1]}': "
                             "blanks and quotes cannot be in it")

    def test_keys(self):
        self.assertIn(f"{self.file}:5: unknown key 'CPUS' (known: TITLE HOSTS", self.refused(*FACTS, "CPUS=4"))
        self.assertIn(f"{self.file}:5: unknown key 'a]$(touch x)'", self.refused(*FACTS, "a]$(touch x)=4"))
        self.assertIn(f"{self.file}:5: unknown key 'words'", self.refused(*FACTS, "words"))
        self.assertIn(f"{self.file}:5: PARTITION is there twice", self.refused(*FACTS, "PARTITION=b"))
        self.assertIn(f"{self.file}: LIMIT is missing", self.refused("TITLE=mine"))
        self.assertIn(f"{self.file}: CPUS_RULE=exact: CPUS_PER_GPU is missing", self.refused(*FACTS, "CPUS_RULE=exact"))

    def test_the_ends_of_lines(self):
        self.write(*FACTS, "", "  ", "REQUEUE=no \t", "EXCLUSIVE=", end="\r\n")
        done = self.submit("-n", "mine", *TRAIN, command=self.command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("#SBATCH --partition=main\n", done.stdout)
        self.assertIn("#SBATCH --no-requeue\n", done.stdout)
        self.assertNotIn("\r", done.stdout)

    def test_a_time_without_an_end(self):
        for limit, line in (("UNLIMITED", "cost: unknown, TIME=UNLIMITED"), ("0-01:00:00", "cost: at most 1 node-hours")):
            self.write(f"LIMIT=* 1-8 {limit}", "TIME=UNLIMITED", "REQUEUE=no")
            done = self.submit("-n", "mine", *TRAIN, command=self.command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(line, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
