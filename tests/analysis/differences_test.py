# SPDX-License-Identifier: Apache-2.0
"""In which settings runs differ: layers under the keys of --set, other networks, statistics, data; and that a sweep
never takes runs of different settings for repetitions."""
import unittest

from compare_test import run_of
from report_test import ReportCase

from quern_report import differences, sweep
from quern_report.runlog import read_run

DENSE = ('{type = "linear", name = "fc1", features = %d}, {type = "%s", name = "%s1"}, '
         '{type = "linear", name = "fc2", features = 9}')


def dense(features=16, kind="relu", more=""):
    """A network as the resolved recipe has it."""
    return f"[network]\ninput = [4]\nlayers = [{DENSE % (features, kind, kind)}{more}]\n"


def blocks(channels, repeat=2, stride=2, statistics="global"):
    """A bottleneck of the resolved recipe: its last convolution has four times the channels."""
    layers = ['{type = "conv2d", name = "conv1", channels = 4, stride = 1}']
    for i in range(repeat):
        for name, factor, step in (("conv1", 1, 1), ("conv2", 1, stride if i == 0 else 1), ("conv3", 4, 1)):
            layers.append(f'{{type = "conv2d", name = "layer1.{i}.{name}", channels = {factor * channels}, '
                          f'stride = {step}}}')
            layers.append(f'{{type = "batch_norm", name = "layer1.{i}.bn{name[-1]}", statistics = "{statistics}"}}')
        if i == 0:
            layers.append(f'{{type = "conv2d", name = "layer1.0.downsample.0", channels = {4 * channels}, '
                          f'stride = {stride}}}')
        layers.append(f'{{type = "add", name = "layer1.{i}.add", inputs = ["a", "b"]}}')
    return "[network]\nlayers = [" + ", ".join(layers) + "]\n"


class DifferencesCase(ReportCase):
    def runs(self, *recipes, **more):
        return [read_run(run_of(self.folder / f"r{i}", 0.5, extra=extra, **more)) for i, extra in enumerate(recipes)]

    def settings(self, *recipes):
        return differences.Settings(self.runs(*recipes))


