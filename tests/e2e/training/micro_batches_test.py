# SPDX-License-Identifier: Apache-2.0
"""parallel.micro_batches: less memory, and the same bits."""
import re
import shutil

import training
from training import metrics, results

BLOCK_NORM = """[
  {type = "conv2d", channels = 5, kernel = 3},
  {type = "batch_norm", statistics = "block"},
  {type = "relu"},
  {type = "flatten"},
  {type = "linear", features = 10},
]"""


def pieces(count):
    return f"parallel.micro_batches={count}"


class MicroBatchesTest(training.TrainingTest):
    def test_same_run_on_any_number_of_ranks(self):
        # 9 blocks of 6 samples, the last of one; the last batch has two.
        sets = ("train.micro_block=6", "train.epochs=2", "data.augment.crop=2")
        self.train("conv", "whole", *sets)
        for ranks, count in ((1, 2), (1, 100), (2, 3), (3, 2), (3, 7)):
            run = f"{ranks}-{count}"
            self.train("conv", run, *sets, pieces(count), ranks=ranks)
            self.assert_same_run(run, "whole")
        steps = [line["loss"] for line in metrics(self.folder / "whole", "step")]
        self.assertEqual(steps, [line["loss"] for line in metrics(self.folder / "3-7", "step")])

    def test_resume_with_other_pieces(self):
        sets = ("train.epochs=2", "checkpoint.every_steps=20")
        self.train("conv", "whole", *sets)
        first = training.checkpoint_file(self.folder / "whole", 20)
        for count, ranks in ((3, 1), (2, 2)):
            name = f"resumed-{count}"
            file = training.checkpoint_file(self.folder / name, 20)
            file.parent.mkdir(parents=True)
            shutil.copy(first, file)
            self.train("conv", name, *sets, pieces(count), ranks=ranks)
            self.assertEqual(results(self.folder / name), results(self.folder / "whole")[2:])
            self.assertEqual(self.hash(name), self.hash("whole"))
        again = self.quern("evaluate", "resumed-3", "--data", "test")
        self.assertEqual(again.code, 0, again)
        self.assertEqual(again.out.split("on ")[1],
                         self.quern("evaluate", "whole", "--data", "test").out.split("on ")[1])

    def test_memory_falls(self):
        def plan(*sets):
            settings = training.TrainingTest.train_arguments(
                "conv", "dry", ("data.global_batch=512", "train.micro_block=0", *sets))
            done = self.quern(*settings, "--dry-run")
            self.assertEqual(done.code, 0, done)
            number, unit = re.search(r"memory +([0-9.]+) (\w+) per rank", done.out).groups()
            return float(number) * {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}[unit], done.out

        whole, text = plan()
        self.assertNotIn("micro-batches", text)
        four, text = plan(pieces(4))
        self.assertRegex(text, r"micro-batches +4 of at most 128 samples, one after the other")
        most, text = plan(pieces(1000))
        self.assertRegex(text, r"micro-batches +16 of at most 32 samples, one after the other")
        self.assertLess(four, 0.5 * whole)
        self.assertLess(most, four)

    def test_batch_normalisation(self):
        self.write_recipe("norm", training.RECIPE, BLOCK_NORM)
        self.train("norm", "whole", "train.epochs=1", "train.micro_block=6",
                   "data.global_batch=50")
        for ranks, count in ((1, 3), (2, 2)):
            self.train("norm", f"{ranks}-{count}", "train.epochs=1", "train.micro_block=6",
                       "data.global_batch=50", pieces(count), ranks=ranks)
            self.assert_same_run(f"{ranks}-{count}", "whole")
        self.write_recipe("global", training.RECIPE, BLOCK_NORM.replace("block", "global"))
        done = self.train("global", "refused", pieces(2), expected=2)
        self.assertIn('parallel.micro_batches: 2 contradicts statistics = "global" of layer', done.err)


if __name__ == "__main__":
    training.main()
