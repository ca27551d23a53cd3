# SPDX-License-Identifier: Apache-2.0
"""A U-Net: its skips join images from before and behind other layers. Every way to split it gives the
bits of one rank or is refused, and a run that was killed goes on to the same bits."""
import training
from training import checkpoint_steps

LAYERS = """[
  {type = "conv2d", channels = 5, kernel = 3, padding = 1},
  {type = "batch_norm", statistics = "block"},
  {type = "relu"},
  {type = "max_pool2d", size = 2},
  {type = "conv2d", channels = 7, kernel = 3, padding = 1},
  {type = "relu"},
  {type = "avg_pool2d", size = 2},
  {type = "conv2d", channels = 9, kernel = 3, padding = 1},
  {type = "relu"},
  {type = "upsample", factor = 2},
  {type = "concat", inputs = ["upsample1", "relu2"]},
  {type = "conv2d", channels = 7, kernel = 3, padding = 1},
  {type = "relu"},
  {type = "upsample", factor = 2},
  {type = "concat", inputs = ["relu1", "upsample2"]},
  {type = "conv2d", channels = 5, kernel = 3, padding = 1},
  {type = "relu"},
  {type = "conv2d", channels = 1, kernel = 1},
]"""
AUTO_ENCODER = training.RECIPE.replace('"cross_entropy"', '"mse"').replace(
    "global_batch = 49", 'global_batch = 49\ntarget = "input"')
ONE_EPOCH = "train.epochs=1"


class UNetTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.write_recipe("unet", AUTO_ENCODER, LAYERS)

    def refused(self, *sets, ranks):
        settings = [part for item in (ONE_EPOCH, *sets) for part in ("--set", item)]
        done = self.quern("train", "unet.toml", "--run-dir", "refused", *settings, ranks=ranks)
        self.assertEqual(done.code, 2, done)
        return done.err

    def test_the_same_bits_on_any_number_of_ranks(self):
        hashes = {}
        for kind in ("", "train.recompute=true", "parallel.micro_batches=2", "train.micro_block=7",
                     "train.micro_block=16", "train.precision=bf16", "train.convolution=winograd",
                     "train.determinism=fast"):
            sets = (ONE_EPOCH, kind) if kind else (ONE_EPOCH,)
            self.train("unet", f"alone-{kind}", *sets)
            for ranks, threads in ((2, 1), (3, 1), (4, 1), (1, 2)):
                if kind == "train.determinism=fast" and ranks > 1:
                    continue  # their bits may differ
                run = f"on-{ranks}x{threads}-{kind}"
                self.train("unet", run, *sets, ranks=ranks, threads=threads)
                self.assert_same_run(run, f"alone-{kind}")
            hashes[kind] = self.hash(f"alone-{kind}")
        self.assertEqual(hashes["train.recompute=true"], hashes[""])
        self.assertEqual(hashes["parallel.micro_batches=2"], hashes[""])
        self.train("unet", "sharded", ONE_EPOCH, "parallel.shard_optimizer=true", ranks=3)
        self.assertEqual(self.hash("sharded"), hashes[""])

    def test_ranks_that_share_layers(self):
        sets = (ONE_EPOCH, "parallel.tensor_slices=4")
        self.train("unet", "alone", *sets)
        for tensor, ranks in ((2, 2), (2, 4), (4, 4)):
            run = f"{tensor}-{ranks}"
            self.train("unet", run, f"parallel.tensor={tensor}", *sets, ranks=ranks)
            self.assert_same_run(run, "alone")

    def test_stages_begin_where_no_skip_passes_by(self):
        self.train("unet", "alone", ONE_EPOCH)
        pieces = "parallel.micro_batches=2"
        # The output of relu1 crosses once, and is read by the pool and by the concat of the next stage.
        for ranks, *sets in ((2, "parallel.pipeline=2"), (3, "parallel.pipeline=3"), (4, "parallel.pipeline=2"),
                             (2, "parallel.pipeline=2", 'parallel.cut=["max_pool2d1"]'),
                             (3, "parallel.pipeline=3", 'parallel.cut=["max_pool2d1", "conv6"]')):
            run = f"on-{ranks}-{len(sets)}-{sets[-1]}"
            self.train("unet", run, ONE_EPOCH, pieces, *sets, ranks=ranks)
            self.assertEqual(self.hash(run), self.hash("alone"))
        said = self.refused('parallel.cut=["upsample1"]', "parallel.pipeline=2", ranks=2)
        self.assertIn("cannot be cut in front of 'upsample1': more than one value crosses there", said)
        self.assertRegex(self.refused("parallel.pipeline=8", ranks=8),
                         "the network can be cut in 6 places, expected at most 7 stages")

    def test_a_run_that_was_killed_goes_on_to_the_same_bits(self):
        sets = ("train.epochs=30", "checkpoint.every_steps=3")
        self.train("unet", "whole", *sets)
        for ranks, goal in ((3, 20), (1, 150), (4, 230)):
            run = self.start("unet", "killed", *sets, ranks=ranks)
            reached = run.wait_until(lambda goal=goal: goal <= max(checkpoint_steps(self.folder / "killed"), default=0))
            self.assertTrue(reached, "the run ended before it could be killed")
            self.assertNotEqual(run.kill().code, 0)
        done = self.train("unet", "killed", *sets, ranks=2)
        self.assertIn("continuing from", done.err)
        self.assert_same_run("killed", "whole")

    def test_what_a_run_needs_is_known_before(self):
        for command in (("info", "unet.toml"), ("train", "unet.toml", "--dry-run")):
            done = self.quern(*command)
            self.assertEqual(done.code, 0, done)
            self.assertRegex(done.out, r"concat1 +concat +upsample1 \+ relu2 +\[16, 6, 6\] +\d")
            self.assertRegex(done.out, r"upsample2 +upsample +\[7, 12, 12\] +\d")
        done = self.quern("preflight", "unet.toml")
        self.assertEqual(done.code, 0, done)
        done = self.quern("plan", "unet.toml", "--nodes", 1)
        self.assertEqual(done.code, 0, done)
        self.assertIn("efficiency", done.out)

    def test_images_of_a_size_that_does_not_fit(self):
        self.write_recipe("odd", AUTO_ENCODER, LAYERS.replace('"max_pool2d", size = 2', '"max_pool2d", size = 2, stride = 3'))
        done = self.quern("train", "odd.toml")
        self.assertEqual(done.code, 2, done)
        self.assertIn("'concat2' (concat, recipe line", done.err)
        self.assertIn("joins 'relu1' of shape [5, 12, 12] and 'upsample2' of shape [7, 8, 8], expected equal heights "
                      "and widths", done.err)


if __name__ == "__main__":
    training.main()
