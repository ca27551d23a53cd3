# SPDX-License-Identifier: Apache-2.0
"""train.convolution = "winograd": the same bits on any ranks and threads, and the results of direct convolutions."""
import json
import unittest

import training
from training import metrics

WINOGRAD = "train.convolution=winograd"
# The first convolution has too few channels, the third a stride: they stay as they are.
LAYERS = """[
  {type = "conv2d", channels = 16, kernel = 3},
  {type = "batch_norm"},
  {type = "relu"},
  {type = "conv2d", channels = 18, kernel = 3, padding = 1},
  {type = "relu"},
  {type = "conv2d", channels = 16, kernel = 3, stride = 2},
  {type = "relu"},
  {type = "conv2d", channels = 20, kernel = 3},
  {type = "flatten"},
  {type = "linear", features = 10},
]"""


class WinogradTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        recipe = training.RECIPE.replace("micro_block = 4", "micro_block = 16")
        self.write_recipe("deep", recipe.replace("epochs = 3", "epochs = 2"), LAYERS)
        if "tiles" not in json.loads(self.quern("info", "--json").out):
            self.skipTest("this is a build for devices")

    def losses(self, run):
        return [line["loss"] for line in metrics(self.folder / run, "step")]

    def test_ranks_and_threads_give_the_same_bits(self):
        self.train("deep", "alone", WINOGRAD)
        for ranks, threads in ((1, 2), (2, 1), (3, 1), (4, 1)):
            with self.subTest(ranks=ranks, threads=threads):
                run = f"{ranks}x{threads}"
                self.train("deep", run, WINOGRAD, ranks=ranks, threads=threads)
                self.assert_same_run(run, "alone")

    def test_images_of_several_parts_give_the_same_bits(self):
        recipe = training.RECIPE.replace('train = "train"\ntest = "test"', 'source = "random"\nsamples = 98')
        self.write_recipe("large", recipe.replace("[1, 12, 12]", "[1, 37, 41]").replace("epochs = 3", "epochs = 1"),
                          LAYERS)
        self.train("large", "alone", WINOGRAD)
        for ranks, threads in ((1, 2), (2, 1), (3, 1)):
            with self.subTest(ranks=ranks, threads=threads):
                run = f"{ranks}x{threads}"
                self.train("large", run, WINOGRAD, ranks=ranks, threads=threads)
                self.assert_same_run(run, "alone")

    def test_has_the_losses_of_direct_convolutions(self):
        self.train("deep", "winograd", WINOGRAD)
        self.train("deep", "direct")
        self.assertNotEqual(self.hash("winograd"), self.hash("direct"))
        ours, theirs = self.losses("winograd"), self.losses("direct")
        self.assertEqual(len(ours), len(theirs))
        for step, (our, their) in enumerate(zip(ours[:20], theirs[:20], strict=True)):
            self.assertAlmostEqual(our, their, delta=1e-4 * their, msg=f"step {step}")

    def test_evaluates_with_the_same_kernels(self):
        self.train("deep", "run", WINOGRAD)
        evaluated = self.quern("evaluate", "run", "--data", "test", "--json")
        self.assertEqual(evaluated.code, 0, evaluated)
        self.assertEqual(json.loads(evaluated.out)["loss"], metrics(self.folder / "run", "eval")[-1]["loss"])

    def test_a_run_keeps_its_algorithm(self):
        self.train("deep", "run", WINOGRAD, "train.epochs=1")
        done = self.train("deep", "run", expected=2)
        self.assertIn("train.convolution", done.err)
        self.train("deep", "run", WINOGRAD)
        self.train("deep", "whole", WINOGRAD)
        self.assert_same_run("run", "whole")

    def test_says_where_it_changes_nothing(self):
        done = self.train("conv", "run", WINOGRAD)
        self.assertIn('train.convolution = "winograd" changes nothing', done.err)
        self.train("conv", "direct")
        self.assert_same_run("run", "direct")
        self.assertNotIn("winograd", self.train("deep", "deep", WINOGRAD).err)

    def test_not_with_the_kernels_of_devices(self):
        done = self.quern(*self.train_arguments("deep", "run", [WINOGRAD]), env={"QUERN_DEVICE_KERNELS": "1"})
        self.assertEqual((done.code, len(done.errors())), (2, 1), done)
        self.assertIn('train.convolution = "winograd" is for CPUs, but this quern runs the kernels of GPUs', done.err)
        self.assertFalse((self.folder / "run").exists())

    def test_not_beside_rounded_operands(self):
        done = self.train("deep", "run", WINOGRAD, "train.precision=bf16", expected=2)
        self.assertRegex(done.err, "train.convolution.*train.precision")


if __name__ == "__main__":
    training.main()
