# SPDX-License-Identifier: Apache-2.0
"""The same bits for any number of ranks and threads."""
import training
from training import metrics


class InvarianceTest(training.TrainingTest):
    def same_for_all_ranks(self, recipe):
        self.train(recipe, "alone")
        for ranks, threads in ((1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (7, 1), (1, 2), (2, 2),
                               (3, 2)):
            with self.subTest(ranks=ranks, threads=threads):
                run = f"{ranks}x{threads}"
                self.train(recipe, run, ranks=ranks, threads=threads)
                self.assert_same_run(run, "alone")
        steps = [line["loss"] for line in metrics(self.folder / "alone", "step")]
        self.assertEqual(steps, [line["loss"] for line in metrics(self.folder / "7x1", "step")])
        self.assertEqual(len(steps), 3 * 13)

    def test_convolution_and_dropout(self):
        self.same_for_all_ranks("conv")

    def test_multi_layer_perceptron(self):
        self.same_for_all_ranks("mlp")

    def test_smoothed_labels_and_linear_layers_without_bias(self):
        self.write_recipe("bare", training.RECIPE, """[
  {type = "flatten"},
  {type = "linear", features = 130, bias = false},
  {type = "relu"},
  {type = "linear", features = 19, bias = false},
  {type = "layer_norm"},
  {type = "linear", features = 10, bias = false},
]""")
        sets = ("loss.label_smoothing=0.1", "train.epochs=2",
                "optimizer.schedule={type='multi_step', milestones=[1], warmup_epochs=1}")
        hashes = set()
        for kind in ((), ("train.precision=bf16",), ("parallel.tensor_slices=2",), ("train.recompute=true",)):
            name = "-".join(kind).replace("=", ".") or "plain"
            self.train("bare", name, *sets, *kind)
            for ranks, threads in ((2, 1), (3, 2)):
                run = f"{name}-{ranks}"
                self.train("bare", run, *sets, *kind, ranks=ranks, threads=threads)
                self.assert_same_run(run, name)
            hashes.add(self.hash(name))
        self.assertEqual(len(hashes), 3)  # recompute changes nothing
        rates = [line["lr"] for line in metrics(self.folder / "plain", "step")]
        expected = [2e-3 * (step + 1) / 13 for step in range(13)] + [2e-4] * 13
        for rate, wanted in zip(rates, expected, strict=True):
            self.assertAlmostEqual(rate, wanted, delta=1e-6 * wanted)
        self.train("bare", "split", "parallel.tensor=2", *sets, ranks=4)
        self.train("bare", "slices", "parallel.tensor_slices=8", *sets)
        self.assert_same_run("split", "slices")
        self.train("bare", "resumed", *sets, "train.epochs=1", ranks=3)
        self.train("bare", "resumed", *sets, ranks=2)
        self.assertEqual(self.hash("resumed"), self.hash("plain"))

    def test_branches(self):
        self.write_recipe("branches", training.RECIPE, """[
  {type = "conv2d", channels = 5, kernel = 3, padding = 1},
  {type = "relu"},
  {type = "conv2d", channels = 5, kernel = 3, padding = 1},
  {type = "add", inputs = ["conv2", "relu1"]},
  {type = "relu"},
  {type = "flatten"},
  {type = "linear", features = 10},
]""")
        for ranks in (1, 3):
            self.train("branches", f"on{ranks}", "train.epochs=1", ranks=ranks)
        self.assert_same_run("on3", "on1")

    def test_batch_norm(self):
        for statistics in ("global", "block", "running"):
            norm = f'{{type = "batch_norm", statistics = "{statistics}"}}'
            self.write_recipe(statistics, training.RECIPE, f"""[
  {{type = "conv2d", channels = 5, kernel = 3, stride = 2}},
  {norm},
  {{type = "relu"}},
  {{type = "flatten"}},
  {{type = "linear", features = 20}},
  {norm},
  {{type = "tanh"}},
  {{type = "linear", features = 10}},
]""")
            sets = ("train.epochs=1", "train.micro_block=7")
            self.train(statistics, f"{statistics}-alone", *sets)
            for ranks, threads in ((3, 1), (7, 1), (1, 2)):
                run = f"{statistics}-{ranks}x{threads}"
                self.train(statistics, run, *sets, ranks=ranks, threads=threads)
                self.assert_same_run(run, f"{statistics}-alone")
        self.assertNotEqual(self.hash("global-alone"), self.hash("block-alone"))

    def test_sharded_optimizer(self):
        self.train("conv", "alone", "train.epochs=2")
        for ranks in (1, 2, 3):
            self.train("conv", f"sharded{ranks}", "train.epochs=2", "parallel.shard_optimizer=true", ranks=ranks)
            self.assert_same_run(f"sharded{ranks}", "alone")
        # Continues from one rank, and one rank continues from it.
        self.train("conv", "handed", "train.epochs=1")
        self.train("conv", "handed", "train.epochs=2", "parallel.shard_optimizer=true", ranks=3)
        self.assertEqual(self.hash("handed"), self.hash("alone"))

    def test_layer_and_group_norm(self):
        self.write_recipe("layer-norm", training.RECIPE, """[
  {type = "conv2d", channels = 6, kernel = 3, stride = 2},
  {type = "group_norm", groups = 3},
  {type = "relu"},
  {type = "conv2d", channels = 5, kernel = 3},
  {type = "layer_norm"},
  {type = "relu"},
  {type = "flatten"},
  {type = "linear", features = 20},
  {type = "layer_norm"},
  {type = "gelu"},
  {type = "silu"},
  {type = "leaky_relu"},
  {type = "linear", features = 10},
]""")
        sets = ("train.epochs=1", "train.micro_block=7")
        self.train("layer-norm", "layer-norm-alone", *sets)
        for ranks, threads in ((2, 1), (3, 1), (4, 1), (7, 1), (1, 2)):
            run = f"layer-norm-{ranks}x{threads}"
            self.train("layer-norm", run, *sets, ranks=ranks, threads=threads)
            self.assert_same_run(run, "layer-norm-alone")
        pieces = "parallel.micro_batches=3"
        self.train("layer-norm", "layer-norm-pieces", *sets, pieces, ranks=2)
        self.assertEqual(self.hash("layer-norm-pieces"), self.hash("layer-norm-alone"))

    def test_it_learns(self):
        self.train("conv", "run", "train.epochs=6", "optimizer.lr=1e-2", ranks=2)
        epochs = metrics(self.folder / "run", "epoch")
        self.assertEqual([line["samples"] for line in epochs], [600] * 6)
        self.assertLess(epochs[-1]["loss"], 0.5 * epochs[0]["loss"])
        last = metrics(self.folder / "run", "eval")[-1]
        self.assertEqual(last["samples"], 151)
        self.assertGreater(last["accuracy"], 0.8)

    def test_other_seeds_and_orders_differ(self):
        self.train("mlp", "a")
        for setting in ("seed=4", "data.shuffle=false", "data.global_batch=50"):
            self.train("mlp", setting, setting)
            self.assertNotEqual(self.hash(setting), self.hash("a"))

    def test_micro_blocks_of_any_size_are_invariant(self):
        for size in (1, 5, 49):
            setting = f"train.micro_block={size}"
            self.train("conv", f"{size}a", setting, "train.epochs=1")
            self.train("conv", f"{size}b", setting, "train.epochs=1", ranks=3)
            self.assert_same_run(f"{size}b", f"{size}a")

    def test_fast_sums_are_close(self):
        self.train("mlp", "exact")
        exact = metrics(self.folder / "exact", "epoch", "eval")
        for ranks in (1, 3):
            self.train("mlp", f"fast{ranks}", "train.determinism=fast", ranks=ranks)
            fast = metrics(self.folder / f"fast{ranks}", "epoch", "eval")
            self.assertEqual(len(fast), len(exact))
            for ours, theirs in zip(fast, exact):
                self.assertAlmostEqual(ours["loss"] / theirs["loss"], 1, delta=1e-3)


if __name__ == "__main__":
    training.main()
