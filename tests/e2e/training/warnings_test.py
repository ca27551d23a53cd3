# SPDX-License-Identifier: Apache-2.0
"""What somebody should know before an allocation is spent: the same sentences from `quern train`, its --check-recipe,
`quern preflight` and `quern plan`."""
from pathlib import Path

import numpy as np

import training

# 600 samples in batches of 49, in micro-blocks of 4: 13 of these.
IDLE = "3 of 16 ranks have nothing to do: a batch of 49 samples has 13 micro-blocks of 4"
LARGE = "the global batch is 2000, but the data have 600 samples: every step takes all of them"


class WarningsTest(training.TrainingTest):
    def test_ranks_that_idle(self):
        checked = self.quern("train", "mlp.toml", "--check-recipe", "--ranks", 16)
        self.assertEqual(checked.code, 0, checked)
        self.assertIn(f"quern: warning: {IDLE}", checked.err)
        few = ["--set", "data.global_batch=4"]  # one micro-block for two ranks
        expected = "1 of 2 ranks have nothing to do: a batch of 4 samples has 1 micro-block of 4"
        preflight = self.quern("preflight", "mlp.toml", *few, ranks=2)
        self.assertEqual(preflight.code, 0, preflight)
        self.assertIn(f"warning: recipe: {expected}", preflight.out)
        self.assertIn(expected, self.train("mlp", "run", "data.global_batch=4", "train.epochs=1", ranks=2).err)

    def test_nothing_to_say(self):
        for command in (["train", "mlp.toml", "--check-recipe", "--ranks", 4], ["preflight", "mlp.toml"]):
            done = self.quern(*command)
            self.assertEqual(done.code, 0, done)
            self.assertNotIn("nothing to do", done.out + done.err)
            self.assertNotIn("every step takes all", done.out + done.err)

    def test_messages_of_very_many_ranks(self):
        words = ("each of 512 ranks sends a message to every other one, twice a step: without it they send about 18 "
                 "(quern plan tells what both take)")
        sharded, fast = "parallel.shard_optimizer=true", 'train.determinism="fast"'
        for ranks, sets, is_said in ((512, [sharded], True), (511, [sharded], False), (512, [], False),
                                     (512, [sharded, fast], False)):
            settings = [part for item in ("data.global_batch=8192", *sets) for part in ("--set", item)]
            done = self.quern("train", "mlp.toml", "--check-recipe", "--ranks", ranks, *settings)
            self.assertEqual((done.code, words in done.err, "sends a message" in done.err), (0, is_said, is_said), done)

    def test_large_inputs_that_are_not_normalized(self):
        values, labels = np.random.default_rng(1).normal(size=(64, 4)), np.arange(64) % 2
        values[5, 2] = -9732
        np.save(self.folder / "x.npy", values.astype(np.float32))
        np.save(self.folder / "y.npy", labels)
        made = self.quern("shard", "--images", "x.npy", "--labels", "y.npy", "--out", "wide")
        self.assertEqual(made.code, 0, made)
        command = ["train", "mlp.toml", "--set", "network.input=[4]", "--set",
                   'network.layers=[{type = "linear", features = 2}]', "--set",
                   'data={train = "wide", global_batch = 16}']
        diverges = ["--set", "optimizer.lr=1e38"]
        for ranks in (0, 2):
            done = self.quern(*command, "--dry-run", ranks=ranks)
            self.assertEqual(done.err.count("inputs reach 9732 in size"), 1, done)
            done = self.quern(*command, "--set", "data.normalize=dataset", "--dry-run", ranks=ranks)
            self.assertNotIn("inputs reach", done.err)
            done = self.quern(*command, *diverges, "--run-dir", f"run-{ranks}", ranks=ranks)
            self.assertEqual(done.code, 93, done)
            self.assertRegex(done.err, 'diverged.*; and inputs reach 9732 in size: data.normalize = "dataset" helps')

    def test_batches_larger_than_the_data(self):
        large = ["--set", "data.global_batch=2000"]
        self.assertIn(LARGE, self.quern("preflight", "mlp.toml", *large).out)
        self.assertIn(LARGE, self.train("mlp", "run", "data.global_batch=2000", "train.epochs=1").err)
        # Of shards nothing is known then.
        self.assertNotIn(LARGE, self.quern("train", "mlp.toml", "--check-recipe", *large).err)

    def test_schedules_longer_than_the_run(self):
        for schedule, expected in (
                ("{warmup_epochs=4}", "the run has 3 epochs, but optimizer.schedule.warmup_epochs = 4: the learning rate "
                 "never reaches optimizer.lr"),
                ("{warmup_steps=40}", "the run has 39 steps, but optimizer.schedule.warmup_steps = 40: the learning rate "
                 "never reaches optimizer.lr"),
                ('{type="multi_step", milestones=[1, 3]}', "the run has 3 epochs, but optimizer.schedule.milestones names "
                 "epoch 3: that drop has no effect")):
            done = self.quern("preflight", "mlp.toml", "--set", f"optimizer.schedule={schedule}")
            self.assertEqual((done.code, expected in done.out), (0, True), done)
        for schedule in ("{warmup_epochs=3}", '{type="multi_step", milestones=[1, 2]}'):
            done = self.quern("preflight", "mlp.toml", "--set", f"optimizer.schedule={schedule}")
            self.assertEqual((done.code, "schedule" in done.out), (0, False), done)

    def test_a_recipe_alone_tells_of_long_schedules(self):
        done = self.quern("train", "mlp.toml", "--check-recipe", "--set", "optimizer.schedule={warmup_epochs=4}")
        self.assertEqual(done.code, 0, done)
        self.assertIn("the run has 3 epochs, but optimizer.schedule.warmup_epochs = 4", done.err)

    def test_activations_that_the_loss_has_itself(self):
        numbers = training.RECIPE.replace("cross_entropy", "binary_cross_entropy").replace('"test"', '"test"\ntarget = "input"')
        layers = '[{type = "flatten"}, {type = "linear", features = FEATURES}, {type = "LAST"}]'
        for text, features, last, expected in ((training.RECIPE, 10, "relu", 'a relu, and loss.type = "cross_entropy"'),
                                               (training.RECIPE, 10, "sigmoid", 'a sigmoid, and loss.type = "cross_entropy"'),
                                               (training.RECIPE, 10, "tanh", 'a tanh, and loss.type = "cross_entropy"'),
                                               (numbers, 144, "sigmoid", 'a sigmoid, and loss.type = "binary_cross_entropy"'),
                                               (numbers, 144, "tanh", 'a tanh, and loss.type = "binary_cross_entropy"'),
                                               (numbers, 144, "relu", 'a relu, and loss.type = "binary_cross_entropy"'),
                                               (numbers, 144, "gelu", ""),
                                               (numbers.replace("binary_cross_entropy", "mse"), 144, "sigmoid", "")):
            self.write_recipe("last", text, layers.replace("FEATURES", str(features)).replace("LAST", last))
            done = self.quern("train", "last.toml", "--check-recipe")
            self.assertEqual(done.code, 0, done)
            self.assertIn(f"the network ends with {expected}" if expected else "", done.err)
            self.assertEqual(done.err.count("the network ends with"), 1 if expected else 0, done)

    def test_adamw_without_its_weight_decay(self):
        expected = 'optimizer.type = "adamw" with weight_decay 0 is "adam" (PyTorch\'s default of AdamW is weight_decay 0.01)'
        for settings, says in ((["optimizer.type=adamw"], True), ([], False),
                               (["optimizer.type=adamw", "optimizer.weight_decay=0.01"], False)):
            sets = [word for one in settings for word in ("--set", one)]
            for command in (["train", "mlp.toml", "--check-recipe"], ["preflight", "mlp.toml"]):
                done = self.quern(*command, *sets)
                self.assertEqual((done.code, expected in done.err + done.out), (0, says), done)

    def test_classes_that_no_training_sample_has(self):
        images = self.folder / "test-images"
        images.write_bytes((training.data_folder() / "test-images").read_bytes())
        labels = bytearray((training.data_folder() / "test-labels").read_bytes())
        for label, said in ((10, "of class 10"), (13, "of class 10 to 13"), (9, None)):
            labels[-1] = label
            (self.folder / "test-labels").write_bytes(labels)
            done = self.quern("shard", "--images", images, "--labels", self.folder / "test-labels", "--out", "more", "--split",
                              "test", "--name", "toy", "--force")
            self.assertEqual(done.code, 0, done)
            layers = ("network.layers=[{type='flatten'}, {type='linear', features=20}]", "data.test=more", "train.epochs=1")
            done = self.train("mlp", f"run{label}", *layers)
            expected = f"'more' has {label + 1} classes, and the training data 10: no training sample is {said}\n"
            self.assertEqual(expected in done.err, said is not None, done.err)
            self.assertEqual("no training sample" in done.err, said is not None, done.err)

    def test_the_same_line_of_the_recipe_is_named_everywhere(self):
        self.write_recipe("flat", training.RECIPE, '[\n  {type = "conv2d", channels = 4, kernel = 3},\n'
                                                   '  {type = "linear", features = 10},\n]')
        lines = (self.folder / "flat.toml").read_text().splitlines()
        number = next(i for i, line in enumerate(lines, 1) if "features" in line)
        for ranks, more in ((0, ["--check-recipe"]), (0, ["--dry-run"]), (0, []), (2, [])):
            done = self.quern("train", "flat.toml", *more, ranks=ranks)
            self.assertEqual(done.code, 2, done)
            self.assertIn(f"layer 'fc1' (linear, recipe line {number})", done.err)

    def test_a_plan_for_more_samples_than_there_are(self):
        figures = Path(__file__).resolve().parents[3] / "jobs" / "sites" / "figures.txt"
        plan = ["plan", "mlp.toml", "--figures", figures, "--site", "lumi-c", "--batch-per-rank", 64, "--nodes"]
        done = self.quern(*plan, "1,2,4")
        self.assertEqual(done.code, 0, done)
        self.assertIn("warning: a batch on 2 nodes has 1024 samples, and the data 600: a training takes all of them in "
                      "every step", done.err)
        self.assertNotIn("samples, and the data", self.quern(*plan, 1).err)

    def test_a_network_larger_than_any_memory(self):
        """Some 130 GB: refused before an allocation is spent, and by the training before it takes any."""
        large = ["--set", "network.layers.fc1.features=14000000", "--set", "data.global_batch=600"]
        done = self.quern("preflight", "mlp.toml", *large)
        self.assertEqual(done.code, 2, done)
        self.assertRegex(done.out, r"error: memory: \S+: the training with its data needs 1[0-9]{2}\.[0-9] GiB")
        done = self.quern("train", "mlp.toml", "--run-dir", "run", *large)
        self.assertEqual(done.code, 2, done)
        self.assertIn("training on 1 rank of one node needs ", done.err)

    def test_samples_of_no_file_count_too(self):
        toy = ["--set", 'data={source="random", samples=3, global_batch=49}']
        done = self.quern("preflight", "mlp.toml", *toy, ranks=4)
        self.assertEqual(done.code, 2, done)
        self.assertIn("error: data: 4 ranks for 3 training samples: expected at least one sample per rank", done.out)


if __name__ == "__main__":
    training.main()
