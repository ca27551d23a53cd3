# SPDX-License-Identifier: Apache-2.0
"""One node of a job fails where the others do not: the run goes on without it."""
import contextlib
import os
import shutil
import signal

import cluster
import ranks
import toy


class NodesTest(cluster.JobTest):
    SHAPE = {"NODES": 3, "CPUS": 4, "CRED_EXPIRE": 5}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = cls.folder / "train"
        toy.write_shards(cls.folder, 2)
        toy.write_recipe(cls.folder, text=toy.of_shards(cls.data))

    def start(self, run, *values):
        return self.job("generic", "train", "RECIPE=toy.toml", f"RUN_DIR={run}", "TIME=10", *values)

    @contextlib.contextmanager
    def without(self, folder, *nodes):
        self.cluster.hide(folder, *nodes)
        try:
            yield
        finally:
            self.cluster.show(folder, *nodes)

    def assert_done(self, run):
        self.assertTrue((self.folder / run / "DONE").exists())
        self.assertEqual(self.hash(run), toy.reference_hash(self.folder, text=toy.of_shards(self.data)))

    def test_data_that_one_node_cannot_read(self):
        for run, node, others in (("second", "node2", "node[1,3]"), ("first", "node1", "node[2-3]")):
            with self.subTest(run):
                job = self.start(run, "NODES=2", "RANKS=2")
                self.wait_for_checkpoint(job, run, after=5)
                self.assertEqual(self.cluster.facts(job)["NodeList"], "node[1-2]")
                with self.without(self.data, node):
                    self.cluster.run("scontrol", "requeue", job)
                    self.complete(job, run)
                log = self.log(run)
                self.assertIn(f"preflight: failed on {node}; good on 1 other node\n", log)
                self.assertEqual(log.count(f"only some nodes of this job fail: {node}\n"), 1, log)
                self.assertIn(f"left out from now on: {node}\n", log)
                facts = self.cluster.facts(job)
                self.assertEqual((facts["NodeList"], facts["ExcNodeList"], facts["Restarts"]), (others, node, "2"))
                self.assert_done(run)

    def test_without_other_nodes_none_is_left_out(self):
        job = self.start("fewer", "NODES=2", "RANKS=1", "SBATCH=--exclude=node3")
        self.wait_for_checkpoint(job, "fewer", after=5)
        with self.without(self.data, "node2"):
            self.cluster.run("scontrol", "requeue", job)
            self.wait_for_line("fewer", "requeueing")
        # No two nodes are left: it got the same ones once more.
        self.complete(job, "fewer")
        self.assertIn("not left out, for there are no other nodes: node2", self.log("fewer"))
        self.assertEqual(self.cluster.facts(job)["ExcNodeList"], "node3")
        self.assert_done("fewer")

    def test_data_that_no_node_can_read(self):
        for nodes in (1, 2):
            with self.without(self.data, "node1", "node2", "node3"):
                job = self.start(f"none-{nodes}", f"NODES={nodes}")
                self.assertEqual(self.cluster.wait(job), ("FAILED", 2))
            self.assertIn("preflight: refused", self.log(f"none-{nodes}"))
            self.assertEqual(self.cluster.facts(job)["Restarts"], "0")

    def test_a_node_whose_files_hang(self):
        """Its first rank never comes back from reading the recipe."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        job = self.start("hanging", "NODES=2", "RANKS=2", "PREFLIGHT_TIMEOUT=8")
        self.wait_for_checkpoint(job, "hanging", after=5)
        self.assertEqual(self.cluster.facts(job)["NodeList"], "node[1-2]")
        (recipe,) = (self.folder / "hanging" / "job").glob("*.toml")
        self.cluster.in_nodes(["node2"], "mount", "--bind", pipe, recipe)
        try:
            self.cluster.run("scontrol", "requeue", job)
            self.complete(job, "hanging")
        finally:
            self.cluster.show(recipe, "node2")
        log = self.log("hanging")
        self.assertRegex(log, r"no answer from 1 of 4 ranks within 8 s during .*: rank 2 on node2; ")
        self.assertIn("preflight: failed on node2; good on 1 other node\n", log)
        facts = self.cluster.facts(job)
        self.assertEqual((facts["NodeList"], facts["ExcNodeList"], facts["Restarts"]), ("node[1,3]", "node2", "2"))
        self.assert_done("hanging")

    def test_a_node_that_kills_ranks(self):
        job = self.start("killing", "NODES=2", "RANKS=2")
        for starts, nodes in (1, "node[1-2]"), (2, "node[1,3]"):
            self.cluster.wait_until(lambda: self.log("killing").count("continuing from") == starts - 1, 180,
                                    lambda: self.log("killing"))
            self.wait_for_checkpoint(job, "killing", after=max(self.checkpoint_steps("killing"), default=0) + 5)
            ranks.send([pid for pid in ranks.find(self.folder / "killing")
                        if ranks.variable(pid, "SLURM_PROCID") == "3"], signal.SIGKILL)
            self.cluster.wait_until(lambda: self.log("killing").count("] start ") == starts + 1, 180,
                                    lambda: self.log("killing"))
            self.assertEqual(self.cluster.facts(job)["NodeList"], nodes)
        self.complete(job, "killing")
        log = self.log("killing")
        self.assertEqual(log.count("a rank was killed on node2 2 times in this job\n"), 1, log)
        facts = self.cluster.facts(job)
        self.assertEqual((facts["ExcNodeList"], facts["Restarts"]), ("node2", "2"))
        self.assert_done("killing")

    def test_retries_bound_it(self):
        with self.without(self.data, "node2"):
            job = self.start("bounded", "NODES=3", "RETRIES=1")
            self.assertEqual(self.cluster.wait(job), ("FAILED", 1))
        self.assertIn("tried again 1 times", self.log("bounded"))
        self.assertEqual(self.cluster.facts(job)["Restarts"], "1")

    def test_a_program_that_one_node_lacks(self):
        folder = self.folder / "program"
        folder.mkdir()
        shutil.copy(cluster.PROGRAM, folder / "quern")
        with self.without(folder, "node2"):
            job = self.start("lacking", "NODES=2", f"QUERN={folder}/quern")
            self.complete(job, "lacking")
        log = self.log("lacking")
        self.assertIn("only some nodes of this job fail: node2\n", log)
        facts = self.cluster.facts(job)
        self.assertEqual((facts["NodeList"], facts["ExcNodeList"], facts["Restarts"]), ("node[1,3]", "node2", "1"))
        self.assert_done("lacking")

    def test_a_run_folder_that_can_no_longer_be_written(self):
        run = self.folder / "locked"
        job = self.start("locked", "NODES=1", "RANKS=2")
        self.wait_for_checkpoint(job, "locked", after=5)
        node = self.cluster.facts(job)["NodeList"]
        self.cluster.lock(run, node)
        try:
            self.wait_for_line("locked", "requeueing")
        finally:
            self.cluster.show(run, node)
        self.complete(job, "locked")
        log = self.log("locked")
        self.assertIn("failed: exit status 1", log)
        self.assertNotIn("slurm_script: line", log)
        self.assertEqual(self.cluster.facts(job)["Restarts"], "1")
        self.assert_done("locked")


if __name__ == "__main__":
    cluster.main()
