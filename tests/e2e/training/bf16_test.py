# SPDX-License-Identifier: Apache-2.0
"""train.precision = "bf16" on processors: the same bits on any ranks, threads and vector registers."""
import json
import signal
import unittest

import training
from program import quern
from training import metrics

BF16 = "train.precision=bf16"
LONG = (BF16, "train.epochs=150", "checkpoint.every_steps=1")
DEEP_LAYERS = """[
  {type = "flatten"},
  {type = "linear", features = 33},
  {type = "relu"},
  {type = "linear", features = 40},
  {type = "tanh"},
  {type = "dropout", p = 0.2},
  {type = "linear", features = 10},
]"""
IMAGE_LAYERS = """[
  {type = "conv2d", channels = 6, kernel = 3, padding = 1, bias = false},
  {type = "batch_norm", name = "norm1"},
  {type = "relu", name = "relu1"},
  {type = "conv2d", name = "conv2", channels = 9, kernel = 3, stride = 2},
  {type = "batch_norm", name = "norm2"},
  {type = "relu"},
  {type = "flatten"},
  {type = "linear", features = 10},
]"""
AUTO_ENCODER_LAYERS = """[
  {type = "flatten"},
  {type = "linear", features = 20},
  {type = "relu"},
  {type = "linear", features = 144},
]"""


def info():
    return json.loads(quern("info", "--json").out)