class NetworkSettingsTest(DifferencesCase):
    def test_layers_have_the_keys_of_set(self):
        found = self.settings(dense(16), dense(128), dense(16))
        self.assertEqual(found.keys, ["network.layers.fc1.features"])
        self.assertEqual([row["network.layers.fc1.features"] for row in found.rows], [16, 128, 16])
        for name in ("network.layers.fc1.features", "network.layers.0.features", "network.layers[0].features"):
            self.assertEqual(found.find(name), "network.layers.fc1.features")
        for name in ("network.layers.2.features", "network.layers.fc1", "network.layers"):
            self.assertIsNone(found.find(name))

    def test_layers_without_names_have_numbers(self):
        unnamed = '[[network.layers]]\ntype = "linear"\nfeatures = %d\n'
        self.assertEqual(self.settings(unnamed % 3, unnamed % 4).keys, ["network.layers.0.features"])

    def test_a_batch_that_grows_with_the_ranks(self):
        folders = [run_of(self.folder / f"b{ranks}", 0.5, ranks=ranks) for ranks in (1, 2)]
        self.assertEqual(differences.Settings([read_run(folder) for folder in folders]).keys, ["ranks"])
        for folder in folders:
            recipe = folder / "recipe.toml"
            recipe.write_text(recipe.read_text().replace("global_batch", "batch_per_rank"))
        found = differences.Settings([read_run(folder) for folder in folders])
        self.assertEqual(found.keys, ["ranks", "global batch"])
        self.assertEqual([row["global batch"] for row in found.rows], [100, 200])

    def test_a_setting_that_one_run_leaves_out(self):
        found = self.settings(dense(), dense().replace("features = 9", "features = 9, trainable = false"))
        self.assertEqual(found.keys, ["network.layers.fc2.trainable"])
        self.assertEqual([differences.shown(row[found.keys[0]]) for row in found.rows], ["\N{EN DASH}", "false"])

    def test_blocks_have_the_key_of_the_block(self):
        found = self.settings(blocks(4), blocks(8), blocks(8, stride=4), blocks(8, statistics="block"))
        self.assertEqual(found.keys, ["network.layers.layer1.channels", "network.layers.layer1.statistics",
                                      "network.layers.layer1.stride"])
        self.assertEqual([row["network.layers.layer1.channels"] for row in found.rows], [4, 8, 8, 8])
        self.assertEqual([row["network.layers.layer1.stride"] for row in found.rows], [2, 2, 4, 2])
        self.assertEqual(found.find("network.layers.layer1.1.conv3.channels"), "network.layers.layer1.channels")

    def test_a_single_layer_of_a_block_keeps_its_own_key(self):
        inner = '"layer1.1.conv2", channels = '
        found = self.settings(blocks(4), blocks(4).replace(inner + "4", inner + "5"))
        self.assertEqual(found.keys, ["network.layers.layer1.1.conv2.channels"])

    def test_layers_of_a_block_that_change_by_themselves(self):
        """As when a resolved recipe is trained again with other layers."""
        def recipe(first, second):
            layer = '{type = "conv2d", name = "layer1.%d.conv1", channels = %d, stride = %d}'
            return f"[network]\nlayers = [{layer % (0, first, first)}, {layer % (1, second, 1)}]\n"
        keys = [f"network.layers.layer1.{key}" for key in ("0.conv1.channels", "0.conv1.stride", "1.conv1.channels")]
        self.assertEqual(self.settings(recipe(1, 1), recipe(1, 2), recipe(2, 1)).keys, keys)

    def test_a_layer_that_some_networks_lack(self):
        found = self.settings(*(dense(more=f', {{type = "dropout", name = "dropout1", p = {p}}}' if p else "")
                                for p in (0, 0.5, 0.5)))
        self.assertEqual(found.keys, ["network.layers"])

    def test_other_layers_make_another_network(self):
        found = self.settings(dense(16), dense(16, "tanh"), dense(32, "tanh"))
        self.assertEqual(found.keys, ["network.layers", "network.layers.fc1.features"])
        self.assertEqual([row["network.layers"] for row in found.rows],
                         ["linear-relu-linear", "linear-tanh-linear", "linear-tanh-linear"])

    def test_labels_tell_networks_apart(self):
        long = "".join(f', {{type = "linear", name = "fc{i}", features = 9}}' for i in range(3, 13))
        found = self.settings(dense(more=long), dense(kind="tanh", more=long))
        self.assertEqual([row["network.layers"] for row in found.rows], ["...-relu-...", "...-tanh-..."])
        dropout = long.replace("linear", "dropout", 1)
        found = self.more_settings(dense(more=long), dense(more=long.replace("fc9", "out")), dense(more=dropout))
        self.assertEqual([row["network.layers"] for row in found.rows], [f"network {n} (13 layers)" for n in (1, 2, 3)])

        flatten = dense(more=long).replace("layers = [", 'layers = [{type = "flatten", name = "flatten1"}, ')
        deeper = dense(more=', {type = "dropout", name = "dropout1"}' + long)
        for i, (recipe, label) in enumerate(((flatten, "flatten-linear-..."), (deeper, "...-linear-dropout-..."))):
            found = self.more_settings(dense(more=long), recipe, folder=f"more{i}")
            self.assertEqual(found.rows[1]["network.layers"], label)

    def more_settings(self, *recipes, folder="more"):
        return differences.Settings([read_run(run_of(self.folder / folder / str(i), 0.5, extra=extra))
                                     for i, extra in enumerate(recipes)])

    def test_the_grid_may_name_what_makes_another_network(self):
        runs = self.runs(blocks(4, repeat=1), blocks(4, repeat=2))
        self.assertIsNone(differences.Settings(runs).find("network.layers.layer1.repeat"))
        (runs[1].path / "job").mkdir()
        (runs[1].path / "job" / "trial").write_text("optimizer.lr=1 network.layers.layer1.repeat=2\n")
        self.assertEqual(differences.Settings(runs).find("network.layers.layer1.repeat"), "network.layers")
        self.assertIsNone(differences.Settings(runs).find("network.layers.layer1.chanels"))


