# SPDX-License-Identifier: Apache-2.0
"""The names of a table's columns: from its first line to the checkpoint, and compared with those of other samples."""
import json

import h5py
import numpy as np
import training

RECIPE = """
name = "table"
[data]
train = "table/train"
test = "table/test"
target = "values"
global_batch = 20
[network]
input = [3]
layers = {layers}
[loss]
type = "mse"
[optimizer]
type = "adam"
lr = 0.01
[train]
epochs = 1
"""


class FeatureNamesTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.rows = np.random.default_rng(4).standard_normal((60, 4)).round(3)
        self.columns = dict(zip(("time", "u", "width, mm", "y"), self.rows.T))
        self.table("all.csv", "time", "u", "width, mm", "y")
        self.shards("train", "all.csv:1-3")
        self.shards("test", "all.csv:1-3")
        self.write_recipe("table", RECIPE, '[{type = "linear", features = 4}, {type = "tanh"}, {type = "linear", features = 1}]')

    def table(self, file, *names):
        head = ",".join(f'"{name}"' if "," in name else name for name in names)
        np.savetxt(self.folder / file, np.stack([self.columns[name] for name in names], axis=1), fmt="%.3f", delimiter=",",
                   header=head, comments="")

    def shards(self, split, images):
        done = self.quern("shard", "--images", images, "--targets", "all.csv:y", "--out", f"table/{split}", "--split", split,
                          "--name", "table", "--force")
        self.assertEqual(done.code, 0, done)

    def test_they_travel(self):
        (file,) = (self.folder / "table/train").iterdir()
        with h5py.File(file) as shard:
            self.assertEqual(shard.attrs["feature_names"], "time\nu\nwidth, mm")
        shown = json.loads(self.quern("data", "show", "table/train", "--json").out)
        self.assertEqual(shown["feature_names"], ["time", "u", "width, mm"])
        self.assertRegex(self.quern("data", "show", "table/train").out, r"feature 1 .*  u\n")
        self.train("table", "run", ranks=2)
        with h5py.File(training.checkpoint_file(self.folder / "run", 3)) as checkpoint:
            self.assertEqual(checkpoint["train"].attrs["feature_names"], "time\nu\nwidth, mm")
        done = self.quern("checkpoint", "export", "run", "--out", "run.safetensors")
        self.assertEqual(done.code, 0, done)
        done = self.quern("import", "run.safetensors", "--recipe", "table.toml", "--out", "again.h5")
        self.assertEqual(done.code, 0, done)
        with h5py.File(self.folder / "again.h5") as checkpoint:
            self.assertEqual(checkpoint["train"].attrs["feature_names"], "time\nu\nwidth, mm")

    def test_predictions_take_columns_by_their_names(self):
        self.train("table", "run")
        expected = self.quern("predict", "run", "--data", "table/test", "--split", "test").out
        expected = [line.split(",")[:2] for line in expected.splitlines()]
        self.table("other.csv", "y", "u", "width, mm", "time")
        for name, says in (("all.csv:1-3", False), ("all.csv", True), ("other.csv", True)):
            for ranks in (0, 2):
                done = self.quern("predict", "run", "--images", name, ranks=ranks)
                self.assertEqual(set(done.codes), {0}, done)
                self.assertEqual([line.split(",")[:2] for line in done.out.splitlines()], expected, name)
                self.assertEqual("are taken by their names in the training data" in done.err, says, done.err)
        # A table without names has an order alone.
        np.savetxt(self.folder / "plain.csv", self.rows[:, :3], fmt="%.3f", delimiter=",")
        done = self.quern("predict", "run", "--images", "plain.csv")
        self.assertEqual([line.split(",")[:2] for line in done.out.splitlines()], expected)

    def test_others_are_refused(self):
        self.train("table", "run")
        self.table("other.csv", "u", "time", "width, mm")
        expected = "number 1 is 'time' in the training data and 'u' in 'other.csv:1-3'"
        done = self.quern("predict", "run", "--images", "other.csv:1-3")
        self.assertEqual((done.code, expected in done.err, done.out), (2, True, ""), done)
        self.columns["v"] = self.columns.pop("u")
        self.table("lacks.csv", "time", "v", "width, mm")
        done = self.quern("predict", "run", "--images", "lacks.csv")
        self.assertEqual(done.code, 2, done)
        self.assertIn("number 2 of the training data, 'u', is not in 'lacks.csv', which has 'time', 'v', 'width, mm'", done.err)
        self.shards("test", "other.csv")
        for command in (["evaluate", "run", "--data", "table/test"], ["predict", "run", "--data", "table/test"],
                        ["train", "table.toml", "--run-dir", "new"], ["preflight", "table.toml"]):
            done = self.quern(*command)
            self.assertNotEqual(done.code, 0, done)
            self.assertIn("number 1 is 'time' in the training data and 'u' in ", done.err + done.out)

    def test_weights_of_other_features(self):
        """Of a run that is resumed they are other data as well."""
        self.train("table", "run")
        done = self.quern("checkpoint", "export", "run", "--out", "run.safetensors")
        self.assertEqual(done.code, 0, done)
        said = "the weights were trained with other features: number 1 is 'time' in the training data and 'u' in 'table/train'"
        init = 'network.init={type="checkpoint", file="run.safetensors"}'
        self.assertNotIn(said, self.train("table", "same", init).err)
        self.table("other.csv", "u", "time", "width, mm")
        self.shards("train", "other.csv")
        self.shards("test", "other.csv")
        self.assertIn(said, self.train("table", "tuned", init).err)

    def test_shards_without_names_are_read(self):
        for folder in "table/train", "table/test":
            (file,) = (self.folder / folder).iterdir()
            before = json.loads(self.quern("data", "show", folder, "--json").out)["content_hash"]
            with h5py.File(file, "r+") as shard:
                del shard.attrs["feature_names"]
            after = json.loads(self.quern("data", "show", folder, "--json").out)
            self.assertEqual((after["content_hash"], "feature_names" in after), (before, False))
        self.train("table", "run")
        self.table("other.csv", "u", "time", "width, mm")
        self.assertEqual(self.quern("predict", "run", "--images", "other.csv").code, 0)

    def test_bad_names(self):
        (file,) = (self.folder / "table/train").iterdir()
        with h5py.File(file, "r+") as shard:
            shard.attrs["feature_names"] = "a\nb"
        done = self.quern("data", "show", "table/train")
        self.assertEqual(done.code, 2, done)
        self.assertIn("attribute 'feature_names' has 2 lines, expected one for each of 3 numbers of a sample", done.err)
        self.table("other.csv", "u", "time", "width, mm")
        done = self.quern("shard", "--images", "all.csv:1-3", "other.csv", "--out", "both")
        self.assertEqual(done.code, 2, done)
        self.assertIn("'other.csv' has the column 'u' where 'all.csv:1-3' has 'time'", done.err)


if __name__ == "__main__":
    training.main()
