# SPDX-License-Identifier: Apache-2.0
"""jobs/submit says what a submission may cost before it queues anything. Called as `cost_test.py .../bin/quern`."""
import sys
import unittest

from submit_case import SubmitCase

RUN = ["RECIPE=mlp.toml", "RUN_DIR=run"]
GPU_SITE = ["ACCOUNT=p", "TIME=12:00:00"]


class CostTest(SubmitCase):
    def cost(self, *args, status=0):
        done = self.submit("-n", *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return next((line for line in done.stderr.splitlines() if line.startswith("cost: ")), None)

    def test_one_job(self):
        # 2 nodes x 4 GPUs x 12 h, and 21 times that
        self.assertEqual(self.cost("perlmutter", "train", *RUN, *GPU_SITE, "NODES=2"),
                         "cost: at most 24 node-hours, 96 GPU-hours; with all restarts (MAX_RESTARTS=20) 504 node-hours, "
                         "2016 GPU-hours")
        self.assertEqual(self.cost("perlmutter", "train", *RUN, *GPU_SITE, "NODES=2", "REQUEUE=no"),
                         "cost: at most 24 node-hours, 96 GPU-hours")
        self.assertEqual(self.cost("generic", "train", *RUN, "TIME=90", "RANKS=2", "CPUS=3", "MAX_RESTARTS=1"),
                         "cost: at most 1.5 node-hours, 9 CPU-hours; with all restarts (MAX_RESTARTS=1) 3 node-hours, "
                         "18 CPU-hours")
        (self.folder / "checkpoints").mkdir()
        self.assertEqual(self.cost("generic", "evaluate", "RUN_DIR=.", "DATA=.", "TIME=10"),
                         "cost: at most 0.2 node-hours, 0.2 CPU-hours")

    def test_arrays(self):
        (self.folder / "many").write_text("".join(f"seed={seed}\n" for seed in range(9)))
        self.assertEqual(self.cost("perlmutter", "sweep", *RUN, *GPU_SITE, "GRID=many", "TRIALS_PER_JOB=4",
                                   "MAX_RESTARTS=0"), "cost: at most 36 node-hours, 144 GPU-hours")

    def test_plans(self):
        self.assertEqual(self.cost("generic", "chain", *RUN, "COUNT=4", "TIME=60", "NODES=3"),
                         "cost: at most 12 node-hours, 12 CPU-hours")
        # 1 + 2 + 4 nodes and the report, each an hour
        self.assertEqual(self.cost("generic", "scaling", *RUN, "BATCH=64", "TIME=60").split(",")[0],
                         "cost: at most 7.3 node-hours")

    def test_it_is_said_before_the_first_job(self):
        done = self.submit("generic", "chain", *RUN, "COUNT=2", "TIME=60")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "cost: at most 2 node-hours, 2 CPU-hours")
        self.assertTrue(lines[1].startswith("job 42:"), lines)
        self.assertIsNone(self.cost("generic", "chain", *RUN, "TIME=60", "NODES=0", status=2))


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
