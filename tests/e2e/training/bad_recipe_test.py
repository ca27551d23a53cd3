# SPDX-License-Identifier: Apache-2.0
"""Recipes that cannot be trained: exit status 2, one message over all ranks, nothing written."""
import training
from refusal import RefusalTest


class BadRecipeTest(RefusalTest):
    def refused_recipe(self, old, new, *parts, ranks=(0, 2), needs_data=False):
        text = (self.folder / "mlp.toml").read_text()
        self.assertIn(old, text)
        self.write_recipe("bad", text.replace(old, new))
        self.refused(["train", "bad.toml", "--run-dir", "run"], *parts, ranks=ranks)
        if not needs_data:
            self.refused(["train", "bad.toml", "--run-dir", "run", "--check-recipe"], *parts, ranks=(0,))

    def test_a_batch_that_no_node_has_memory_for(self):
        """What would help is named."""
        layers = ('[{type = "conv2d", channels = 65536, kernel = 1}, {type = "flatten"},'
                  ' {type = "linear", features = 1}]')
        settings = ['data={source = "random", samples = 4096, global_batch = 4096}', "network.input=[1, 64, 64]",
                    f"network.layers={layers}"]
        self.refused(["train", "mlp.toml", "--run-dir", "run", *(word for one in settings for word in ("--set", one))],
                     "training on ", " of memory, only ", "(expected a smaller data.global_batch, a larger "
                     "parallel.micro_batches, train.recompute = true, or ranks on more nodes)")

    def test_missing(self):
        self.refused(["train", "absent.toml"], "absent.toml")

    def test_a_folder(self):
        self.refused(["train", "train"], "train")

    def test_not_toml(self):
        (self.folder / "bad.toml").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)))
        self.refused(["train", "bad.toml", "--run-dir", "run"], "bad.toml")

    def test_misspelt_key(self):
        self.refused_recipe("epochs = 3", "epoch = 3", "bad.toml", "22", "train.epoch", "epochs")

    def test_misspelt_setting(self):
        self.refused(["train", "mlp.toml", "--set", "optimizer.lrr=1"], "optimizer.lr", "--set")

    def test_numbers_of_options(self):
        for bandwidth in ("-1", "-0.5", "inf", "nan", "many", ""):
            done = self.quern("preflight", "--min-bandwidth", bandwidth)
            self.assertEqual(done.code, 2, done)
            self.assertIn("--min-bandwidth: ", done.err)
            self.assertLess(len(done.err), 150, done)
        self.refused(["plan", "mlp.toml", "--nodes", "1", "--site", "jean-zay", "--cores", "2"], "--site excludes --cores")

    def test_options_that_would_have_no_effect(self):
        for command in ("info", "preflight"):
            self.refused([command, "--set", "seed=1"], "--set without a recipe", ranks=(0,))
        self.refused(["preflight", "--set", "seed=1"], "--set without a recipe", ranks=(2,))
        done = self.quern("preflight", "--min-bandwidth", "1")
        self.assertEqual(done.code, 0, done)
        self.assertIn("warning: network: --min-bandwidth: one rank alone has no all-reduce", done.out)

    def test_empty_values(self):
        """As of variables that are not set."""
        for words in (["bench", "step", "mlp.toml", "--json"], ["bench", "io", "--data"],
                      ["plan", "mlp.toml", "--nodes", "1", "--json"], ["plan", "mlp.toml", "--nodes", "1", "--site"],
                      ["plan", "mlp.toml", "--nodes", "1", "--site", "lumi-c", "--figures"],
                      ["preflight", "--run-dir"], ["metrics", "run", "--tensorboard"],
                      *(["shard", "--images", "x.npy", "--out", "new", option] for option in (
                          "--name", "--labels", "--targets", "--class-names", "--sha256", "--sha256-labels"))):
            self.refused([*words, ""], f"{words[-1]}: is empty (a variable that was not set?)", ranks=(0,))
        for command in ("preflight", "info"):
            self.refused([command, ""], "recipe: is empty", ranks=(0,))

    def test_checked_without_data_and_device(self):
        """What can be known before there are data, and on a node without the devices that the program is for."""
        check = ["train", "mlp.toml", "--check-recipe"]
        env = {"KOKKOS_TUNE_INTERNALS": "none"}  # Kokkos, if it started, would refuse that
        before = training.tree(self.folder)
        done = self.quern(*check, "--set", "data.train=none", "--run-dir", "run", "--ranks", "49", env=env)
        idle = ("quern: warning: 36 of 49 ranks have nothing to do: a batch of 49 samples has 13 micro-blocks of 4 "
                "(take fewer ranks, or set a smaller train.micro_block)\n")
        self.assertEqual((done.code, done.err), (0, idle), done)
        self.assertRegex(done.out, r"^good: .* 49 ranks")
        self.assertEqual(training.tree(self.folder), before)
        self.refused([*check, "--ranks", "50"], "50 ranks", "49 samples", ranks=(0,))
        self.refused([*check, "--ranks", "2", "--set", "parallel.backend=serial"], "parallel.backend", ranks=(0,))
        self.refused([*check, "--set", "data.source=program"], "data.source", ranks=(0,))
        normalized = 'network.layers=[{type="flatten"}, {type="batch_norm"}, {type="linear", features=10}]'
        self.refused([*check, "--set", normalized, "--set", "data.global_batch=1"], "bn1", "at least 2", ranks=(0,))
        self.refused([*check, "--set", "loss.type=mse", "--set", "data.target=input"], "data.target", ranks=(0,))
        self.refused([*check, "--resume", "absent.h5"], "--resume: there is no checkpoint 'absent.h5'", ranks=(0,))
        self.train("mlp", "run", "train.epochs=1")
        self.assertEqual(self.quern(*check, "--resume", "run").code, 0)
        done = self.quern(*check, "--run-dir", "run", "--set", "train.epochs=9")
        self.assertEqual((done.code, done.err), (0, ""), done)
        self.refused([*check, "--run-dir", "run", "--set", "optimizer.lr=0.5"], "run/recipe.toml", "optimizer.lr", ranks=(0,))
        self.refused([*check, "--run-dir", "run", "--resume", "never"], "holds a run", ranks=(0,))

    def test_mistyped_value(self):
        self.refused_recipe("epochs = 3", 'epochs = "three"', "bad.toml", "22", "train.epochs",
                            "integer")

    def test_value_out_of_range(self):
        self.refused_recipe("lr = 2e-3", "lr = -1", "optimizer.lr", "-1")

    def test_contradictory_keys(self):
        self.refused_recipe("global_batch = 49", "global_batch = 49\nbatch_per_rank = 7",
                            "global_batch", "batch_per_rank")

    def test_key_of_another_optimizer(self):
        self.refused_recipe("lr = 2e-3", "lr = 2e-3\nmomentum = 0.9", "optimizer.momentum", "sgd")

    def test_auto_encoder_with_labels(self):
        self.refused_recipe('type = "cross_entropy"', 'type = "mse"', "mse", "label")

    def test_precision_without_a_gpu(self):
        if "Cuda" in self.quern("info").out:
            self.skipTest("this is a build for GPUs")
        self.refused(["train", "mlp.toml", "--set", "train.precision=tf32"],
                     "train.precision", "tf32", "GPU", '"bf16"')

    def test_shapes_that_do_not_fit(self):
        text = training.CONV_LAYERS.replace('{type = "flatten"},', "")
        self.write_recipe("bad", training.RECIPE, text)
        self.refused(["train", "bad.toml"], "fc1", "[5, 5, 5]")

    def test_branches_that_do_not_fit(self):
        for old, new, *parts in (
            ('type = "relu"', 'type = "relu", input = "fc9"', "input", '"fc9" is no layer', "'fc1'"),
            ('type = "relu"', 'type = "add", inputs = ["fc1", "fc2"]', "inputs[1]", '"fc2" comes later', "line"),
            ('type = "relu"', 'type = "add", inputs = ["fc1", "input"]', "add1", "recipe line",
             "'fc1' of shape [19]", "'input' of shape [1, 12, 12]", "equal shapes"),
            ('type = "relu"', 'type = "concat", inputs = ["fc1", "input"]', "concat1", "recipe line",
             "'fc1' of shape [19]", "'input' of shape [1, 12, 12]", "equal heights and widths"),
            ('type = "relu"', 'type = "concat", input = "fc1"', "layers[2].input", '"concat"', "inputs"),
            ('type = "relu"', 'type = "cat", inputs = ["fc1", "fc1"]', "cat", "did you mean", "concat"),
            ('type = "relu"', 'type = "upsample", scale_factor = 2', "scale_factor", "did you mean", "factor"),
        ):
            with self.subTest(new=new):
                self.assertIn(old, training.MLP_LAYERS)
                layers = training.MLP_LAYERS.replace(old, new, 1)
                self.write_recipe("bad", training.RECIPE, layers)
                self.refused(["train", "bad.toml"], *parts)

    def test_kernel_larger_than_the_image(self):
        text = training.CONV_LAYERS.replace("kernel = 3", "kernel = 13")
        self.write_recipe("bad", training.RECIPE, text)
        self.refused(["train", "bad.toml"], "conv1", "[1, 12, 12]", "13")

    def test_fewer_outputs_than_classes(self):
        self.write_recipe("bad", training.RECIPE, training.MLP_LAYERS.replace("= 10", "= 9"))
        self.refused(["train", "bad.toml"], "[9]", "10 classes")

    def test_network_for_other_images(self):
        self.refused_recipe("[1, 12, 12]", "[3, 8, 12]", "[3, 8, 12]", "[1, 12, 12]", needs_data=True)

    def test_auto_encoder_of_another_size(self):
        self.write_recipe("bad", training.RECIPE.replace('"cross_entropy"', '"mse"').replace(
            "global_batch = 49", 'global_batch = 49\ntarget = "input"'))
        self.refused(["train", "bad.toml"], "data.target", "[10]", "[1, 12, 12]")

    def test_absurd_sizes(self):
        self.write_recipe("bad", training.RECIPE,
                          training.MLP_LAYERS.replace("= 19", "= 16777216"))
        self.refused(["train", "bad.toml", "--set", "data.global_batch=16777217"], "global_batch")

    def test_more_ranks_than_samples(self):
        random = ("--set", 'data.source="random"', "--set", "data.samples=2")
        text = (self.folder / "mlp.toml").read_text().replace('train = "train"\ntest = "test"\n',
                                                              'target = "values"\n')
        self.write_recipe("bad", text.replace('"cross_entropy"', '"mse"'))
        self.refused(["train", "bad.toml", *random], "3 ranks", "2 training samples", ranks=[3])

    def test_more_ranks_than_the_batch(self):
        self.refused(["train", "mlp.toml", "--set", "data.global_batch=2"], "3 ranks", "batch of 2",
                     ranks=[3])

    def test_unknown_subcommand_and_options(self):
        self.refused(["trian"], "no command 'trian'", "known: train, ")
        self.refused(["checkpoint", "foo"], "no command 'foo' of 'checkpoint'", "known: ls, ",
                     "quern checkpoint --help", ranks=[0])
        self.refused(["bench", "nope"], "no command 'nope' of 'bench'")
        self.refused([], "subcommand", ranks=[0])
        self.refused(["train"], "recipe", ranks=[0])
        self.refused(["train", "mlp.toml", "--nonsense"], "--nonsense")
        self.refused(["evaluate", "run", "--data", ""], "--data: is empty")

    def test_processes_that_do_not_find_each_other(self):
        alone = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
        self.refused(["train", "mlp.toml"], "4 processes", "SLURM_STEP_NUM_TASKS", "pmix",
                     ranks=[0], env=alone)
        done = self.quern("train", "mlp.toml", env=alone | {"SLURM_PROCID": "2"})
        self.assertEqual((done.code, done.err), (2, ""))  # rank 0 speaks for all


if __name__ == "__main__":
    training.main()
