# SPDX-License-Identifier: Apache-2.0
import unittest

from fakes import ROOT

from workloads import ProblemError, batch_size, read_recipe, step_gemms


def load(workload):
    return read_recipe(ROOT / "recipes", workload)[1]


class WorkloadsTest(unittest.TestCase):
    def test_flop_of_a_step_as_counted_by_hand(self):
        # 2 x (134400 forward + 134400 weight gradients + 34048 input gradients) x 128 samples etc.
        for workload, per_sample in (("W1", 2 * 302848), ("W2", 2 * 6629400), ("W7", 2 * 600064)):
            recipe = load(workload)
            self.assertEqual(sum(gemm.flop for gemm in step_gemms(recipe)),
                             per_sample * batch_size(recipe), workload)

    def test_products_of_the_mlp(self):
        gemms = step_gemms(load("W1"))
        self.assertEqual(len(gemms), 11)
        self.assertEqual([gemm.shape for gemm in gemms[:5]],
                         ["nt 128 128 784", "tn 128 784 128", "nt 128 128 128", "tn 128 128 128",
                          "nn 128 128 128"])
        self.assertEqual((gemms[-1].layer, gemms[-1].what, gemms[-1].shape),
                         ("fc4", "input_gradient", "nn 128 128 10"))

    def test_convolutions_as_im2col(self):
        shapes = {(gemm.layer, gemm.what): gemm.shape for gemm in step_gemms(load("W2"))}
        self.assertEqual(shapes["conv1", "forward"], "nt 173056 20 9")
        self.assertEqual(shapes["conv2", "weight_gradient"], "tn 50 500 20736")
        self.assertEqual(shapes["conv2", "input_gradient"], "nn 20736 500 50")
        self.assertEqual(shapes["fc1", "forward"], "nt 256 128 800")
        self.assertNotIn(("conv1", "input_gradient"), shapes)

    def test_a_recipe_that_is_not_there(self):
        with self.assertRaisesRegex(ProblemError, "cannot read recipe"):
            read_recipe(ROOT / "nowhere", "W1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
