# SPDX-License-Identifier: Apache-2.0
"""Efficiency of a scaling study, from the definition, and what cannot be used."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "analysis" / "report"


def point(nodes, step_us, mode="strong", **changes):
    bench = {"workload": "toy", "machine": {"device": "OpenMP", "ranks": 2 * nodes, "threads": 1},
             "global_batch": 64 if mode == "strong" else 64 * nodes, "step_us": step_us, "samples_per_s": 64e6 / step_us}
    return {"mode": mode, "nodes": nodes, "ranks_per_node": 2, "wall_s": 3, "bench": bench} | changes


class ScalingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def report(self, *points, options=(), expected=0):
        for number, content in enumerate(points):
            text = content if isinstance(content, str) else json.dumps(content)
            (self.folder / f"nodes-{number}.json").write_text(text)
        done = subprocess.run([sys.executable, "-B", PROGRAM, "scaling", self.folder, *options], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, expected, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_strong(self):
        text = self.report(point(1, 100.0), point(4, 40.0), point(2, 50.0))
        self.assertIn("| 2 | 4 | 64 | 50.0 | 1,280,000 | 2.00 | 100.0% | 3 |", text)
        self.assertIn("| 4 | 8 | 64 | 40.0 | 1,600,000 | 2.50 | 62.5% | 3 |", text)
        self.assertIn("Below 75% on 4 nodes; the largest count with at least 75% is 2.", text)
        self.assertTrue((self.folder / "scaling.csv").read_text().startswith("nodes,ranks"))

    def test_weak(self):
        text = self.report(*(point(n, 100.0 + n, "weak") for n in (1, 2, 4)))
        self.assertIn("97.1%", text)
        self.assertIn("At least 75% up to 4 nodes", text)

    def plan(self, steps, name="toy", batch=64):
        path = self.folder / "plan.json"
        path.write_text(json.dumps({"plan": name, "steps": [
            {"nodes": nodes, "ranks": 2 * nodes, "global_batch": batch, "step_us": time} for nodes, time in steps]}))
        return "--plan", path

    def test_measured_against_the_model(self):
        points = [point(2, 50.0), point(4, 40.0), point(8, 30.0)]
        text = self.report(*points, options=self.plan([(1, 100.0), (2, 55.0), (4, 30.0), (16, 12.0)]))
        self.assertIn("| 2 | 4 | 64 | 50.0 | 55.0 |", text)
        self.assertIn("| 4 | 8 | 64 | 40.0 | 30.0 |", text)
        page = (self.folder / "scaling.html").read_text()
        self.assertIn("model", page)
        header, *rows = (self.folder / "scaling.csv").read_text().splitlines()
        self.assertEqual([dict(zip(header.split(","), row.split(",")))["predicted_us"] for row in rows],
                         ["55.0", "30.0", ""])
        for plan, message in ((([(1, 100.0), (4, 30.0)],), "no step on 2 nodes"),
                              (([(2, 50.0)], "other"), "a plan of other, expected one of toy"),
                              (([(2, 50.0)], "toy", 128), "a batch of 128 on 2 nodes, expected 64"),
                              (([(2, 0)],), "plan.json")):
            self.assertIn(message, self.report(*points, options=self.plan(*plan), expected=2))
        (self.folder / "plan.json").write_text("junk")
        self.assertIn("plan.json", self.report(*points, options=("--plan", self.folder / "plan.json"), expected=2))

    def test_figures(self):
        self.report(point(1, 100.0), point(2, 55.0), point(64, 4.0), options=self.plan([(1, 100.0), (8, 20.0), (64, 3.0)]))
        page = (self.folder / "scaling.html").read_text()
        self.assertIn("scripts are in job/, what each job printed in log/.", page)
        self.assertNotIn("`", page.split("<script>")[0])
        efficiency, speedup = ((self.folder / f"scaling-{name}.svg").read_text() for name in ("efficiency", "speedup"))
        for count in (1, 2, 8, 64):
            for drawn in (efficiency, speedup):
                self.assertRegex(drawn, rf'text-anchor="middle"[^>]*>{count}<')
        limits = re.findall(r'<line [^>]*stroke="(#\w+)" stroke-dasharray="([^"]*)"', efficiency)
        self.assertEqual(len(set(limits)), 2)
        order = [re.search(rf'<polyline [^>]*stroke="{colour}"', speedup).start() for colour in
                 ("#77726a", "#bb4f12", "#1c6796")]
        self.assertEqual(order, sorted(order))  # ideal, model, and above them what was measured

    def test_too_few(self):
        self.assertIn("Fewer than three", self.report(point(1, 1.0), point(2, 1.0)))

    def test_points_of_another_study(self):
        """Two studies never make one table: not by what was measured, nor by what was submitted."""
        other = point(4, 20.0)
        other["bench"]["global_batch"] = 8192
        self.assertIn("differ in batch", self.report(point(1, 100.0), other, expected=2))
        other = point(4, 20.0)
        other["bench"]["machine"]["processor"] = "another"
        self.assertIn("differ in processor (None, another)", self.report(point(1, 100.0), other))
        points = [point(1, 100.0, study="a"), point(2, 50.0, study="a"), point(4, 10.0, study="b")]
        self.assertIn("differ in study", self.report(*points, expected=2))
        text = self.report(*points, options=("--study", "a", "--expect", "1,2,8"))
        self.assertIn("Left out, as points of another study: nodes-2.json.", text)
        self.assertIn("Not measured: 8 node(s)", text)
        self.assertNotIn("| 4 | 8 |", text)
        self.assertIn("of study c", self.report(*points, options=("--study", "c"), expected=2))

    def test_unusable(self):
        self.assertIn("no nodes-*.json", self.report(expected=2))
        self.assertIn("differ in mode", self.report(point(1, 1.0), point(2, 1.0, "weak"), expected=2))
        self.assertIn("nodes-0.json", self.report("{", point(2, 1.0), expected=2))
        self.assertIn("nodes-0.json", self.report(point(1, -1.0), expected=2))
        self.assertIn("nodes-0.json", self.report("[]", expected=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
