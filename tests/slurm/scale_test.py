# SPDX-License-Identifier: Apache-2.0
"""64 ranks on 16 nodes: the bits of one rank, and file operations that do not grow with the ranks.

A preloaded library notes every path that a rank opens. Only the first rank may open the recipe, the run
folder and checkpoints."""

import cluster
import toy
from cluster import PRELOAD, PROGRAM


class ScaleTest(cluster.JobTest):
    SHAPE = {"NODES": 16, "CPUS": 4, "IDLE_RANKS": "yes"}

    def opened(self, nodes, per_node):
        """Paths below the working folder that each rank opened in a training of one epoch."""
        folder = self.folder / f"opens-{nodes}"
        folder.mkdir()
        self.cluster.run("srun", "--mpi=pmix", f"-N{nodes}", f"--ntasks-per-node={per_node}", PROGRAM,
                         "train", self.folder / "shards.toml", "--run-dir", folder / "run",
                         "--set", "train.epochs=1", cwd=self.folder,
                         env={"LD_PRELOAD": PRELOAD, "QUERN_TEST_OPENS": str(folder), "OMP_NUM_THREADS": "1"})
        ranks = {}
        for file in folder.glob("opens-*"):
            paths = [line for line in file.read_text().splitlines() if str(self.folder) in line]
            ranks[int(file.name[len("opens-"):])] = [path for path in paths if "/opens-" not in path
                                                     or "/run" in path]
        self.assertEqual(sorted(ranks), list(range(nodes * per_node)))
        return ranks

    def test_64_ranks_have_the_bits_of_one(self):
        recipe = toy.RECIPE.replace("epochs = 20", "epochs = 2").replace("every_steps = 1", "every_steps = 0")
        toy.write_recipe(self.folder, "wide.toml", recipe)
        self.cluster.run(PROGRAM, "train", "wide.toml", "--run-dir", "alone", cwd=self.folder)
        job = self.job("generic", "train", "RECIPE=wide.toml", "RUN_DIR=wide", "NODES=16", "RANKS=4")
        self.complete(job, "wide", timeout_s=200)
        log = self.log("wide")
        self.assertIn("64 ranks on 16 nodes", log)
        self.assertIn("64 ranks x 1 thread", log)
        self.assertEqual(self.hash("wide"), self.hash("alone"))

    def test_file_operations(self):
        toy.write_shards(self.folder, 4)
        toy.write_recipe(self.folder, "shards.toml", toy.of_shards(self.folder / "train").replace("every_steps = 1", "every_steps = 0"))
        others, shards = {}, {}
        for nodes in (2, 16):
            for rank, paths in self.opened(nodes, 2).items():
                is_shard = [path.endswith(".h5") and "/train/" in path for path in paths]
                shards[nodes, rank] = {path for path in paths if path.endswith(".h5") and "/train/" in path}
                others[nodes, rank] = len(paths) - sum(is_shard)
        # Only the first rank touches the recipe and the run folder, as often on 32 ranks as on 4.
        self.assertGreater(others[2, 0], 0)
        self.assertEqual(others[16, 0], others[2, 0])
        self.assertEqual({count for (_, rank), count in others.items() if rank > 0}, {0})
        # The first rank inspects all shards; the others open those that they read, half of a node's.
        for (nodes, rank), paths in shards.items():
            self.assertEqual(len(paths), 4 if rank == 0 else 2, (nodes, rank))


if __name__ == "__main__":
    cluster.main()
