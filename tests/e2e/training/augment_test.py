# SPDX-License-Identifier: Apache-2.0
"""data.augment: the images of docs/numerics.md, on any number of ranks, after any stop."""
import shutil

import idx
import numpy as np
import training
from training import results

CROP = 3
# 12 x 12 pixels, a prime number of samples, no dropout: the images are all that is random.
AUGMENTED = ("data.augment={crop = 3, flip = true}", "data.shuffle=false")


def philox(seed, index, epoch):
    """The four words of Philox4x32-10 for counters (index, 0, epoch, use 5): docs/numerics.md."""
    word = [index.astype(np.uint64), np.zeros_like(index, np.uint64),
            np.full_like(index, epoch, np.uint64), np.full_like(index, 5, np.uint64)]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        left, right = np.uint64(0xD2511F53) * word[0], np.uint64(0xCD9E8D57) * word[2]
        word = [(right >> half) ^ word[1] ^ key[0], right & mask,
                (left >> half) ^ word[3] ^ key[1], left & mask]
        key = [(key[0] + np.uint64(0x9E3779B9)) & mask, (key[1] + np.uint64(0xBB67AE85)) & mask]
    return word


def augmented(images, seed, epoch):
    """What an epoch shows of images [N, H, W]."""
    count, height, width = images.shape
    words = philox(seed, np.arange(count), epoch)
    top, left = (((word * np.uint64(2 * CROP + 1)) >> np.uint64(32)).astype(int)
                 for word in words[:2])
    flipped = (words[2] >> np.uint64(31)) != 0
    padded = np.pad(images, ((0, 0), (CROP, CROP), (CROP, CROP)))
    windows = [image[t:t + height, l:l + width] for image, t, l in zip(padded, top, left)]
    return np.stack([w[:, ::-1] if f else w for w, f in zip(windows, flipped)])


class AugmentTest(training.TrainingTest):
    def test_the_images_are_those_of_the_documented_formula(self):
        images, labels = idx.blobs(61)
        self.assertFalse(np.array_equal(augmented(images, 3, 0), augmented(images, 3, 1)))
        (self.folder / "train").unlink()
        training.make_shards(self.folder, "train", images, labels)
        for recipe in ("mlp", "conv"):
            # Two epochs of 61 samples, and one of 122 that numpy has made.
            sets = ("data.global_batch=61", "data.test=", "network.layers.dropout1.p=0.0")
            sets = sets if recipe == "conv" else sets[:2]
            both = np.concatenate([augmented(images, 3, epoch) for epoch in (0, 1)])
            made = self.folder / f"made-{recipe}"
            made.mkdir()
            training.make_shards(made, "train", both, np.tile(labels, 2))
            self.train(recipe, f"{recipe}-ours", *AUGMENTED, *sets, "train.epochs=2")
            self.train(recipe, f"{recipe}-numpy", "data.shuffle=false", *sets, "train.epochs=1",
                       f"data.train={made / 'train'}")
            self.assertEqual(self.hash(f"{recipe}-ours"), self.hash(f"{recipe}-numpy"))

    def test_targets_that_stay_where_they_are(self):
        text = training.RECIPE.replace("cross_entropy", "mse").replace('"test"', '"test"\ntarget = "values"')
        self.write_recipe("images", text, '[{type = "conv2d", channels = 1, kernel = 3, padding = 1}]')
        self.write_recipe("numbers", text, '[{type = "flatten"}, {type = "linear", features = 3}]')
        for augment in ("{crop = 1}", "{flip = true}"):
            check = ["train", "--check-recipe", "--set", f"data.augment={augment}"]
            done = self.quern(*check, "images.toml")
            self.assertEqual(done.code, 2, done)
            self.assertIn('data.augment contradicts data.target = "values" where the network puts out [1, 12, 12]', done.err)
            done = self.quern(*check, "numbers.toml")
            self.assertEqual((done.code, "leaves their targets as they are" in done.err), (0, True), done)
        done = self.quern("train", "--check-recipe", "images.toml")
        self.assertEqual((done.code, done.err), (0, ""), done)

    def test_ranks_a_stop_in_mid_epoch_and_evaluation(self):
        sets = ("data.augment={crop = 4, flip = true}", "train.epochs=2",
                "checkpoint.every_steps=20")
        self.train("conv", "alone", *sets)
        for ranks in (2, 3):
            self.train("conv", f"on{ranks}", *sets, ranks=ranks)
            self.assert_same_run(f"on{ranks}", "alone")
        # From the middle of the second epoch, 13 steps long, on another number of ranks.
        file = training.checkpoint_file(self.folder / "on2", 20)
        resumed = training.checkpoint_file(self.folder / "resumed", 20)
        resumed.parent.mkdir(parents=True)
        shutil.copy(file, resumed)
        self.train("conv", "resumed", *sets, ranks=3)
        self.assertEqual(results(self.folder / "resumed"), results(self.folder / "alone")[2:])
        self.assertEqual(self.hash("resumed"), self.hash("alone"))

        # Off, and on in each of its forms: four different runs.
        self.train("conv", "off", "data.augment={crop = 0, flip = false}", "train.epochs=2")
        self.train("conv", "plain", "train.epochs=2")
        self.assert_same_run("off", "plain")
        self.train("conv", "crop", "data.augment.crop=4", "train.epochs=2")
        self.train("conv", "flip", "data.augment.flip=true", "train.epochs=2")
        self.assertEqual(len({self.hash(run) for run in ("alone", "off", "crop", "flip")}), 4)

    def test_evaluation_sees_the_images_as_they_are(self):
        # Weights that do not move: the losses are those of the images.
        sets = ('optimizer={type="sgd", lr=1e-30}', "train.epochs=1")
        for recipe, setting in (("conv", "data.augment={crop = 4, flip = true}"), ("conv", "seed=3")):
            self.train(recipe, setting[:6], *sets, setting)
        ours, plain = (results(self.folder / run) for run in ("data.a", "seed=3"))
        self.assertEqual([line[0] for line in plain], ["epoch", "eval"])
        self.assertNotEqual(ours[0], plain[0])
        self.assertEqual(ours[1], plain[1])

    def test_it_belongs_to_the_run(self):
        self.train("mlp", "run", "train.epochs=1")
        done = self.train("mlp", "run", "train.epochs=2", "data.augment.flip=true", expected=2)
        self.assertIn("data.augment.flip", done.err)

    def test_what_cannot_be_augmented_is_refused(self):
        for sets, words in (
                (("data.augment.crop=7",), "data.augment.crop: 7 is too large for images of "
                 "12 x 12 pixels, expected at most half of the smaller side, 6"),
                (("data.augment.flip=true", "network.input=[144]"),
                 "data.augment.flip: true needs images, expected network.input = [channels, "
                 "height, width] instead of [144]"),
                (("data.augment.crop=1", "data.target=input", "loss.type=mse"),
                 'data.augment.crop: 1 contradicts data.target = "input"')):
            done = self.train("mlp", "refused", *sets, expected=2)
            self.assertIn(words, done.err)
            self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    training.main()
