# SPDX-License-Identifier: Apache-2.0
"""What the profiles of sites refuse, ask for and add. Whether a Slurm takes it: tests/slurm/sites_test.py."""
import re
import sys
import unittest

from submit_case import SubmitCase


class SitesTest(SubmitCase):
    def of_train(self, site, *values):
        """The #SBATCH options of a training at the site: {name: value}."""
        text = self.filled(site, "train", "RECIPE=mlp.toml", "RUN_DIR=run", "ACCOUNT=p1", *values)
        return dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(.*))?$", text, flags=re.M))

    def refused(self, site, *values, template="train"):
        done = self.submit("-n", site, template, "RECIPE=mlp.toml", "RUN_DIR=run", "ACCOUNT=p1", *values)
        self.assertEqual(done.returncode, 2, done.stdout)
        return done.stderr

    def test_nodes_and_devices_of_a_job(self):
        options = self.of_train("roihu-gpu", "NODES=2", "RANKS=2")
        self.assertEqual((options["partition"], options["gres"]), ("gpumedium", "gpu:gh200:2"))
        self.assertIn("NODES=2 x RANKS=4: 8 device(s) in a job: roihu-gpu allows 1-4 in PARTITION=gpumedium",
                      self.refused("roihu-gpu", "NODES=2"))
        self.assertIn("allows 4-40", self.refused("roihu-gpu", "NODES=2", "RANKS=1", "PARTITION=gpularge"))
        self.assertIn("4 device(s)", self.refused("perlmutter", "QOS=shared"))
        self.assertNotIn("exclusive", self.of_train("perlmutter", "QOS=shared", "RANKS=2"))
        self.filled("roihu-gpu", "scaling", "RECIPE=mlp.toml", "RUN_DIR=scaling", "ACCOUNT=p1", "BATCH=64",
                    "NODE_LIST=1,2,4", "RANKS=1")

    def test_cores_for_each_device(self):
        for site in ("truba-kolyoz", "truba-palamut"):
            self.assertEqual(self.of_train(site, "RANKS=2", "CPUS=32")["cpus-per-task"], "32")
            self.assertIn("expects 16 CPUs for each GPU, or a multiple of that",
                          self.refused(site, "RANKS=2", "CPUS=20"))
        self.assertIn("at least 10 CPUs", self.refused("truba-akya", "CPUS=4"))
        self.assertIn("exactly 72 CPUs", self.refused("roihu-gpu", "CPUS=36"))
        self.assertEqual(self.of_train("truba-kolyoz", "NODES=30", "CONSTRAINT=H200")["nodes"], "30")
        self.assertIn("not among what is known", self.refused("truba-kolyoz", "PARTITION=debug"))

    def test_processor_nodes(self):
        for site, partition, ranks, cpus in (("truba-orfoz", "orfoz", 2, 56), ("truba-hamsi", "hamsi", 2, 28),
                                             ("lumi-c", "standard", 8, 16), ("roihu-cpu", "medium", 2, 192),
                                             ("marenostrum5-gpp", "gpp", 2, 56), ("perlmutter-cpu", None, 8, 32)):
            options = self.of_train(site, "NODES=2")
            self.assertEqual((options.get("partition"), options["ntasks-per-node"], options["cpus-per-task"]),
                             (partition, str(ranks), str(cpus)), site)
            self.assertFalse({"gres", "gpus-per-node"} & set(options), site)
        self.assertIn("RANKS=4 x CPUS=4: 16 CPUs of a node: truba-orfoz allows 56-112",
                      self.refused("truba-orfoz", "RANKS=4", "CPUS=4"))
        self.of_train("truba-orfoz", "RANKS=4", "CPUS=4", "PARTITION=debug", "TIME=00:30:00")
        self.assertIn("380 CPUs of a node", self.refused("roihu-cpu", "RANKS=5"))
        self.assertEqual(self.of_train("roihu-cpu", "NODES=8", "PARTITION=large")["nodes"], "8")
        # Hardware threads: half as many OpenMP threads as CPUs.
        self.assertIn("threads=16\n", self.filled("perlmutter-cpu", "train", "RECIPE=mlp.toml", "RUN_DIR=run", "ACCOUNT=p"))

    def test_jobs_of_one_process(self):
        def report(site):
            (self.folder / "old").mkdir(exist_ok=True)
            (self.folder / "old" / "recipe.toml").touch()
            text = self.filled(site, "report", "RUN=old", "OUT=report", "ACCOUNT=m1_g")
            return dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", text, flags=re.M))
        for site in ("truba-akya", "truba-barbun"):
            options = report(site)
            self.assertEqual((options["partition"], options["cpus-per-task"]), ("barbun", "20"))
            self.assertNotIn("gres", options)
        self.assertEqual(report("perlmutter")["account"], "m1")
        self.assertEqual(self.of_train("perlmutter", "QOS=premium")["qos"], "premium")
        self.assertEqual(report("truba-hamsi")["cpus-per-task"], "28")

    def test_queues_of_other_programmes(self):
        self.assertEqual(self.of_train("marenostrum5-acc", "QOS=acc_resa", "NODES=50")["qos"], "acc_resa")
        self.assertIn("NODES=20", self.refused("marenostrum5-acc", "QOS=acc_resc", "NODES=20"))
        self.of_train("leonardo-booster", "QOS=boost_qos_bprod", "NODES=128")
        for site in ("leonardo-booster", "frontier"):
            self.of_train(site, "QOS=normal", "TIME=02:00:00")

    def test_user_environments(self):
        done = self.submit("-n", "alps-daint", "train", "RECIPE=mlp.toml", "RUN_DIR=run", "ACCOUNT=p1")
        self.assertIn("warning: no UENV", done.stderr)
        self.assertEqual(done.stderr.count("UENV"), 1)
        plans = {"pipeline": (4, [f"IDX_DIR={self.folder}", "DATA_DIR=data"]), "chain": (2, ["COUNT=2"]),
                 "scaling": (3, ["BATCH=64", "NODE_LIST=1,2"])}
        for template, (count, values) in plans.items():
            text = self.filled("alps-daint", template, "RECIPE=mlp.toml", "RUN_DIR=run", "ACCOUNT=p1", *values,
                               "UENV=prgenv-gnu/25.6:v2", "VIEW=default", "SBATCH=--nice=5")
            jobs = re.split(r"^(?=#!/bin/bash$)", text, flags=re.M)[1:]
            self.assertEqual(len(jobs), count)
            for job in jobs:
                self.assertIn("#SBATCH --uenv=prgenv-gnu/25.6:v2\n", job)
                self.assertIn("#SBATCH --view=default\n", job)
                self.assertIn("#SBATCH --nice=5\n", job)
        self.assertIn("of which UENV", self.refused("alps-daint", "VIEW=default"))
        self.assertIn("lumi-g has no user environments", self.refused("lumi-g", "UENV=prgenv-gnu"))
        self.assertIn("UENV= is the key", self.refused("alps-daint", "SBATCH=--uenv=prgenv-gnu"))


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
