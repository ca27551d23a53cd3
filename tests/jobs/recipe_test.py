# SPDX-License-Identifier: Apache-2.0
"""A mistake in the recipe or in a setting is told at submit, and not by a job that has waited. Called as
`recipe_test.py .../bin/quern`."""
import sys
import unittest

from submit_case import SubmitCase

TRAIN = ["generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run"]


class RecipeTest(SubmitCase):
    def assert_good(self, *args):
        done = self.submit("-n", *args)
        self.assertEqual((done.returncode, "warning" in done.stderr), (0, False), done.stderr)

    def test_settings(self):
        """The data need not be there yet: neither do those of the recipe exist here."""
        self.assert_good(*TRAIN, "SET=optimizer.lr=0.5")
        self.assert_refused([*TRAIN, "SET=optimizer.lr=0.5", "SET=optimizer.lrr=2"], "optimizer.lrr", "did you mean 'lr'")
        plan = ["generic", "pipeline", *TRAIN[2:], "IDX_DIR=.", "DATA_DIR=data"]
        self.assert_good(*plan)
        self.assert_refused([*plan, "SET=data.shufle=true"], "data.shufle")
        self.assert_refused(["generic", "chain", *TRAIN[2:], "SET=seed=-1"], "seed")

    def test_recipe(self):
        text = (self.folder / "mlp.toml").read_text()
        (self.folder / "mlp.toml").write_text(text.replace("epochs =", "epoch ="))
        self.assert_refused(TRAIN, "mlp.toml", "train.epoch")

    def test_ranks(self):
        self.assert_refused([*TRAIN, "NODES=3", "RANKS=2", "SET=data.batch_per_rank=9000000"], "data")
        self.assert_refused([*TRAIN, "NODES=3", "RANKS=2", "SET=data.global_batch=5"], "6 ranks for a global batch of 5")
        scaling = ["generic", "scaling", *TRAIN[2:], "NODE_LIST=2,8", "BATCH=7"]
        self.assert_refused(scaling, "8 ranks for a global batch of 7")
        done = self.submit("-n", *scaling, "MODE=weak")  # 14 micro-blocks of 4 samples
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: 1 of 8 ranks have nothing to do: a batch of 56 samples", done.stderr)

    def test_split(self):
        """Keys that split the network are settings, and the grid has to fit ranks and nodes."""
        job = self.filled(*TRAIN, "NODES=2", "RANKS=2", "PIPELINE=2", "TENSOR=2", "MICRO_BATCHES=3", "SET=seed=5")
        self.assertIn("settings=(--set parallel.pipeline=2 --set parallel.tensor=2 --set parallel.micro_batches=3 "
                      "--set seed=5)", job)
        self.assertIn("parallel.strategy=pipeline", self.filled(*TRAIN, "RANKS=2", "STRATEGY=pipeline"))
        chain = self.filled("generic", "chain", *TRAIN[2:], "NODES=2", "PIPELINE=2", "COUNT=2")
        self.assertEqual(chain.count("settings=(--set parallel.pipeline=2)"), 2)
        # Packed trials stay on a node each, however many ranks a node has.
        sweep = self.filled("generic", "sweep", *TRAIN[2:], "GRID=grid", "NODES=2", "RANKS=2", "TRIALS_PER_JOB=2",
                            "TENSOR=2")
        self.assertIn("settings=(--set parallel.tensor=2)", sweep)
        self.assert_refused([*TRAIN, "NODES=3", "PIPELINE=2"],
                            "3 ranks cannot be cut into groups of 2 (pipeline) x 1 (tensor)")
        self.assert_refused([*TRAIN, "NODES=2", "RANKS=2", "TENSOR=4"], "TENSOR=4 does not divide the RANKS=2 of a node")
        self.assert_refused([*TRAIN, "NODES=2", "RANKS=2", "STRATEGY=tensor"], "TENSOR=2 would share each")
        self.assert_refused([*TRAIN, "RANKS=2", "STRATEGY=single"], "2 ranks were started")
        self.assert_refused([*TRAIN, "STRATEGY=pipelined"], "STRATEGY")
        self.assert_refused([*TRAIN, "RANKS=2", "STRATEGY=data", "PIPELINE=2"], "parallel.strategy")

    def test_every_trial_of_a_sweep(self):
        sweep = ["generic", "sweep", *TRAIN[2:], "GRID=grid"]
        self.assert_good(*sweep)
        (self.folder / "grid").write_text("optimizer.lr=1e-3\n\noptimizer.lr=2 seed=3\noptimizer.lrr=1\n")
        self.assert_refused(sweep, "trial 2 of", "grid (optimizer.lrr=1)", "optimizer.lrr")
        # More than the system takes as one argument.
        (self.folder / "grid").write_text(("seed=1 " * 400 + "\n") * 40 + "optimizer.lrr=1\n")
        done = self.submit("-n", *sweep)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("trial 40 of", done.stderr)

    def test_another_run_in_the_folder(self):
        (self.folder / "run").mkdir()
        (self.folder / "run" / "recipe.toml").write_text((self.folder / "mlp.toml").read_text())
        self.assert_good(*TRAIN, "SET=train.epochs=9")
        self.assert_refused([*TRAIN, "SET=optimizer.lr=0.5"], "run/recipe.toml", "optimizer.lr")
        self.assert_refused([*TRAIN, "RESUME=never"], "holds a run")

    def test_change(self):
        """CHANGE is for a run that is there, and only for what may change in it."""
        change = "CHANGE=optimizer.lr=0.5"
        self.assert_refused([*TRAIN, change], "--change is for a run that is resumed", "'", "run' has no checkpoint")
        self.begin_run("run")
        self.assert_good(*TRAIN, change)
        job = self.filled(*TRAIN, change, "CHANGE=train.epochs=9", "SET=train.log_every_steps=2")
        self.assertIn("\nsettings=(--set train.log_every_steps=2)\n"
                      "changes=(--change optimizer.lr=0.5 --change train.epochs=9)\n", job)
        self.assertIn("\nchanges=()\n", self.filled(*TRAIN))
        self.assertEqual(self.filled("generic", "chain", *TRAIN[2:], change, "COUNT=2").count(
            "changes=(--change optimizer.lr=0.5)"), 2)
        self.assert_refused([*TRAIN, "CHANGE=seed=5"], "--change: seed: cannot change in a run that is resumed")
        self.assert_refused([*TRAIN, change, "SET=seed=5"], "run/recipe.toml", "seed is ")
        self.assert_refused([*TRAIN, "CHANGE=optimizer.lr"], "key.path=value was expected")

    def test_a_program_that_does_not_know_the_question(self):
        program = self.folder / "quern"
        program.write_text("#!/bin/sh\n[ $1 = --version ] && echo quern 0 && exit\n"
                           "echo 'quern: error: there is no option --check-recipe' >&2\nexit 2\n")
        program.chmod(0o755)
        done = self.submit("-n", *TRAIN, "QUERN=quern")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("the recipe is not checked"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
