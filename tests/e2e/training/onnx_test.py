# SPDX-License-Identifier: Apache-2.0
"""`checkpoint export --out model.onnx`: read field by field, and run by onnxruntime where Python has
it. And `--model`: the same network in PyTorch."""
import importlib.util
import json
import py_compile
import re
import sys
import unittest

import idx
import numpy as np
import training
from protobuf import Model
from training import RECIPE

try:
    import onnx
    import onnxruntime
except ImportError:
    onnx = onnxruntime = None
try:
    import torch
except ImportError:
    torch = None

# Everything that a recipe can say, in one network.
ALL_LAYERS = """[
  {type = "conv2d", channels = 5, kernel = 3, padding = 1, name = "stem"},
  {type = "batch_norm"},
  {type = "relu", name = "start"},
  {type = "basic_block", channels = 6, stride = 2, repeat = 2},
  {type = "bottleneck", channels = 2},
  {type = "layer_norm"},
  {type = "conv2d", channels = 7, kernel = 2, stride = 2, bias = false},
  {type = "group_norm", groups = 7, eps = 1e-3},
  {type = "gelu"},
  {type = "leaky_relu", negative_slope = 0.2},
  {type = "max_pool2d", size = 3, stride = 2, padding = 1, name = "most"},
  {type = "avg_pool2d", size = 2, stride = 1, padding = 1},
  {type = "tanh", name = "bend"},
  {type = "global_avg_pool", name = "mean"},
  {type = "conv2d", channels = 9, kernel = 1, name = "point"},
  {type = "batch_norm", name = "norm", eps = 1e-3},
  {type = "sigmoid", name = "left"},
  {type = "linear", features = 9, name = "right", input = "mean", bias = false},
  {type = "add", inputs = ["left", "right", "left"]},
  {type = "dropout", p = 0.3},
  {type = "layer_norm", name = "scaled", eps = 1e-2},
  {type = "silu"},
  {type = "concat", inputs = ["silu1", "right", "left"]},
  {type = "upsample", factor = 3},
  {type = "concat", name = "wide", inputs = ["upsample1", "upsample1"]},
  {type = "conv2d", channels = 4, kernel = 2, name = "mixed"},
  {type = "flatten"},
  {type = "group_norm", groups = 4, name = "flat-sets"},
  {type = "linear", features = 10, name = "head.fc"},
]"""
ODD_POOLS = """[
  {type = "max_pool2d", size = 5, stride = 3, padding = 2},
  {type = "avg_pool2d", size = 3, stride = 2, padding = 1},
  {type = "flatten"},
  {type = "linear", features = 10},
]"""
ONE_PIXEL = """[
  {type = "conv2d", channels = 10, kernel = 3},
  {type = "max_pool2d", size = 10},
  {type = "tanh"},
]"""
U_NET = """[
  {type = "conv2d", channels = 5, kernel = 3, padding = 1},
  {type = "relu"},
  {type = "max_pool2d", size = 2},
  {type = "conv2d", channels = 7, kernel = 3, padding = 1},
  {type = "relu"},
  {type = "upsample", factor = 2},
  {type = "concat", inputs = ["upsample1", "input", "relu1"]},
  {type = "conv2d", channels = 3, kernel = 3, padding = 1},
]"""
PLAN = {"all": ALL_LAYERS, "pools": ODD_POOLS, "pixel": ONE_PIXEL, "conv": None, "mlp": None}
SETS = {"mlp": ('data.normalize={type="given", mean=[0.25], std=[0.5]}',),
        "pools": ('data.normalize="dataset"',)}


class OnnxTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        for name, layers in PLAN.items():
            if layers:
                self.write_recipe(name, RECIPE, layers)

    def export(self, recipe):
        self.train(recipe, recipe, "train.epochs=1", *SETS.get(recipe, ()))
        file, model = self.folder / f"{recipe}.onnx", self.folder / f"{recipe}_model.py"
        weights = self.folder / f"{recipe}.safetensors"
        for options in (("--out", file), ("--out", weights, "--model", model)):
            done = self.quern("checkpoint", "export", recipe, *options)
            self.assertEqual(done.code, 0, done)
        return file

    def predicted(self, recipe):
        """The classes that Quern finds in the 151 test images, and these as a network reads them."""
        done = self.quern("predict", recipe, "--images", training.data_folder() / "test-images")
        self.assertEqual(done.code, 0, done)
        classes = [int(line.split(",")[1]) for line in done.out.split()[1:]]
        images, _ = idx.blobs(151, seed=8)
        return classes, np.float32(images).reshape(len(images), 1, 12, 12) / np.float32(255)

    def test_is_what_the_recipe_says_field_by_field(self):
        model = Model(self.export("conv").read_bytes())
        self.assertEqual((model.ir_version, model.producer, model.opsets), (8, "quern", {"": 17}))
        self.assertEqual(model.inputs, {"input": [None, 1, 12, 12]})
        self.assertEqual(model.outputs, {"output": [None, 10]})
        self.assertEqual(model.metadata["step"], "13")
        self.assertIn('type = "conv2d"', model.metadata["recipe"])
        self.assertEqual(model.metadata["input"], "images")
        self.assertEqual([(node.type, node.name) for node in model.nodes],
                         [("Conv", "conv1"), ("Relu", "relu1"), ("MaxPool", "max_pool2d1"),
                          ("Flatten", "flatten1"), ("Gemm", "fc1"), ("Identity", "output")])
        conv, pool, gemm = model.nodes[0], model.nodes[2], model.nodes[4]
        self.assertEqual(conv.inputs, ["input", "conv1.weight", "conv1.bias"])
        self.assertEqual(conv.attributes, {"kernel_shape": [3, 3], "pads": [0] * 4, "strides": [1, 1]})
        self.assertEqual(pool.attributes, {"kernel_shape": [2, 2], "pads": [0] * 4, "strides": [2, 2]})
        self.assertEqual(gemm.attributes, {"transB": 1})
        self.assertEqual({name: values.shape for name, values in model.weights.items()},
                         {"conv1.weight": (5, 1, 3, 3), "conv1.bias": (5,),
                          "fc1.weight": (10, 125), "fc1.bias": (10,)})
        exported = (self.folder / "conv.safetensors").read_bytes()
        header = json.loads(exported[8:8 + int.from_bytes(exported[:8], "little")])
        data = exported[8 + int.from_bytes(exported[:8], "little"):]
        for name, values in model.weights.items():
            begin, end = header[name]["data_offsets"]
            self.assertEqual(values.tobytes(), data[begin:end], name)

    def test_an_output_of_one_pixel_has_no_image_axes(self):
        model = Model(self.export("pixel").read_bytes())
        self.assertEqual(model.outputs, {"output": [None, 10]})
        self.assertEqual([node.type for node in model.nodes], ["Conv", "MaxPool", "Tanh", "Flatten", "Identity"])
        self.assertIn("x = torch.flatten(x, 1)\n        return x", (self.folder / "pixel_model.py").read_text())

    def test_every_layer_is_said_and_every_value_is_made_before_it_is_read(self):
        for recipe in ("all", "pools", "pixel"):
            model = Model(self.export(recipe).read_bytes())
            known = set(model.inputs) | set(model.weights) | {""}  # an input that is left out
            for node in model.nodes:
                self.assertLessEqual(set(node.inputs), known, node.name)
                self.assertFalse(set(node.outputs) & known, node.name)
                known |= set(node.outputs)
            self.assertIn("output", known)
            names = [node.name for node in model.nodes]
            self.assertEqual(len(set(names)), len(names))
            if recipe == "all":
                self.assertEqual(
                    {node.type for node in model.nodes},
                    {"Conv", "BatchNormalization", "Relu", "Add", "LayerNormalization", "InstanceNormalization", "Reshape", "Mul", "Erf",
                     "MaxPool", "AveragePool", "Tanh", "GlobalAveragePool", "Flatten", "Unsqueeze",
                     "Sigmoid", "LeakyRelu", "Gemm", "Concat", "Resize", "Identity"})
                nodes = {node.name: node for node in model.nodes}
                self.assertEqual(nodes["norm"].attributes, {"epsilon": np.float32(1e-3)})
                self.assertEqual(nodes["scaled"].attributes, {"axis": 1, "epsilon": np.float32(1e-2)})
                self.assertEqual(nodes["leaky_relu1"].attributes, {"alpha": np.float32(0.2)})
                self.assertEqual(nodes["concat1"].attributes, {"axis": 1})
                self.assertEqual(nodes["concat1"].inputs, ["silu1.out", "right.out", "concat1.2.flat"])
                self.assertEqual(nodes["wide"].inputs, ["upsample1.out", "upsample1.out"])
                self.assertEqual(list(model.weights["upsample1.scales"]), [1, 1, 3, 3])
                # [n, 9, 1, 1] and [n, 9] would be taken for each other's rows.
                self.assertEqual([nodes[name].inputs for name in ("add1.0.flat", "add1.sum.1", "add1.2.flat", "add1")],
                                 [["left.out"], ["add1.0.flat", "right.out"], ["left.out"], ["add1.sum.1", "add1.2.flat"]])
            elif recipe == "pools":
                self.assertEqual(model.nodes[3].attributes, {
                    "count_include_pad": 1, "kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2]})

    def test_the_network_of_all_layers_has_them(self):
        self.write_recipe("odd", RECIPE, '[{type = "no_such_layer"}]')
        refused = self.quern("train", "odd.toml")
        known = re.search(r'"no_such_layer" is unknown, expected (.*)', refused.err)
        self.assertTrue(known, refused)
        words = set(re.findall(r'"(\w+)"', known[1]))
        self.assertIn("linear", words)
        self.assertEqual(words - {"custom"}, set(re.findall(r'type = "(\w+)"', ALL_LAYERS)))

    def test_normalisation_is_in_the_graph(self):
        model = Model(self.export("mlp").read_bytes())
        self.assertEqual([(node.type, node.inputs) for node in model.nodes[:2]],
                         [("Sub", ["input", "quern.mean"]), ("Div", ["input.mean", "quern.std"])])
        for name, value in (("quern.mean", 0.25), ("quern.std", 0.5)):
            self.assertEqual(model.weights[name].shape, (1, 1, 1))
            self.assertEqual(float(model.weights[name][0, 0, 0]), value)

    def learn_values(self):
        """-> the inputs of a network with normalized targets, and what Quern predicts."""
        values = np.random.default_rng(2).standard_normal((60, 4)).astype(np.float32)
        np.save(self.folder / "x.npy", values)
        np.save(self.folder / "y.npy", values[:, :2] * np.float32([1000, 0.01]) + np.float32([5000, 3]))
        done = self.quern("shard", "--images", "x.npy", "--targets", "y.npy", "--out", "set")
        self.assertEqual(done.code, 0, done)
        text = RECIPE.replace('train = "train"', 'train = "set"').replace("cross_entropy", "mse")
        text = text.replace('test = "test"', 'target = "values"\nnormalize_targets = "dataset"')
        self.write_recipe("values", text.replace("[1, 12, 12]", "[4]"),
                          '[{type = "linear", features = 5}, {type = "tanh"}, {type = "linear", features = 2}]')
        self.export("values")
        done = self.quern("predict", "values", "--images", "x.npy")
        return values, np.array([[float(value) for value in line.split(",")[1:]] for line in done.out.split()[1:]])

    def test_targets_get_their_units_back_in_the_graph(self):
        values, outputs = self.learn_values()
        model = Model((self.folder / "values.onnx").read_bytes())
        self.assertEqual([(node.type, node.inputs) for node in model.nodes[3:]],
                         [("Mul", ["fc2.out", "quern.target_std"]), ("Add", ["target.std", "quern.target_mean"]),
                          ("Identity", ["target.mean"])])
        np.testing.assert_allclose(model.weights["quern.target_std"], [1000, 0.01], rtol=0.3)
        np.testing.assert_allclose(model.weights["quern.target_mean"], [5000, 3], rtol=0.1)
        if onnxruntime:
            session = onnxruntime.InferenceSession(str(self.folder / "values.onnx"), providers=["CPUExecutionProvider"])
            np.testing.assert_allclose(session.run(None, {"input": values})[0], outputs, rtol=1e-5)
        if torch:
            module = self.module("values")
            with torch.no_grad():
                np.testing.assert_allclose(module.load()(torch.from_numpy(values)).numpy(), outputs, rtol=1e-5)

    def test_images_that_a_u_net_puts_out(self):
        draw = np.random.default_rng(3)
        images = draw.standard_normal((40, 2, 8, 12)).astype(np.float32)
        np.save(self.folder / "x.npy", images)
        np.save(self.folder / "y.npy", draw.standard_normal((40, 3 * 8 * 12)).astype(np.float32))
        done = self.quern("shard", "--images", "x.npy", "--targets", "y.npy", "--out", "set")
        self.assertEqual(done.code, 0, done)
        text = RECIPE.replace('train = "train"', 'train = "set"').replace("cross_entropy", "mse")
        self.write_recipe("unet", text.replace('test = "test"', 'target = "values"').replace("[1, 12, 12]", "[2, 8, 12]"),
                          U_NET)
        self.export("unet")
        model = Model((self.folder / "unet.onnx").read_bytes())
        self.assertEqual(model.outputs, {"output": [None, 3, 8, 12]})
        done = self.quern("predict", "unet", "--images", "x.npy", "--out", "z.npy")
        self.assertEqual(done.code, 0, done)
        outputs = np.load(self.folder / "z.npy").reshape(40, 3, 8, 12)
        self.assertGreater(outputs.std(), 0.01)
        if onnxruntime:
            onnx.checker.check_model(onnx.load(self.folder / "unet.onnx"), full_check=True)
            session = onnxruntime.InferenceSession(str(self.folder / "unet.onnx"), providers=["CPUExecutionProvider"])
            np.testing.assert_allclose(session.run(None, {"input": images})[0], outputs, rtol=1e-4, atol=1e-5)
        if torch:
            with torch.no_grad():
                predicted = self.module("unet").load()(torch.from_numpy(images)).numpy()
            np.testing.assert_allclose(predicted, outputs, rtol=1e-4, atol=1e-5)

    def module(self, recipe):
        spec = importlib.util.spec_from_file_location(f"{recipe}_model", self.folder / f"{recipe}_model.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    def test_the_module_is_python(self):
        for recipe in PLAN:
            self.export(recipe)
            py_compile.compile(str(self.folder / f"{recipe}_model.py"), doraise=True)

    def test_bad_use_writes_nothing(self):
        self.train("conv", "run", "train.epochs=1")
        (self.folder / "there.onnx").write_text("kept")
        before = training.tree(self.folder)
        for options, message in (((), "expected --out, --model or both"),
                                 (("--out", "absent/m.onnx"), "no folder 'absent'"),
                                 (("--out", "there.onnx"), "exists already"),
                                 (("--out", "new.pt"), "ends in .pt, which is no format of an export"),
                                 (("--out", "m.onnx", "--model", "conv.toml"), "exists already")):
            done = self.quern("checkpoint", "export", "run", *options)
            self.assertEqual(done.code, 2, done)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(message, done.err)
        self.assertEqual(training.tree(self.folder), before)

    @unittest.skipUnless(onnxruntime, "no Python packages onnx and onnxruntime")
    def test_onnxruntime_predicts_the_same(self):
        for recipe in PLAN:
            with self.subTest(recipe):
                file = self.export(recipe)
                onnx.checker.check_model(onnx.load(file), full_check=True)
                classes, images = self.predicted(recipe)
                session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
                (logits,) = session.run(None, {"input": images})
                self.assertEqual(list(logits.argmax(1)), classes)
                (one,) = session.run(None, {"input": images[:1]})
                np.testing.assert_allclose(one, logits[:1], rtol=1e-4, atol=1e-5)

    def test_pytorch_takes_bytes_as_training_did(self):
        self.export("conv")
        text = (self.folder / "conv_model.py").read_text()
        self.assertIn("if x.dtype == torch.uint8:\n            x = x / 255", text)
        values, _ = self.learn_values()
        text = (self.folder / "values_model.py").read_text()
        self.assertIn('if x.dtype == torch.uint8:\n            raise TypeError("uint8 inputs, expected floats', text)
        if not torch:
            return
        module = self.module("values").load()
        with self.assertRaisesRegex(TypeError, "uint8 inputs"):
            module(torch.from_numpy(values).to(torch.uint8))
        _, images = self.predicted("conv")
        pixels = torch.from_numpy((images * 255).round().astype(np.uint8))
        module = self.module("conv").load()
        with torch.no_grad():
            torch.testing.assert_close(module(pixels), module(torch.from_numpy(images)))

    @unittest.skipUnless(torch, "no PyTorch")
    def test_pytorch_predicts_the_same(self):
        for recipe in PLAN:
            with self.subTest(recipe):
                self.export(recipe)
                module = self.module(recipe)
                classes, images = self.predicted(recipe)
                with torch.no_grad():
                    logits = module.load()(torch.from_numpy(images))
                self.assertEqual(logits.argmax(1).tolist(), classes)


if __name__ == "__main__":
    training.main()
