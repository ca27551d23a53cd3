# SPDX-License-Identifier: Apache-2.0
"""parallel.tensor: layers spread over ranks, with the bits of one rank that computes the same slices."""
import shutil

import training
from training import checkpoint_file, checkpoint_steps, results

CONV = """[
  {type = "conv2d", channels = 9, kernel = 3},
  {type = "relu"},
  {type = "max_pool2d", size = 2},
  {type = "dropout", p = 0.2},
  {type = "flatten"},
  {type = "linear", features = 130},
  {type = "relu"},
  {type = "linear", features = 10},
]"""
EIGHT = "parallel.tensor_slices=8"
STRATEGY = "parallel.strategy=tensor"
FAST = "train.determinism=fast"


def tensor(ranks):
    return f"parallel.tensor={ranks}"


class TensorTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.write_recipe("conv", training.RECIPE, CONV)

    def test_same_run_on_every_grid(self):
        self.train("conv", "whole", EIGHT)
        for ranks, parts in ((2, 2), (4, 2), (4, 4), (3, 1)):
            run = f"{ranks}-{parts}"
            self.train("conv", run, EIGHT, tensor(parts), ranks=ranks)
            self.assert_same_run(run, "whole")
        # Eight slices are the default there, and none are elsewhere.
        self.train("conv", "default", tensor(2), ranks=2)
        self.assert_same_run("default", "whole")
        self.train("conv", "without")
        self.assertNotEqual(self.hash("without"), self.hash("whole"))
        done = [self.quern("evaluate", run, "--data", "test", ranks=ranks)
                for run, ranks in (("whole", 0), ("2-2", 0), ("2-2", 3))]
        self.assertEqual([each.code for each in done], [0, 0, 0], done)
        self.assertEqual(len({each.out.split("on ")[1] for each in done}), 1, done)

    def test_strategy_shares_every_layer_among_all_ranks(self):
        self.train("conv", "whole", EIGHT, "train.epochs=1")
        for ranks, more in ((0, ()), (2, ()), (4, ()), (4, ("parallel.tensor=2",)),
                            (4, ("parallel.pipeline=2",))):
            run = f"run{ranks}{len(more)}-{len(str(more))}"
            self.train("conv", run, STRATEGY, "train.epochs=1", *more, ranks=ranks)
            self.assert_same_run(run, "whole")
            resolved = (self.folder / run / "recipe.toml").read_text()
            self.assertIn(f"\ntensor = {2 if more else max(ranks, 1)}\n", resolved)
        # And it goes on where there are other ranks.
        self.train("conv", "whole", EIGHT, "train.epochs=2")
        self.train("conv", "run40-2", STRATEGY, "train.epochs=2", ranks=2)
        self.assert_same_run("run40-2", "whole")

    def test_a_network_that_cannot_be_cut_is_warned_of(self):
        narrow = """[
  {type = "flatten"},
  {type = "linear", features = 10},
]"""
        self.write_recipe("narrow", training.RECIPE, narrow)
        done = self.train("narrow", "narrow", STRATEGY, "train.epochs=1", ranks=2)
        self.assertEqual(done.err.count("warning: no layer of this network can be cut into 8 slices: each of 2 ranks"), 1, done)
        done = self.train("conv", "wide", STRATEGY, "train.epochs=1", ranks=2)
        self.assertNotIn("no layer", done.err)

    def test_clips_by_the_norm_of_all_parts(self):
        clip = (EIGHT, "optimizer.clip_norm=0.5", "train.epochs=1")
        self.train("conv", "whole", *clip)
        self.train("conv", "unclipped", EIGHT, "train.epochs=1")
        self.assertNotEqual(self.hash("whole"), self.hash("unclipped"))
        for ranks, keys in ((2, (tensor(2),)), (4, (tensor(2), "parallel.shard_optimizer=true")),
                            (4, (tensor(2), "parallel.pipeline=2"))):
            run = f"run{ranks}-{keys[-1]}"
            self.train("conv", run, *clip, *keys, ranks=ranks)
            self.assert_same_run(run, "whole")

    def test_killed_and_resumed_on_other_grids(self):
        self.train("conv", "whole", EIGHT, "train.epochs=40")
        sets = ("train.epochs=40", "checkpoint.every_steps=3", EIGHT)
        folder = self.folder / "killed"
        for ranks, parts, sharded in ((2, 2, "false"), (1, 1, "false"), (4, 2, "true"), (4, 4, "true")):
            done = max(checkpoint_steps(folder), default=0)
            run = self.start("conv", "killed", *sets, tensor(parts),
                             f"parallel.shard_optimizer={sharded}", ranks=ranks)
            goal = done + 20
            self.assertTrue(run.wait_until(lambda: goal <= max(checkpoint_steps(folder), default=0)),
                            "the run ended before it could be killed")
            self.assertNotEqual(run.kill().code, 0)
        done = self.train("conv", "killed", *sets, tensor(2), ranks=2)
        self.assertIn("continuing from", done.err)
        self.assert_same_run("killed", "whole")

    def test_other_slices_are_another_run(self):
        self.train("conv", "run", tensor(2), "train.epochs=1", ranks=2)
        done = self.train("conv", "run", "train.epochs=2", expected=2)
        self.assertIn("parallel.tensor_slices is 8 there, and 0 now", done.err)
        done = self.train("conv", "run", "train.epochs=2", tensor(2), "parallel.tensor_slices=4",
                          ranks=2, expected=2)
        self.assertIn("parallel.tensor_slices is 8 there, and 4 now", done.err)

    def test_fast_sums(self):
        self.train("conv", "two", tensor(2), FAST, "train.epochs=1", ranks=2)
        self.train("conv", "slices", "parallel.tensor_slices=2", FAST, "train.epochs=1")
        self.assert_same_run("two", "slices")
        # Slices are no part of what a fast run promises.
        self.train("conv", "two", FAST, "train.epochs=2")

    def test_rounded_operands(self):
        bf16 = (EIGHT, "train.precision=bf16", "train.epochs=1")
        self.train("conv", "float", EIGHT, "train.epochs=1")
        self.train("conv", "whole", *bf16)
        self.assertNotEqual(self.hash("whole"), self.hash("float"))
        for ranks, parts, more in ((2, 2, ()), (4, 4, ()), (4, 2, ("parallel.micro_batches=2",)),
                                   (4, 2, ("parallel.pipeline=2",))):
            run = f"{ranks}-{parts}-{len(more)}"
            self.train("conv", run, *bf16, tensor(parts), *more, ranks=ranks)
            self.assert_same_run(run, "whole")

    def test_kernels_for_devices(self):
        one = (EIGHT, "train.epochs=1")
        self.train("conv", "whole", *one)
        self.train("conv", "device", *one, tensor(2), ranks=2, env={"QUERN_DEVICE_KERNELS": "1"})
        self.assert_same_run("device", "whole")

    def test_plan(self):
        arguments = self.train_arguments("conv", "dry", (tensor(2), "train.micro_block=7"))
        done = self.quern(*arguments, "--dry-run", ranks=2)
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r"tensor parallel +2 ranks share conv1, fc1 in 8 slices; whole: fc2; "
                                   r"rank 0 holds [0-9]+ parameters, a rank sends [0-9.]+ \w+ a step")
        self.assertRegex(done.out, r"tensor = 2\n")
        alone = self.quern(*self.train_arguments("conv", "dry", ()), "--dry-run")
        self.assertNotIn("tensor parallel", alone.out)

    def test_grids_that_do_not_fit(self):
        for ranks, sets, text in (
                (3, (tensor(2),), "3 ranks cannot be cut into groups of 1 (pipeline) x 2 (tensor)"),
                (2, (tensor(2), "parallel.tensor_slices=7"),
                 "parallel.tensor_slices: 7 cannot be shared by parallel.tensor = 2 ranks, "
                 "expected a multiple of 2"),
                (2, (tensor(2), "parallel.tensor_slices=12"),
                 "parallel.tensor_slices: 12 gives each of parallel.tensor = 2 ranks 6 slices, "
                 "expected a power of two of them"),
                (2, (STRATEGY, "parallel.tensor_slices=7"),
                 "parallel.tensor_slices: 7 cannot be shared by parallel.tensor = 2 ranks"),
                (3, (STRATEGY, "parallel.pipeline=2"),
                 "3 ranks cannot be cut into groups of 2 (pipeline) x 1 (tensor)"),
        ):
            done = self.train("conv", "refused", *sets, ranks=ranks, expected=2)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(text, done.err)
            self.assertFalse((self.folder / "refused").exists())

    def test_a_checkpoint_of_one_grid_begins_another(self):
        self.train("conv", "whole", EIGHT, "train.epochs=2")
        self.train("conv", "parts", tensor(4), "train.epochs=1", ranks=4)
        last = checkpoint_steps(self.folder / "parts")[-1]
        file = checkpoint_file(self.folder / "next", last)
        file.parent.mkdir(parents=True)
        shutil.copy(checkpoint_file(self.folder / "parts", last), file)
        self.train("conv", "next", EIGHT, "train.epochs=2")
        self.assertEqual(self.hash("next"), self.hash("whole"))
        self.assertEqual(results(self.folder / "next"), results(self.folder / "whole")[2:])


if __name__ == "__main__":
    training.main()
