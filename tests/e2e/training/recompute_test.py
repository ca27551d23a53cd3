# SPDX-License-Identifier: Apache-2.0
"""train.recompute: less memory, and the same bits."""
import re

import training

# Dropout is drawn twice, statistics of the batch are taken once.
LAYERS = """[
  {type = "conv2d", channels = 8, kernel = 3, padding = 1, bias = false},
  {type = "batch_norm", STATISTICS},
  {type = "relu"},
  {type = "basic_block", name = "layer1", channels = 8, repeat = 3},
  {type = "dropout", p = 0.3},
  {type = "bottleneck", name = "layer2", channels = 8, stride = 2, repeat = 3},
  {type = "global_avg_pool"},
  {type = "linear", features = 10},
]"""


class RecomputeTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        for statistics in ("global", "block"):
            self.write_recipe(statistics, training.RECIPE,
                              LAYERS.replace("STATISTICS", f'statistics = "{statistics}"'))

    def plan(self, recipe, *sets):
        done = self.quern(*self.train_arguments(recipe, "dry", ("train.micro_block=0", *sets)),
                          "--dry-run")
        self.assertEqual(done.code, 0, done)
        number, unit = re.search(r"memory +([0-9.]+) (\w+) per rank", done.out).groups()
        return float(number) * {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}[unit], done.out

    def test_same_run_on_any_number_of_ranks(self):
        sets = ("train.epochs=1", "train.micro_block=7", "data.augment.crop=2")
        for statistics in ("global", "block"):
            self.train(statistics, f"{statistics}-kept", *sets)
            for ranks in (1, 2, 3):
                run = f"{statistics}-{ranks}"
                self.train(statistics, run, *sets, "train.recompute=true", ranks=ranks)
                self.assert_same_run(run, f"{statistics}-kept")

    def test_in_pieces(self):
        norm = '{type = "batch_norm", statistics = "block"}, {type = "relu"}'
        layers = "[" + "".join(f'{{type = "conv2d", channels = 6, kernel = 3, padding = 1}}, {norm}, '
                               for _ in range(6)) + '{type = "flatten"}, {type = "linear", features = 10}]'
        self.write_recipe("deep", training.RECIPE, layers)
        sets = ("train.epochs=1", "train.micro_block=7")
        self.train("deep", "whole", *sets)
        self.train("deep", "pieces", *sets, "train.recompute=true", "parallel.micro_batches=3", ranks=2)
        self.assert_same_run("pieces", "whole")

    def test_may_change_when_a_run_goes_on(self):
        sets = ("checkpoint.every_steps=10", "train.micro_block=7")
        self.train("global", "whole", *sets, "train.epochs=2")
        self.train("global", "changed", *sets, "train.epochs=1")
        self.train("global", "changed", *sets, "train.epochs=2", "train.recompute=true", ranks=2)
        self.assertEqual(self.hash("changed"), self.hash("whole"))

    def test_memory_falls(self):
        sets = ("data.global_batch=256",)
        kept, text = self.plan("global", *sets)
        self.assertNotIn("computed again", text)
        again, text = self.plan("global", *sets, "train.recompute=true")
        self.assertRegex(text, r"(?m)^computed again +[0-9.]+ KiB$")
        self.assertRegex(text, r"(?m)^recompute +\d+ of \d+ segments run forward twice$")
        self.assertLess(again, 0.6 * kept)
        self.assertGreater(self.plan("mlp", "train.recompute=true")[0], 0)

    def test_bf16_too(self):
        sets = ("train.epochs=1", "train.precision=bf16")
        for recipe in ("mlp", "global"):
            self.train(recipe, f"{recipe}-kept", *sets)
            self.train(recipe, f"{recipe}-again", *sets, "train.recompute=true", ranks=2)
            self.assert_same_run(f"{recipe}-again", f"{recipe}-kept")


if __name__ == "__main__":
    training.main()
