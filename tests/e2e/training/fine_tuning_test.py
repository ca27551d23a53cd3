# SPDX-License-Identifier: Apache-2.0
"""Training that begins with the weights of a file (network.init), and layers that are not trained."""
import fcntl
import re
import shutil

import h5py
import training
from training import RECIPE, checkpoint_file, checkpoint_steps, tree

HEAD = """[
  {type = "conv2d", channels = 5, kernel = 3, trainable = false},
  {type = "batch_norm", trainable = false},
  {type = "relu"},
  {type = "max_pool2d", size = 2},
  {type = "conv2d", channels = 6, kernel = 3},
  {type = "relu"},
  {type = "flatten"},
  {type = "linear", features = 10, name = "head"},
]"""
BODY = HEAD.replace(", trainable = false", "").replace("head", "fc")
INIT = 'network.init={type="checkpoint", file="body", only=["conv1", "bn1", "conv2"]}'


class FineTuningTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.write_recipe("body", RECIPE, BODY)
        self.write_recipe("head", RECIPE, HEAD)

    def weights(self, run, step=None):
        step = checkpoint_steps(self.folder / run)[-1] if step is None else step
        with h5py.File(checkpoint_file(self.folder / run, step), "r") as checkpoint:
            return {f"{layer}.{kind}": values[()].tobytes()
                    for layer, tensors in checkpoint["model"].items() for kind, values in tensors.items()}

    def optimizer(self, run):
        step = checkpoint_steps(self.folder / run)[-1]
        with h5py.File(checkpoint_file(self.folder / run, step), "r") as checkpoint:
            return set(checkpoint["optimizer"]["exp_avg"])

    def test_frozen_layers_keep_the_bits_of_the_file_on_any_number_of_ranks(self):
        self.train("body", "body", "train.epochs=1")
        self.train("head", "head", INIT, "optimizer.weight_decay=0.1")
        body, head = self.weights("body"), self.weights("head")
        for name in ("conv1.weight", "conv1.bias", "bn1.weight", "bn1.bias"):
            self.assertEqual(head[name], body[name], name)
        for name in ("conv2.weight", "bn1.running_mean", "bn1.running_var"):
            self.assertNotEqual(head[name], body[name], name)
        self.assertEqual(self.optimizer("head"), {"conv2", "head"})
        for ranks in (2, 3, 4):
            name = f"head-{ranks}"
            self.train("head", name, INIT, "optimizer.weight_decay=0.1", ranks=ranks)
            self.assert_same_run(name, "head")
        for kind in ("pipeline", "tensor"):
            self.train("head", kind, INIT, "optimizer.weight_decay=0.1", f"parallel.{kind}=2", ranks=2)
            self.assert_same_run(kind, "head")

    def test_what_the_file_does_not_give_is_drawn_as_ever(self):
        self.train("body", "body", "train.epochs=1")
        self.train("head", "drawn", "train.epochs=1", "optimizer.lr=1e-30")
        self.train("head", "head", INIT, "train.epochs=1", "optimizer.lr=1e-30")
        drawn, head, body = self.weights("drawn"), self.weights("head"), self.weights("body")
        self.assertEqual(head["head.weight"], drawn["head.weight"])
        self.assertEqual(head["conv1.weight"], body["conv1.weight"])
        self.assertNotEqual(head["conv1.weight"], drawn["conv1.weight"])

    def test_running_statistics_stay_where_they_are_what_is_trained_with(self):
        self.train("body", "body", "train.epochs=1")
        running = 'network.layers.bn1.statistics="running"'
        self.train("head", "head", INIT, running)
        body, head = self.weights("body"), self.weights("head")
        for kind in ("weight", "bias", "running_mean", "running_var"):
            self.assertEqual(head[f"bn1.{kind}"], body[f"bn1.{kind}"], kind)
        self.assertNotEqual(head["conv2.weight"], body["conv2.weight"])
        for number, more in enumerate(([], ["parallel.micro_batches=3"], ["train.recompute=true"])):
            name = f"head-{number}"
            self.train("head", name, INIT, running, *more, ranks=1 + number % 2)
            self.assert_same_run(name, "head")
        done = self.train("head", "drawn", running, "train.epochs=1")
        self.assertIn("layer 'bn1' normalizes with its running statistics, and no file of network.init states them",
                      done.err)
        trained = self.train("head", "trained", INIT, running, "network.layers.bn1.trainable=true")
        self.assertNotIn("running statistics", trained.err)
        self.assertNotEqual(self.weights("trained")["bn1.weight"], body["bn1.weight"])
        self.assertEqual(self.weights("trained")["bn1.running_var"], body["bn1.running_var"])

    def test_a_resumed_run_needs_no_file_and_has_the_same_bits(self):
        self.train("body", "body", "train.epochs=1")
        self.train("head", "whole", INIT)
        self.train("head", "part", INIT, "train.epochs=1")
        (self.folder / "body").rename(self.folder / "elsewhere")
        self.train("head", "part", INIT, ranks=2)
        self.assert_same_run("part", "whole")
        done = self.quern("evaluate", "part", "--data", "test")
        self.assertEqual(done.code, 0, done)

    def test_a_run_whose_checkpoints_go_while_it_waits_begins_with_the_file(self):
        self.train("body", "body", "train.epochs=1")
        for run in ("whole", "run"):
            self.train("head", run, INIT, "train.epochs=1")
        with open(self.folder / "run" / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            run = self.start("head", "run", INIT, "train.epochs=1", ranks=2)
            self.assertTrue(run.wait_until(lambda: "waiting" in run.err()))
            shutil.rmtree(self.folder / "run" / "checkpoints")
            (self.folder / "run" / "DONE").unlink()
        done = run.wait()
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.hash("run"), self.hash("whole"))

    def test_a_resumed_run_cannot_be_told_that_it_began_with_other_weights(self):
        self.train("body", "body", "train.epochs=1")
        self.train("head", "run", INIT, "train.epochs=1")
        before = tree(self.folder / "run")
        for old, new, key in (('"body"', '"elsewhere"', "file"), (', "conv2"', "", "only"),
                              ('"body"', '"body", rename=["fc=head"]', "rename")):
            done = self.train("head", "run", INIT.replace(old, new), expected=2)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(f"of a different recipe: network.init.{key} is ", done.err)
            self.assertEqual(tree(self.folder / "run"), before)

    def test_names_change_on_the_way(self):
        self.train("body", "body", "train.epochs=1")
        self.train("head", "renamed", 'network.init={type="checkpoint", file="body", rename=["fc=head"]}',
                   "train.epochs=1", "optimizer.lr=1e-30")
        self.assertEqual(self.weights("renamed")["head.weight"], self.weights("body")["fc.weight"])

    def test_another_normalization_than_that_of_the_weights_is_told(self):
        self.train("body", "body", "train.epochs=1", 'data.normalize="dataset"')
        resolved = (self.folder / "body/recipe.toml").read_text()
        mean, std = re.search(r"\[data.normalize\]\ntype = .*\nmean = \[(\S+)\]\nstd = \[(\S+)\]\n", resolved).groups()
        given = f'data.normalize={{type="given", mean=[{mean}], std=[{std}]}}'
        done = self.quern("checkpoint", "export", "body", "--out", "body.safetensors")
        self.assertEqual(done.code, 0, done)
        words = "were trained with data.normalize = {type=\"given\", mean=["
        for number, init in enumerate((INIT, INIT.replace('"body"', '"body.safetensors"'))):
            done = self.train("head", f"other-{number}", init, "train.epochs=1", ranks=2)
            self.assertEqual(done.err.count("warning: the weights of "), 1, done)
            self.assertIn(words, done.err)
            self.assertIn("and here it is \"none\" (--set '" + given + "' takes that of the weights)", done.err)
            done = self.train("head", f"same-{number}", init, "train.epochs=1", given)
            self.assertNotIn("warning: the weights", done.err)
        done = self.train("head", "dataset", INIT, "train.epochs=1", 'data.normalize="dataset"')
        self.assertNotIn("warning: the weights", done.err)
        for source in ("body", "body.safetensors"):
            done = self.quern("import", source, "--recipe", "body.toml", "--out", "start.h5", "--force")
            self.assertEqual((done.code, done.err.count("warning: the weights of ")), (0, 1), done)
            done = self.quern("import", source, "--recipe", "body.toml", "--out", "start.h5", "--force", "--set", given)
            self.assertEqual((done.code, done.err.count("warning: the weights of ")), (0, 0), done)

    def test_the_plan_says_what_is_frozen(self):
        done = self.quern("train", "head.toml", "--dry-run")
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r"(?m)^conv1 +conv2d, frozen ")
        self.assertRegex(done.out, r"(?m)^conv2 +conv2d  ")
        self.assertRegex(done.out, r"(?m)^parameters +\d+, \d+ of them trained$")
        self.assertIn("trainable = false", done.out)

    def test_bad_files_and_rules_are_refused_before_anything_is_written(self):
        self.train("body", "body", "train.epochs=1")
        (self.folder / "junk").write_text("junk")
        (self.folder / "cut").write_bytes(checkpoint_file(self.folder / "body", 13).read_bytes()[:-100])
        before = tree(self.folder)
        for init, code, words in (
                ('file="absent"', 2, "absent"), ('file="junk"', 2, "'junk'"), ('file="cut"', 93, "cut"),
                ('file="body"', 2, "no tensor 'head.weight'"),
                ('file="body", only=["conv9"]', 2, "network.init.only: no tensor of the network"),
                ('file="body", only=["head"]', 2, "no tensor 'head.weight' [10, 54]"),
                ('file="body", rename=["conv"]', 2, "network.init.rename: 'conv' is no rule"),
                ('file="body", rename=[1]', 2, "network.init.rename[0]"),
                ('only=["conv1"]', 2, "network.init.file"), ('file="body", std=1', 2, "network.init.std")):
            for ranks in (0, 2):
                done = self.start("head", "run", f'network.init={{type="checkpoint", {init}}}',
                                  ranks=ranks).wait()
                self.assertEqual(set(done.codes), {code}, done)
                self.assertEqual(len(done.errors()), 1, done)
                self.assertIn(words, done.err)
        self.assertEqual(tree(self.folder), before)


if __name__ == "__main__":
    training.main()
