# SPDX-License-Identifier: Apache-2.0
"""`benchmarks/check_plan.py` on virtual nodes: the plan of two nodes from messages between them. How far it is off
is nobody's business here."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import cluster

SCRIPT = cluster.ROOT / "benchmarks" / "check_plan.py"


class PlanTest(unittest.TestCase):
    def check(self, *words):
        folder = cluster.short_folder("qp-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-B", SCRIPT, "--quern", cluster.PROGRAM, "--workloads", "W1", "--rounds", "1",
             "--virtual-nodes", "2", "--json", folder / "out.json", *words],
            env={**os.environ, "TMPDIR": str(folder)}, capture_output=True, text=True, timeout=600, check=False)
        left = [path for path in folder.iterdir() if path.name != "out.json"]
        self.assertEqual(left, [], done.stderr)  # no cluster stays behind
        return done, folder / "out.json"

    def test_two_ranks_on_two_nodes(self):
        done, file = self.check("--ranks", "2", "--splits", "samples,pipeline", "--limit", "1e9")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("on 2 virtual nodes", done.stdout)
        results = json.loads(file.read_text())["results"]
        self.assertEqual([(row["split"], row["ranks"], row["nodes"]) for row in results],
                         [("samples", 2, 2), ("pipeline", 2, 2)])
        for row in results:
            self.assertGreater(row["predicted_us"], 0)
            self.assertGreater(row["measured_us"], 0)

    def test_what_cannot_be_planned_is_said_and_leaves_no_cluster(self):
        done, file = self.check("--ranks", "2", "--splits", "tensor")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("ranks that share layers are to be on one node", done.stderr)
        self.assertFalse(file.exists())


if __name__ == "__main__":
    cluster.main()
