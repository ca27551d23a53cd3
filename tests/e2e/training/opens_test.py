# SPDX-License-Identifier: Apache-2.0
"""Which files each rank opens: a file system for thousands of ranks is not asked by all of them."""
import sys
from pathlib import Path

import training

PRELOAD = Path(sys.argv.pop(3)).resolve()  # tests/support/preload.cpp


class OpensTest(training.TrainingTest):
    def opened(self, ranks, *arguments):
        """The files below the working folder that each rank opens, as often as it does."""
        notes = self.folder / f"notes-{ranks}"
        notes.mkdir()
        variables = {"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_OPENS": str(notes)}
        done = training.Run(*arguments, ranks=ranks, env=variables, cwd=self.folder).wait()
        self.assertEqual(set(done.codes), {0}, done)
        opened = []
        for rank in range(ranks):
            paths = [Path(line) for line in (notes / f"opens-{rank}").read_text().splitlines()]
            opened.append([str(path) for path in paths
                           if not path.is_absolute() or self.folder in path.parents])
        return opened

    def shards(self, paths, split):
        return [path for path in paths if Path(path).parent.name == split]

    def test_a_rank_opens_the_shards_that_it_reads(self):
        for ranks in (2, 3):
            arguments = self.train_arguments("mlp", f"run-{ranks}", ["train.epochs=1"])
            opened = self.opened(ranks, *arguments)
            for split, number in (("train", 3), ("test", 2)):
                for rank in range(ranks):
                    read = len(range(rank, number, ranks))
                    files = set(self.shards(opened[rank], split))
                    # The first rank inspects all of them.
                    self.assertEqual(len(files), number if rank == 0 else read, (split, ranks, rank))

    def test_ranks_share_the_inspection_of_many_shards(self):
        (self.folder / "train").unlink()
        training.make_shards(self.folder, "train", *training.idx.blobs(600), shards=64)
        opened = self.opened(2, *self.train_arguments("mlp", "run", ["train.epochs=1"]))
        for rank in range(2):
            numbers = {int(Path(path).name.split("-")[2])
                       for path in self.shards(opened[rank], "train")}
            inspected = range(32 * rank, 32 * rank + 32)
            self.assertEqual(numbers, {*inspected, *range(rank, 64, 2)}, rank)

    def test_each_rank_begins_with_another_shard(self):
        (self.folder / "train").unlink()
        training.make_shards(self.folder, "train", *training.idx.blobs(600), shards=12)
        opened = self.opened(2, *self.train_arguments("mlp", "run", ["train.epochs=1"]))
        numbers = [int(Path(path).name.split("-")[2]) for path in self.shards(opened[1], "train")]
        self.assertEqual(list(dict.fromkeys(numbers)), [7, 9, 11, 1, 3, 5])

    def test_only_the_first_rank_opens_anything_else(self):
        opened = self.opened(2, *self.train_arguments("mlp", "run", ["train.epochs=1"]))
        others = [[path for path in paths
                   if not self.shards([path], "train") + self.shards([path], "test")]
                  for paths in opened]
        self.assertIn("mlp.toml", [Path(path).name for path in others[0]])
        self.assertEqual(others[1], [])


if __name__ == "__main__":
    training.main()
