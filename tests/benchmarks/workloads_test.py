# SPDX-License-Identifier: Apache-2.0
import pathlib
import tempfile
import unittest

from fakes import ROOT

from workloads import (ProblemError, batch_size, layers_of, load_recipe, output_count, read_recipe,
                       sample_count, settings_of, step_gemms)

RESNET50 = {
    "data": {"global_batch": 2},
    "network": {"input": [3, 224, 224], "layers": [
        {"type": "conv2d", "channels": 64, "kernel": 7, "stride": 2, "padding": 3, "bias": False},
        {"type": "batch_norm"}, {"type": "relu"},
        {"type": "max_pool2d", "size": 3, "stride": 2, "padding": 1},
        {"type": "bottleneck", "name": "layer1", "channels": 64, "repeat": 3},
        {"type": "bottleneck", "name": "layer2", "channels": 128, "stride": 2, "repeat": 4},
        {"type": "bottleneck", "name": "layer3", "channels": 256, "stride": 2, "repeat": 6},
        {"type": "bottleneck", "name": "layer4", "channels": 512, "stride": 2, "repeat": 3},
        {"type": "global_avg_pool"}, {"type": "linear", "name": "fc", "features": 1000}]}}


def load(workload):
    return read_recipe(ROOT / "recipes", workload)[1]


class WorkloadsTest(unittest.TestCase):
    def test_flop_of_a_step_as_counted_by_hand(self):
        # 2 x (134400 forward + 134400 weight gradients + 34048 input gradients) x 128 samples etc.
        for workload, per_sample in (("W1", 2 * 302848), ("W2", 2 * 6629400), ("W7", 2 * 600064)):
            recipe = load(workload)
            self.assertEqual(sum(gemm.flop for gemm in step_gemms(recipe)),
                             per_sample * batch_size(recipe), workload)

    def test_products_of_the_mlp(self):
        gemms = step_gemms(load("W1"))
        self.assertEqual(len(gemms), 11)
        self.assertEqual([gemm.shape for gemm in gemms[:5]],
                         ["nt 128 128 784", "tn 128 784 128", "nt 128 128 128", "tn 128 128 128",
                          "nn 128 128 128"])
        self.assertEqual((gemms[-1].layer, gemms[-1].what, gemms[-1].shape),
                         ("fc4", "input_gradient", "nn 128 128 10"))

    def test_convolutions_as_im2col(self):
        shapes = {(gemm.layer, gemm.what): gemm.shape for gemm in step_gemms(load("W2"))}
        self.assertEqual(shapes["conv1", "forward"], "nt 173056 20 9")
        self.assertEqual(shapes["conv2", "weight_gradient"], "tn 50 500 20736")
        self.assertEqual(shapes["conv2", "input_gradient"], "nn 20736 500 50")
        self.assertEqual(shapes["fc1", "forward"], "nt 256 128 800")
        self.assertNotIn(("conv1", "input_gradient"), shapes)

    def test_branches(self):
        recipe = load_recipe(ROOT / "tests" / "golden" / "residual.toml")
        gemms = {(gemm.layer, gemm.what): gemm.shape for gemm in step_gemms(recipe)}
        pixels, beside = 11 * 9 * 10, 11 * 5 * 5
        self.assertEqual(gemms["conv3", "forward"], f"nt {pixels} 5 45")
        self.assertEqual(gemms["conv4", "forward"], f"nt {beside} 7 45")
        self.assertEqual(gemms["beside", "input_gradient"], f"nn {beside} 5 7")
        self.assertEqual(gemms["fc1", "forward"], "nt 11 6 28")
        self.assertNotIn(("conv1", "input_gradient"), gemms)
        # A branch that begins at the batch behind another layer.
        layers = [{"type": "linear", "features": 4},
                  {"type": "linear", "features": 4, "input": "input"},
                  {"type": "add", "inputs": ["fc1", "fc2"]}, {"type": "linear", "features": 3}]
        recipe = {"data": {"global_batch": 8}, "network": {"input": [4, 1, 1], "layers": layers}}
        found = [gemm.layer for gemm in step_gemms(recipe) if gemm.what == "input_gradient"]
        self.assertEqual(found, ["fc3"])

    def test_resnet50_is_that_of_torchvision(self):
        layers = {layer.name: layer for layer in layers_of(RESNET50)}
        parameters = 0
        for layer in layers.values():
            if layer.kind == "conv2d":
                self.assertFalse(layer.spec["bias"], layer.name)
                parameters += layer.shape[0] * layer.input_shape[0] * layer.spec["kernel"] ** 2
            elif layer.kind == "batch_norm":
                parameters += 2 * layer.shape[0]
        parameters += 2048 * 1000 + 1000
        self.assertEqual(parameters, 25557032)
        gemms = step_gemms(RESNET50)
        forward = sum(gemm.flop for gemm in gemms if gemm.what == "forward")
        self.assertEqual(forward, 2 * 2 * 4089184256)
        for name, shape in (("bn1", (64, 112, 112)), ("layer1.0.downsample.1", (256, 56, 56)),
                            ("layer2.0.conv2", (128, 28, 28)), ("layer4.2.bn3", (2048, 7, 7)),
                            ("fc", (1000,))):
            self.assertEqual(layers[name].shape, shape, name)
        self.assertNotIn("layer1.1.downsample.0", layers)
        self.assertEqual(output_count(RESNET50), 1000)
        self.assertEqual(sample_count(RESNET50), 2**27 // (3 * 224 * 224))
        values = {**RESNET50, "data": {"source": "random", "global_batch": 2}}
        self.assertEqual(sample_count(values), 2**27 // (4 * (3 * 224 * 224 + 1000)))

    def test_settings_change_a_recipe(self):
        recipe = load_recipe(ROOT / "recipes" / "mlp-mnist.toml",
                             ["data.global_batch=32", 'train.precision="tf32"'])
        self.assertEqual(recipe["data"]["global_batch"], 32)
        self.assertEqual(recipe["train"]["precision"], "tf32")
        self.assertEqual(sample_count(recipe), 60000)

    def test_images_are_neither_cropped_nor_flipped(self):
        for name, folder in (("a", "augment = {crop = 4, flip = true}"), ("b", "")):
            with self.subTest(name), tempfile.TemporaryDirectory() as recipes:
                path = pathlib.Path(recipes) / "resnet20-fashion.toml"
                path.write_text(f"[data]\nglobal_batch = 128\n{folder}\n")
                said = ["data.augment.crop=0", "data.augment.flip=false"] if folder else []
                self.assertEqual(settings_of(path.parent, "resnet20"), said)
                rounded = settings_of(path.parent, "resnet20", "bf16")
                self.assertEqual(rounded, [*said, 'train.precision="bf16"'])
                self.assertEqual(load_recipe(path, rounded)["train"]["precision"], "bf16")
                augment = read_recipe(path.parent, "resnet20")[1]["data"].get("augment")
                self.assertEqual(augment, {"crop": 0, "flip": False} if folder else None)

    def test_a_recipe_that_is_not_there(self):
        with self.assertRaisesRegex(ProblemError, "cannot read recipe"):
            read_recipe(ROOT / "nowhere", "W1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