class Bf16Test(training.TrainingTest):
    def setUp(self):
        super().setUp()
        if "tiles" not in info():
            self.skipTest("this is a build for devices")

    def without_amx(self):
        """The environment in which this program multiplies tiles on vector registers."""
        about = info()
        return {"QUERN_CPU": about["kernels"].split(":")[0]} if about["tiles"] == "AMX" else {}

    def same_everywhere(self, recipe, *sets, teams=((2, 2), (3, 1))):
        self.train(recipe, "alone", BF16, *sets)
        for ranks, threads in teams:
            with self.subTest(ranks=ranks, threads=threads):
                run = f"{ranks}x{threads}"
                self.train(recipe, run, BF16, *sets, ranks=ranks, threads=threads)
                self.assert_same_run(run, "alone")
        self.train(recipe, "registers", BF16, *sets, env=self.without_amx())
        self.assert_same_run("registers", "alone")

    def test_ranks_threads_and_units_give_the_same_bits(self):
        self.same_everywhere("mlp", teams=((1, 2), (2, 1), (3, 1), (7, 1)))
        self.train("mlp", "float")
        self.assertNotEqual(self.hash("float"), self.hash("alone"))
        losses = [metrics(self.folder / run, "eval")[-1]["loss"] for run in ("alone", "float")]
        self.assertAlmostEqual(losses[0], losses[1], delta=0.02 * losses[1])

    def test_by_pairs(self):
        pairs = "train.bf16_sums=pairs"
        self.same_everywhere("mlp", pairs)
        self.train("mlp", "tiles", BF16)
        self.assertNotEqual(self.hash("tiles"), self.hash("alone"))
        losses = [metrics(self.folder / run, "eval")[-1]["loss"] for run in ("alone", "tiles")]
        self.assertAlmostEqual(losses[0], losses[1], delta=0.02 * losses[1])
        done = self.train("mlp", "alone", BF16, "train.epochs=9", expected=2)
        self.assertIn("bf16_sums", done.err)
        done = self.train("mlp", "other", pairs, expected=2)
        self.assertRegex(done.err, "bf16_sums.*precision")

    def test_says_what_is_fast_here(self):
        for sums, unit in (("tiles", "AMX"), ("pairs", "AVX512_BF16")):
            done = self.train("mlp", sums, BF16, f"train.bf16_sums={sums}")
            self.assertEqual(f"without {unit} is slower" in done.err, info()[sums] != unit, done)
            if sums == "tiles" and info()["tiles"] != "AMX":
                self.assertEqual("this processor has AVX512_BF16" in done.err, info()["pairs"] == "AVX512_BF16")

    def test_layers_between_and_larger_blocks(self):
        self.write_recipe("deep", training.RECIPE, DEEP_LAYERS)
        self.same_everywhere("deep", "data.global_batch=200", "train.micro_block=48")

    def test_images_between_convolutions_and_batch_normalisations(self):
        self.write_recipe("images", training.RECIPE, IMAGE_LAYERS)
        sets = ("train.epochs=1", "data.global_batch=100", "train.micro_block=32")
        self.same_everywhere("images", *sets)
        for first in ("norm1", "relu1", "conv2", "norm2"):
            with self.subTest(second_stage=first):
                run = f"cut_{first}"
                cut = ("parallel.pipeline=2", f'parallel.cut=["{first}"]')
                self.train("images", run, BF16, *sets, *cut, ranks=2)
                self.assert_same_run(run, "alone")
        self.train("images", "again", BF16, *sets, "train.recompute=true")
        self.assert_same_run("again", "alone")

    def test_momentum_and_clipping(self):
        recipe = training.RECIPE.replace('type = "adam"\nlr = 2e-3',
                                         'type = "sgd"\nlr = 0.05\nmomentum = 0.9\nclip_norm = 0.5')
        self.write_recipe("clipped", recipe)
        self.same_everywhere("clipped")

    def test_auto_encoder(self):
        recipe = training.RECIPE.replace('type = "cross_entropy"', 'type = "mse"').replace(
            "global_batch = 49", 'global_batch = 49\ntarget = "input"')
        self.write_recipe("encoder", recipe, AUTO_ENCODER_LAYERS)
        # The loss reads the output where the last layer computes it, unless there are many threads.
        self.same_everywhere("encoder", teams=((2, 2), (3, 1), (1, 8)))
        self.train("encoder", "stages", BF16, "parallel.pipeline=2", ranks=2)
        self.assert_same_run("stages", "alone")
        for name, key in (("pieces", "parallel.micro_batches=2"), ("again", "train.recompute=true")):
            self.train("encoder", name, BF16, key)
            self.assert_same_run(name, "alone")
        losses = [line["loss"] for line in metrics(self.folder / "alone", "epoch")]
        self.assertLess(losses[-1], losses[0])
        self.train("encoder", "float")
        exact = metrics(self.folder / "float", "epoch")[-1]["loss"]
        self.assertAlmostEqual(losses[-1], exact, delta=0.02 * exact)

    def test_killed_and_resumed_without_amx(self):
        if not self.without_amx():
            self.skipTest(f"tiles are on vector registers anyway: {info()['tiles']}")
        self.train("mlp", "whole", *LONG)
        run = self.start("mlp", "run", *LONG, env={"QUERN_CPU": "amx"})
        file = self.folder / "run" / "metrics.jsonl"
        self.assertTrue(run.wait_until(lambda: file.exists() and '"step":9,' in file.read_text()))
        run.kill()
        run = self.start("mlp", "run", *LONG, ranks=3, env=self.without_amx())
        self.assertTrue(run.wait_until(lambda: '"step":40,' in file.read_text()))
        run.send(signal.SIGTERM)
        self.assertEqual(set(run.wait().codes), {85})
        self.train("mlp", "run", *LONG, ranks=2)
        self.assert_same_run("run", "whole")

    def test_evaluates_and_predicts(self):
        self.train("mlp", "run", BF16)
        evaluated = self.quern("evaluate", "run", "--data", "test", "--json")
        self.assertEqual(evaluated.code, 0, evaluated)
        last = metrics(self.folder / "run", "eval")[-1]
        self.assertEqual(json.loads(evaluated.out)["loss"], last["loss"])
        predictions = []
        for env in ({}, self.without_amx()):
            done = self.quern("predict", "run", "--images", training.data_folder() / "test-images",
                              env=env)
            self.assertEqual(done.code, 0, done)
            predictions.append(done.out)
        self.assertEqual(predictions[0], predictions[1])
        self.assertGreater(len(predictions[0].splitlines()), 150)

    def test_divergence_names_a_layer(self):
        done = self.train("mlp", "run", BF16, "optimizer.lr=1e30", expected=93, ranks=2)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertRegex(done.errors()[0], r"diverged at step \d+ .*'fc\d'")

    def test_wish_for_amx_that_cannot_be_met(self):
        if info()["tiles"] == "AMX":
            self.assertEqual(self.quern("info", env={"QUERN_CPU": "amx"}).code, 0)
            return
        done = self.quern("info", env={"QUERN_CPU": "amx"})
        self.assertEqual(done.code, 2, done)
        self.assertRegex(done.err, "^quern: error: QUERN_CPU=amx: .*expected.*\n$")


if __name__ == "__main__":
    training.main()
