# SPDX-License-Identifier: Apache-2.0
"""Launches that would burn an allocation are refused within seconds, and say what to change."""
import json
import re

import cluster
import toy
from cluster import PROGRAM


class PreflightTest(cluster.JobTest):
    SHAPE = {"NODES": 2, "CPUS": 4, "GPUS": 2}

    def step(self, *args, expected, launcher=("--mpi=pmix",), tasks=("-N2", "--ntasks-per-node=2")):
        done = self.cluster.run("srun", *launcher, *tasks, PROGRAM, "preflight", *args,
                                cwd=self.folder, check=False)
        self.assertEqual(done.returncode, expected, done.stdout + done.stderr)
        return done

    def errors(self, done):
        return [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(
            ("error:", "quern: error:"))]

    def test_good_launch(self):
        toy.write_recipe(self.folder)
        done = self.step("toy.toml", "--run-dir", "run", "--ranks", "4", "--json", expected=0)
        facts = json.loads(done.stdout)
        self.assertTrue(facts["good"])
        self.assertEqual([rank["rank"] for rank in facts["ranks"]], [0, 1, 2, 3])
        self.assertEqual(facts["files"]["checkpoints"], 4)
        self.assertEqual(set(facts["versions"]), {"quern", "commit", "mpi", "hdf5"})
        self.assertNotIn("", facts["versions"].values())
        self.assertFalse((self.folder / "run").exists())
        table = self.step(expected=0).stdout
        self.assertRegex(table, r"rank +host +device +threads +cores\n +0 ")
        self.assertIn("good to go", table)

    def test_single_rank_launches_of_srun(self):
        """srun that cannot connect its tasks: one message, which names the flag."""
        done = self.step(expected=2, launcher=("--mpi=none",))
        self.assertEqual(len(self.errors(done)), 1, done.stderr)
        self.assertIn("4 processes without the means to find each other", done.stderr)
        self.assertIn("--mpi=pmix", done.stderr)

    def test_many_launches_of_one_rank(self):
        """A batch script that starts quern once per task."""
        script = self.folder / "many.sh"
        script.write_text("#!/bin/bash\n"
                          "#SBATCH --nodes=1 --ntasks-per-node=3 --time=5 --output=many.out\n"
                          "for i in 1 2 3; do\n"
                          f"  srun --exact -n1 --mem=50 --mpi=pmix {PROGRAM} preflight &\n"
                          "  pids+=($!)\ndone\n"
                          'for pid in "${pids[@]}"; do wait "$pid" || echo "status $?"; done\n')
        job = self.cluster.run("sbatch", "--parsable", script, cwd=self.folder).strip()
        self.cluster.wait(job)
        out = (self.folder / "many.out").read_text()
        self.assertEqual(out.count("status 2"), 3, out)
        self.assertEqual(out.count("one rank alone in a Slurm job of 3 tasks"), 3, out)

    def test_fewer_ranks_than_expected(self):
        done = self.step("--ranks", "6", expected=2)
        self.assertEqual(len(self.errors(done)), 1, done.stdout)
        self.assertIn("4 ranks found each other, 6 were expected", done.stdout)

    def test_grid(self):
        """Two nodes of two ranks: stages may lie on one each, ranks that share a layer have to."""
        toy.write_recipe(self.folder)
        sets = lambda *keys: [word for key in keys for word in ("--set", f"parallel.{key}")]
        good = self.step("toy.toml", *sets("pipeline=2", "tensor=2"), expected=0).stdout
        stages = re.findall(r"  stage (\d): ranks (\d) to (\d) on (\S+)\n", good)
        self.assertEqual([stage[:3] for stage in stages], [("0", "0", "1"), ("1", "2", "3")], good)
        self.assertNotEqual(stages[0][3], stages[1][3])
        facts = json.loads(self.step("toy.toml", *sets("strategy=pipeline", "pipeline=2"), "--json",
                                     expected=0).stdout)
        self.assertEqual(facts["grid"], {"data": 2, "pipeline": 2, "tensor": 1})
        for keys, text in ((("strategy=tensor",), "ranks 0 to 3 share every layer (parallel.tensor = 4), but lie on"),
                           (("pipeline=3",), "4 ranks cannot be cut into groups of 3 (pipeline) x 1 (tensor)"),
                           (("strategy=single",), "4 ranks were started"),
                           (("strategy=pipeline",), "expected at most 3 stages"),
                           (("cut=[\"fc2\",\"none\"]", "pipeline=2", "tensor=2"), "parallel.cut")):
            done = self.step("toy.toml", *sets(*keys), expected=2)
            self.assertEqual(len(self.errors(done)), 1, done.stdout + done.stderr)
            self.assertIn(text, done.stdout + done.stderr)

    def test_refused_before_training(self):
        """The train template does not get to its training step."""
        toy.write_recipe(self.folder)
        recipe = self.folder / "shards.toml"
        recipe.write_text(toy.RECIPE.replace('source = "random"\nsamples = 1280', 'train = "none"')
                          .replace('target = "values"', 'target = "label"').replace('"mse"', '"cross_entropy"'))
        job = self.job("generic", "train", "RECIPE=shards.toml", "RUN_DIR=refused", "NODES=2")
        self.assertEqual(self.cluster.wait(job), ("FAILED", 2))
        log = self.log("refused")
        self.assertIn("preflight: refused", log)
        self.assertIn("'none'", log)
        self.assertFalse((self.folder / "refused" / "metrics.jsonl").exists())

    def test_data_that_some_nodes_cannot_read(self):
        """Other nodes may help, where one of them reads it; which one is rank 0's does not matter."""
        toy.write_shards(self.folder, 3)
        toy.write_recipe(self.folder, "some.toml", toy.of_shards(self.folder / "train"))
        for nodes, status, verdict in ((("node1",), 1, "failed on node1; good on 1 other node"),
                                       (("node2",), 1, "failed on node2; good on 1 other node"),
                                       (("node1", "node2"), 2, "refused")):
            with self.subTest(nodes=nodes):
                self.cluster.hide(self.folder / "train", *nodes)
                try:
                    done = self.step("some.toml", expected=status)
                    facts = json.loads(self.step("some.toml", "--json", expected=status).stdout)
                finally:
                    self.cluster.show(self.folder / "train", *nodes)
                self.assertTrue(done.stdout.endswith(f"\npreflight: {verdict}\n"), done.stdout)
                self.assertEqual(len(self.errors(done)), 1, done.stdout)
                self.assertEqual(facts["failing_hosts"], list(nodes) if status == 1 else [])
                self.assertEqual(facts["findings"][0]["hosts"], list(nodes))
        self.step("some.toml", expected=0)

    def test_devices_nobody_uses(self):
        done = self.step(expected=0, tasks=("-N1", "-n2", "--gpus-per-node=2"))
        self.assertIn("warning: devices", done.stdout)

    def test_cores_are_divided_by_the_program(self):
        done = self.cluster.run("srun", "--mpi=pmix", "-N1", "-n2", PROGRAM, "preflight", "--json",
                                cwd=self.folder, env={"QUERN_BIND": "cores"})
        ranks = json.loads(done)["ranks"]
        cores = [set(rank["cores"]) for rank in ranks]
        if len(cores[0] | cores[1]) > 1:
            self.assertEqual(cores[0] & cores[1], set())
        done = self.cluster.run("srun", "--mpi=pmix", "-n2", PROGRAM, "preflight", check=False,
                                env={"QUERN_BIND": "sockets"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("QUERN_BIND=sockets", done.stderr)


if __name__ == "__main__":
    cluster.main()
