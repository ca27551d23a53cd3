# SPDX-License-Identifier: Apache-2.0
"""Every template at the site `generic`, on real data, from jobs/submit to the files it promises."""
import json
import unittest
from pathlib import Path

import cluster
import toy
from cluster import ROOT

FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
RECIPES = ROOT / "recipes"


@unittest.skipUnless(FASHION.is_dir(), f"needs {FASHION}")
class TemplatesTest(cluster.JobTest):
    data = None

    def setUp(self):
        if TemplatesTest.data is None:
            self.prepare()

    def prepare(self):
        """The first job of everybody: data/train and data/test, made by a job."""
        sums = self.cluster.run("sh", "-c", f"cd {FASHION} && sha256sum *.gz")
        (self.folder / "sums").write_text(sums)
        values = ("generic", "prepare-data", f"IDX_DIR={FASHION}", "DATA_DIR=data",
                  "NAME=fashion-mnist", "CHECKSUMS=sums")
        self.complete(self.job(*values), "data")
        TemplatesTest.data = self.folder / "data"

    def train_values(self, recipe, run, *values):
        return ("generic", "train", f"RECIPE={RECIPES / recipe}", f"RUN_DIR={run}",
                f"SET=data.train={self.data}/train", f"SET=data.test={self.data}/test", *values)

    def test_prepare_data(self):
        self.assertEqual(len(list((self.data / "train").glob("fashion-mnist-train-*-of-00004.h5"))), 4)
        self.assertEqual(len(list((self.data / "test").glob("*.h5"))), 4)
        before = {path: path.stat().st_mtime_ns for path in self.data.glob("t*/*")}
        values = ("generic", "prepare-data", f"IDX_DIR={FASHION}", "DATA_DIR=data",
                  "NAME=fashion-mnist")
        self.complete(self.job(*values), "data")
        self.assertIn("up to date", self.log("data", "prepare-data"))
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.data.glob("t*/*")}, before)
        # Two pipelines that share a folder: one makes the shards, the other finds them.
        twins = [self.job(*values[:3], "DATA_DIR=shared", "NAME=twins", "SHARDS=2") for _ in range(2)]
        for job in twins:
            self.complete(job, "shared")
        log = self.log("shared", "prepare-data")
        self.assertEqual((log.count("/train: 2 shards"), log.count("up to date")), (1, 1), log)
        bad = (self.folder / "sums").read_text().replace("0", "1")
        (self.folder / "bad").write_text(bad)
        job = self.job(*values[:3], "DATA_DIR=other", "CHECKSUMS=bad")
        self.assertEqual(self.cluster.wait(job), ("FAILED", 2))
        self.assertFalse((self.folder / "other" / "train").exists())

    def test_w1_on_two_nodes_with_three_tasks(self):
        """The tutorial's job: 2 nodes x 3 tasks, 128 samples a rank, 2 epochs; then its evaluation
        and report."""
        self.complete(self.job(*self.train_values("mlp-mnist.toml", "w1", "NODES=2", "RANKS=3")), "w1")
        log = self.log("w1")
        self.assertRegex(log, r"6 ranks")
        job = self.job("generic", "evaluate", "RUN_DIR=w1", f"DATA={self.data}/test", "NODES=2")
        self.complete(job, "w1")
        figures = json.loads((self.folder / "w1" / "evaluate.json").read_text())
        self.assertEqual(figures["samples"], 10000)
        self.assertGreater(figures["accuracy"], 0.79)
        self.complete(self.job("generic", "report", "RUN=w1", "OUT=w1/report"), "w1/report")
        report = (self.folder / "w1" / "report" / "report.md").read_text()
        self.assertIn("mlp-mnist", report)
        kept = {path.name for path in (self.folder / "w1" / "job").iterdir()}
        self.assertLessEqual({"train.sbatch", "evaluate.sbatch", "site.env", "version.txt", "submitted.txt"}, kept)
        recipes = list((self.folder / "w1" / "job").glob("mlp-mnist-*.toml"))
        self.assertEqual([recipe.read_text() for recipe in recipes], [(RECIPES / "mlp-mnist.toml").read_text()])

    def test_split_over_two_nodes(self):
        """Two stages, each on a node whose ranks share its layers, and the weights of one rank that computes the
        same slices."""
        toy.write_recipe(self.folder)
        sliced = toy.RECIPE.replace("features = 24", "features = 128") + "[parallel]\ntensor_slices = 8\n"
        (self.folder / "sliced.toml").write_text(sliced)
        job = self.job("generic", "train", "RECIPE=sliced.toml", "RUN_DIR=split", "NODES=2", "RANKS=2", "PIPELINE=2",
                       "TENSOR=2", "MICRO_BATCHES=2", "SET=checkpoint.every_steps=0")
        self.complete(job, "split")
        self.assertIn("grid: data 1 x pipeline 2 x tensor 2", self.log("split"))
        self.assertEqual(self.hash("split"), toy.reference_hash(self.folder, "sliced", sliced))

    def test_w7(self):
        """The auto-encoder is another call of the same template."""
        job = self.job(*self.train_values("autoencoder-mnist.toml", "w7", "RANKS=2", "SET=train.epochs=1"))
        self.complete(job, "w7")
        self.assertTrue((self.folder / "w7" / "DONE").exists())

    def test_sweep(self):
        (self.folder / "grid.txt").write_text(
            "# learning rates\noptimizer.lr=1e-3\n\noptimizer.lr=2e-3 seed=1\noptimizer.lr=4e-3\n")
        common = ("generic", "sweep", f"RECIPE={RECIPES / 'mlp-mnist.toml'}", "GRID=grid.txt",
                  f"SET=data.train={self.data}/train", "SET=data.test=", "SET=train.epochs=1",
                  "SET=data.global_batch=256")
        array = self.job(*common, "RUN_DIR=array", "MAX_PARALLEL=2")
        packed = self.job(*common, "RUN_DIR=packed", "TRIALS_PER_JOB=3", "RANKS=3")
        self.complete(array, "array")
        self.complete(packed, "packed")
        self.assertEqual(self.cluster.states(array), ["COMPLETED"] * 3)
        self.assertEqual(len(self.cluster.states(packed)), 1)
        for trial in range(3):
            self.assertEqual(self.hash(f"array/trial-{trial}"), self.hash(f"packed/trial-{trial}"))
        self.assertNotEqual(self.hash("array/trial-0"), self.hash("array/trial-2"))
        recipe = (self.folder / "packed" / "trial-1" / "recipe.toml").read_text()
        self.assertRegex(recipe, r"seed = 1\b")

    def test_scaling(self):
        toy.write_recipe(self.folder)
        ids = self.jobs("generic", "scaling", "RECIPE=toy.toml", "RUN_DIR=scaling", "NODE_LIST=1,2",
                        "RANKS=2", "BATCH=64", "STEPS=5", "ROUNDS=2")
        self.complete(ids[-1], "scaling")
        report = (self.folder / "scaling" / "scaling.md").read_text()
        self.assertRegex(report, r"\| 1 \| 2 \| 64 \|")
        self.assertRegex(report, r"\| 2 \| 4 \| 64 \|")
        self.assertIn("Fewer than three node counts", report)
        self.assertTrue((self.folder / "scaling" / "scaling.csv").exists())
        # Another study does not get into this folder...
        values = ("generic", "scaling", "RECIPE=toy.toml", "RUN_DIR=scaling", "RANKS=2", "ROUNDS=2", "STEPS=5")
        for change, text in (("BATCH=128", "batch 64"), ("MODE=weak", "mode strong"), ("CPUS=2", "CPUs 1"),
                             ("SET=network.layers.0.features=1000", "settings")):
            batch = [] if change.startswith("BATCH") else ["BATCH=64"]
            done = self.submit(*values, *batch, "NODE_LIST=1", change, check=False)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertRegex(done.stderr, f"points of another study .*{text}")
        # ...and a point that fails this time is not filled up with the figure of last time.
        ids = self.jobs(*values, "NODE_LIST=1,2", "BATCH=64")
        self.cluster.run("scancel", ids[1])
        self.complete(ids[-1], "scaling")
        report = (self.folder / "scaling" / "scaling.md").read_text()
        self.assertRegex(report, r"\| 1 \| 2 \| 64 \|")
        self.assertNotRegex(report, r"\| 2 \| 4 \| 64 \|")
        self.assertIn("Not measured: 2 node(s)", report)

    def test_chain(self):
        toy.write_recipe(self.folder)
        ids = self.jobs("generic", "chain", "RECIPE=toy.toml", "RUN_DIR=chain", "COUNT=3", "TIME=10")
        self.assertEqual(len(ids), 3)
        self.wait_for_checkpoint(ids[0], "chain", after=5)
        self.assertEqual(len(self.cluster.run("squeue", "-h", "-t", "R", "-j", ",".join(ids)).split("\n")), 2)
        self.cluster.run("scancel", "--signal=USR1", ids[0])
        self.assertEqual([self.cluster.wait(job) for job in ids],
                         [("FAILED", 85), ("COMPLETED", 0), ("COMPLETED", 0)])
        self.assertIn("finished", self.log("chain", "chain-3"))
        self.assertEqual(self.hash("chain"), toy.reference_hash(self.folder))

    def test_options_of_every_job(self):
        """Slurm has them, waits for a job of somebody else as well, and drops what waits for a lost one."""
        toy.write_recipe(self.folder)
        self.cluster.run("scontrol", "create", "reservation=course", "starttime=now", "duration=30", "users=root",
                         "nodes=ALL", "flags=ignore_jobs")
        self.addCleanup(self.cluster.run, "scontrol", "delete", "reservation=course", check=False)
        short = ("RECIPE=toy.toml", "TIME=10", "SET=train.epochs=1")
        before, lost = [self.job("generic", "train", *short, f"RUN_DIR={run}", "SBATCH=--hold", "RESERVATION=course")
                        for run in ("before", "lost")]
        ids = self.jobs("generic", "chain", *short, "RUN_DIR=after", "COUNT=2", f"AFTER={before}",
                        "MAIL=ada@example.org", "COMMENT=figure 3, second try", "RESERVATION=course")
        for job in ids:
            facts = self.cluster.run("scontrol", "show", "job", job)
            for text in ("MailUser=ada@example.org", "MailType=END,FAIL", "Comment=figure 3, second try",
                         "Reservation=course", f"afterok:{before}"):
                self.assertIn(text, facts)
        dropped = self.job("generic", "train", *short, "RUN_DIR=dropped", f"AFTER={lost}")
        self.cluster.run("scancel", lost)
        self.assertEqual(self.cluster.wait(dropped)[0], "CANCELLED")
        self.assertEqual(set(self.cluster.states(",".join(ids))), {"PENDING"})
        self.cluster.run("scontrol", "release", before)
        for job in ids:
            self.complete(job, "after")
        self.assertTrue((self.folder / "before" / "DONE").exists())

    def test_pipeline(self):
        ids = self.jobs("generic", "pipeline", f"RECIPE={RECIPES / 'mlp-mnist.toml'}", "RUN_DIR=pipe",
                        f"IDX_DIR={FASHION}", "DATA_DIR=pipe-data", "RANKS=2", "SET=train.epochs=1")
        self.assertEqual(len(ids), 4)
        for job in ids:
            self.complete(job, "pipe")
        self.assertTrue((self.folder / "pipe" / "report" / "report.md").exists())
        self.assertGreater(json.loads((self.folder / "pipe" / "evaluate.json").read_text())["accuracy"], 0.79)

    def test_pipeline_that_breaks(self):
        """What can no longer start leaves the queue."""
        ids = self.jobs("generic", "pipeline", f"RECIPE={RECIPES / 'mlp-mnist.toml'}", "RUN_DIR=broken",
                        f"IDX_DIR={FASHION}", "DATA_DIR=data", "NAME=fashion-mnist",
                        "SET=optimizer.lr=1e30")
        states = [self.cluster.wait(job) for job in ids]
        self.assertEqual(states[1], ("FAILED", 93), self.log("broken"))
        self.assertEqual([state for state, _ in states[2:]], ["CANCELLED", "CANCELLED"])



if __name__ == "__main__":
    cluster.main()