class OtherSettingsTest(DifferencesCase):
    def test_statistics_are_one_setting(self):
        given = '[data.normalize]\ntype = "given"\nmean = [%s]\nstd = [0.5, 0.25, 0.125]\n'
        found = self.settings(given % "0.123456, 2, 3", given % "0.123457, 2, 3", '[data.normalize]\ntype = "none"\n')
        self.assertEqual(found.keys, ["data.normalize"])
        text = "mean 0.1235, ...; std 0.5, ..."
        self.assertEqual([row["data.normalize"] for row in found.rows], [text, f"{text} (2)", "none"])
        self.assertEqual(found.find("data.normalize.mean"), "data.normalize")

    def test_a_run_that_was_changed_on_the_way_is_no_repetition(self):
        """Its recipe has the settings of its end."""
        changed, plain = self.runs("", "")
        changed.events = [{"event": "start", "step": 20,
                           "changes": [{"key": "optimizer.lr", "before": "1.0", "after": "0.2"}]}]
        found = differences.Settings([changed, plain])
        self.assertEqual(found.keys, ["changes"])
        self.assertEqual([row["changes"] for row in found.rows], ["optimizer.lr from 1.0 to 0.2 at step 20", None])

    def test_long_values_stay_different(self):
        path = f"/scratch/{'x' * 60}/"
        init = '[network.init]\nfile = "%s"\n'
        found = self.settings(init % (path + "a"), init % (path + "b"), init % f"{path[:40]}y{path[41:]}a")
        texts = [row["network.init.file"] for row in found.rows]
        self.assertEqual(texts[1], "/scratch/xxxxxxxxx...xxxxxxxxxxxxxxxx/b")
        self.assertEqual((texts[0][:4], texts[0][-3:], texts[2][:4], texts[2][-3:]), ("...x", "x/a", "...y", "x/a"))
        self.assertLessEqual(max(map(len, texts)), differences.LONG)
        self.assertEqual([differences.shown(text) for text in texts], texts)

    def test_tables_that_may_be_a_word(self):
        schedule = '[optimizer.schedule]\ntype = "%s"\n'
        self.assertEqual(self.settings(schedule % "cosine", schedule % "constant").find("optimizer.schedule"),
                         "optimizer.schedule.type")


class ManyDifferencesTest(DifferencesCase):
    def compare(self, runs):
        self.page(self.folder / self.report("compare", *(run.path for run in runs))[0].strip())
        return (self.folder / "compare" / "compare.md").read_text()

    def test_all_are_listed(self):
        keys = [f"key{i}" for i in range(9)]
        for count in (2, 9):  # a column for each run, and a row for each
            recipes = ["[parallel]\n" + "".join(f"{key} = {i}\n" for key in keys) for i in range(count)]
            runs = [read_run(run_of(self.folder / f"{count}-{i}", 0.5, extra=extra)) for i, extra in enumerate(recipes)]
            text = self.compare(runs)
            self.assertIn("The recipes differ in 9 settings: the table Differences has all of them.", text)
            for key in keys:
                self.assertIn(f"parallel.{key}", text)
        self.assertIn("| 9-8 | 8 | 8 | 8 | 8 | 8 | 8 | 8 | 8 | 8 |", text)

    def test_networks_are_listed(self):
        text = self.compare(self.runs(dense(16), dense(32, "tanh")))
        self.assertIn("| run | network.layers | network.layers.fc1.features | epochs |", text)
        self.assertIn("Layers of network.layers = linear-tanh-linear:\n\n```\nfc1 linear features=32\ntanh1 tanh\n",
                      text)

    def test_data_is_a_difference(self):
        runs = self.runs("", "")
        recipe = runs[1].path / "recipe.toml"
        recipe.write_text(recipe.read_text().replace("[data]", '[data]\ntest = "elsewhere/test"'))
        self.assertIn("| run | data.test | epochs |", self.compare(runs))

    def test_what_changes_nothing_is_none(self):
        text = self.compare(self.runs("", "[checkpoint]\nkeep = 9\n"))
        self.assertIn("The recipes differ only in names, checkpoints and what is logged.", text)


