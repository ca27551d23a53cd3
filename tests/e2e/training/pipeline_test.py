# SPDX-License-Identifier: Apache-2.0
"""A network cut into stages: the same run as on one rank, whatever the grid, and across grids."""
import os
import re
import signal

import training
from program import EACH_RANK, EACH_RANK_ALONE, RANK
from training import checkpoint_steps

RESIDUAL = """[
  {type = "conv2d", channels = 4, kernel = 3, padding = 1},
  {type = "batch_norm", statistics = "block"},
  {type = "relu"},
  {type = "basic_block", name = "layer1", channels = 4, statistics = "block"},
  {type = "basic_block", name = "layer2", channels = 6, stride = 2, statistics = "block"},
  {type = "global_avg_pool"},
  {type = "linear", features = 10},
]"""


def split(stages, pieces, *more):
    return (f"parallel.pipeline={stages}", f"parallel.micro_batches={pieces}", *more)


class PipelineTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.write_recipe("residual", training.RECIPE, RESIDUAL)

    def test_same_run_on_any_grid(self):
        for recipe in ("mlp", "conv", "residual"):
            self.train(recipe, f"{recipe}-whole", "train.epochs=1")
            for ranks, keys in ((2, split(2, 3)), (3, split(3, 4, "parallel.schedule=gpipe")),
                                (4, split(2, 2)), (4, ("parallel.strategy=pipeline",))):
                run = f"{recipe}-{ranks}-{len(keys)}-{keys[0][-1]}"
                self.train(recipe, run, "train.epochs=1", *keys, ranks=ranks)
                self.assert_same_run(run, f"{recipe}-whole")

    def test_clips_by_the_norm_of_all_stages(self):
        clip = ("optimizer.clip_norm=0.5", "train.epochs=1")
        self.train("residual", "whole", *clip)
        self.train("residual", "unclipped", "train.epochs=1")
        self.assertNotEqual(self.hash("whole"), self.hash("unclipped"))
        for ranks, keys in ((2, split(2, 3)), (4, split(2, 2)), (3, split(3, 2)),
                            (4, split(2, 2, "parallel.shard_optimizer=true"))):
            run = f"run{ranks}-{len(keys)}-{keys[0][-1]}"
            self.train("residual", run, *clip, *keys, ranks=ranks)
            self.assert_same_run(run, "whole")

    def test_stages_of_which_one_has_no_room_to_share(self):
        """All send messages then: what one group of ranks does the others must do alike."""
        full = f'[ "{RANK}" -lt 2 ] || export OMPI_MCA_osc_sm_backing_directory=/proc; ' + EACH_RANK
        for number, keys in enumerate((("optimizer.clip_norm=0.5",), ("optimizer.type=lamb", "optimizer.lr=0.01"))):
            self.train("residual", f"whole-{number}", "train.epochs=1", *keys)
            self.train("residual", f"full-{number}", "train.epochs=1", *keys, *split(2, 2), ranks=4, each_rank=full)
            self.assert_same_run(f"full-{number}", f"whole-{number}")

    def test_kill_one_stage_and_go_on_elsewhere(self):
        sets = ("train.epochs=30", "checkpoint.every_steps=3")
        self.train("residual", "whole", "train.epochs=30")
        for stage in (0, 1):
            run = self.start("residual", f"run{stage}", *sets, *split(2, 3), ranks=2,
                             each_rank=EACH_RANK_ALONE)
            self.assertTrue(run.wait_until(lambda: checkpoint_steps(self.folder / f"run{stage}")))
            os.kill(run.pid_of_rank(stage), signal.SIGKILL)
            done = run.wait(60)
            self.assertNotEqual(done.code, 0, done)
            self.assertNotIn(0, done.codes)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(f"(stage {stage} of 2) has ended without a word", done.errors()[0])
            self.assertEqual(self.quern("checkpoint", "verify", f"run{stage}").code, 0)
        self.train("residual", "run0", *sets)
        self.assert_same_run("run0", "whole")
        self.train("residual", "run1", *sets, *split(2, 2), ranks=4)
        self.assert_same_run("run1", "whole")
        shown = self.quern("evaluate", "run1", "--data", "test", ranks=3)
        self.assertEqual(shown.code, 0, shown)
        self.assertEqual(shown.out.split("on ")[1],
                         self.quern("evaluate", "whole", "--data", "test").out.split("on ")[1])

    def test_divergence_names_the_first_layer_of_all_stages(self):
        messages = []
        for ranks, keys in ((0, ()), (2, split(2, 1, 'parallel.cut=["fc1"]')), (4, split(2, 2))):
            done = self.start("conv", f"run{ranks}", "optimizer.lr=1e25", *keys, ranks=ranks).wait()
            self.assertEqual(set(done.codes), {93}, done)
            self.assertEqual(len(done.errors()), 1, done)
            message, places = re.subn(r" \((data \d of \d, )?stage \d of 2\)", "", done.errors()[0])
            self.assertEqual(places, 1 if ranks else 0, done)
            messages.append(message)
        self.assertEqual(len(set(messages)), 1, messages)

    def refused(self, *sets, ranks):
        done = self.start("conv", "refused", *sets, ranks=ranks).wait()
        self.assertEqual(set(done.codes), {2}, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertFalse((self.folder / "refused").exists())
        return done.errors()[0]

    def test_what_cannot_be_is_refused_with_the_numbers(self):
        self.assertIn("3 ranks cannot be cut into groups of 2 (pipeline) x 1 (tensor)",
                      self.refused(*split(2, 1), ranks=3))
        self.assertIn("the network can be cut in 5 places, expected at most 6 stages",
                      self.refused(*split(7, 1), ranks=7))
        self.assertIn("parallel.cut names 'conv9'",
                      self.refused(*split(2, 1, 'parallel.cut=["conv9"]'), ranks=2))
        self.assertIn("2 ranks were started", self.refused("parallel.strategy=single", ranks=2))
        done = self.quern("train", "conv.toml", "--check-recipe", "--ranks", 4, "--set",
                          "parallel.pipeline=3")
        self.assertEqual(done.code, 2, done)
        self.assertIn("4 ranks cannot be cut", done.err)

    def test_plan_tells_what_each_stage_has(self):
        plan = self.train_arguments("residual", "dry", split(2, 4))
        done = self.quern(*plan, "--dry-run", ranks=2)
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r"memory .* for checkpoints \S+ \S+ more on rank 0, at most \S+ \S+ on others\n")
        self.assertRegex(done.out, r"pipeline +2 stages x 1 rank, 1f1b; idle 20 % of the time")
        stages = re.findall(r"  stage (\d) +'(\S+)' to '(\S+)': (\d+) parameters, \S+ [kM]flop per sample, "
                            r"\S+ \S+ per rank, sends (\S+) \S+ per step", done.out)
        self.assertEqual([stage[0] for stage in stages], ["0", "1"], done.out)
        total = int(re.search(r"parameters +(\d+)", done.out.split("# Plan")[1]).group(1))
        self.assertEqual(sum(int(stage[3]) for stage in stages), total)


if __name__ == "__main__":
    training.main()