class SweepOfNetworksTest(DifferencesCase):
    def sweep(self, runs, *words, expected=0):
        out, errors = self.report("sweep", *runs, *words, expected=expected)
        return errors if expected else self.page(self.folder / out.strip())

    def grid(self, *settings):
        return [run_of(self.folder / f"g{i}", accuracy, lr, extra=network, seed=i)
                for i, (network, lr, accuracy) in enumerate(settings)]

    def test_widths_are_an_axis(self):
        runs = self.grid((dense(16), 0.1, 0.9), (dense(128), 0.1, 0.5), (dense(16), 0.2, 0.6), (dense(128), 0.2, 0.8))
        shown = self.sweep(runs)
        self.assertIn("Best of all is optimizer.lr = 0.1 with network.layers.fc1.features = 16: "
                      "test accuracy 90.00 %.", shown)
        self.assertIn("With network.layers.fc1.features = 128, optimizer.lr = 0.2 is best", shown)
        self.assertNotIn("mean", shown)
        text = (self.folder / "sweep" / "sweep.md").read_text()
        self.assertIn("| run | optimizer.lr | network.layers.fc1.features | seed |", text)
        for key in ("network.layers.fc1.features", "network.layers.0.features"):
            self.assertIn("Over all runs, network.layers.fc1.features = 16 is best", self.sweep(runs, "--by", key))
        self.assertIn("the runs do not differ in network.layers.fc2.features (they do in: ",
                      self.sweep(runs, "--by", "network.layers.fc2.features", expected=2))

    def test_only_the_network_differs(self):
        for networks, best in (((dense(16), dense(32)), "network.layers.fc1.features = 32"),
                               ((dense(), dense(kind="tanh")), "network.layers = linear-tanh-linear")):
            runs = [run_of(self.folder / f"{best[-4:]}{i}", 0.5 + 0.1 * i, extra=network)
                    for i, network in enumerate(networks)]
            shown = self.sweep(runs)
            self.assertIn(f"Over all runs, {best} is best: test accuracy 60.00 %.", shown)

    def test_different_networks_are_no_repetitions(self):
        """Averaged, 0.1 would be the best learning rate."""
        runs = self.grid((dense(16), 0.1, 0.8), (dense(128), 0.1, 0.8), (dense(16), 0.2, 0.2), (dense(128), 0.2, 0.88),
                         (dense(128), 0.2, 0.92))
        shown = self.sweep(runs, "--by", "optimizer.lr")
        self.assertIn("The runs differ in network.layers.fc1.features as well: of each optimizer.lr the best of them "
                      "counts, not their mean.", shown)
        self.assertIn("Over all runs, optimizer.lr = 0.2 is best: test accuracy 90.00 % (mean of 2 seeds, standard deviation 2.83 %).", shown)
        self.assertIn("best of 2 settings", shown)

    def test_runs_that_differ_in_their_seed_are_averaged(self):
        runs = self.grid((dense(16), 0.1, 0.7), (dense(16), 0.1, 0.9), (dense(16), 0.2, 0.6))
        shown = self.sweep(runs)
        self.assertIn("optimizer.lr = 0.1 is best: test accuracy 80.00 % (mean of 2 seeds, standard deviation 14.14 %).", shown)
        self.assertIn("mean of 2 seeds", shown)
        self.assertNotIn("as well", shown)

    def test_what_follows_is_no_axis(self):
        """Statistics follow from the data, and fc2 of a deeper network is another layer than that of a flat one."""
        def axes_of(runs):
            return sweep.axes_of(differences.Settings([read_run(run) for run in runs]))
        deeper = [dense(more=', {type = "relu"}' * i).replace("features = 9", f"features = {9 - i}") for i in range(3)]
        runs = [run_of(self.folder / f"{i}-{lr}", 0.5, lr, extra=network) for i, network in enumerate(deeper)
                for lr in (0.1, 0.2)]
        self.assertEqual(axes_of(runs), ["network.layers", "optimizer.lr"])
        statistics = '[data.normalize]\ntype = "given"\nmean = [%s]\n'
        runs = [run_of(self.folder / f"s{i}-{lr}", 0.5, lr, extra=statistics % i)
                for i in range(2) for lr in (0.1, 0.2)]
        self.assertEqual(axes_of(runs), ["optimizer.lr", "data.normalize"])
        for run in runs:
            recipe = run / "recipe.toml"
            recipe.write_text(recipe.read_text().replace("[data]", f'[data]\ntrain = "data/{run.name[:2]}"'))
        self.assertEqual(axes_of(runs), ["optimizer.lr", "data.train"])
        self.assertEqual(axes_of([run for run in runs if run.name.endswith("0.1")]), ["data.train"])

    def test_what_varies_in_a_single_run_is_the_last_axis(self):
        runs = self.runs(*(f"[parallel]\none = {i == 0}\ntwo = {i % 2 == 0}\n".lower() for i in range(5)))
        for run, lr in zip(runs, (1, 2, 3, 1, 2)):
            run.recipe["optimizer"]["lr"] = lr
        self.assertEqual(sweep.axes_of(differences.Settings(runs)), ["optimizer.lr", "parallel.two"])

    def test_speeds_of_other_networks_are_not_compared(self):
        runs = [run_of(self.folder / f"{features}-{ranks}", 0.5, ranks=ranks, speed=speed, extra=dense(features))
                for features, ranks, speed in ((16, 1, 9000.0), (128, 2, 1000.0))]
        self.assertNotIn("as many samples a second", self.sweep(runs))
        runs.append(run_of(self.folder / "16-4", 0.5, ranks=4, speed=18000.0, extra=dense(16)))
        self.assertIn("With network.layers.fc1.features = 16, against 1 rank (9\N{NARROW NO-BREAK SPACE}000 "
                      "samples / s), 4 ranks 2.00 times as many samples a second.", self.sweep(runs))


if __name__ == "__main__":
    unittest.main(verbosity=2)
