# SPDX-License-Identifier: Apache-2.0
import sys
import types
import unittest

from fakes import ROOT, FakesCase

import torch_recipe
import torch_seeds

RECIPE = """name = "example"
seed = 0
[data]
train = "{folder}/train"
test = "{folder}/test"
global_batch = 8
[train]
epochs = 1
"""


class TorchSeedsTest(FakesCase):
    main = staticmethod(torch_seeds.main)

    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(RECIPE.format(folder=self.folder))

    def hide_module(self, name):
        before = sys.modules.get(name)
        sys.modules[name] = None
        self.addCleanup(lambda: sys.modules.pop(name) if before is None
                        else sys.modules.update({name: before}))

    def test_missing_modules_are_named(self):
        self.hide_module("h5py")
        status, _, errors = self.run_main(self.recipe)
        self.assertEqual(status, 2)
        self.assertIn("no module 'h5py'", errors)

    def test_missing_shards(self):
        sys.modules.setdefault("h5py", types.ModuleType("h5py"))
        sys.modules.setdefault("numpy", types.ModuleType("numpy"))
        status, _, errors = self.run_main(self.recipe)
        self.assertEqual(status, 2)
        self.assertIn(f"no shards (*.h5) in {self.folder}/train", errors)

    def test_recipes_that_cannot_be_used(self):
        for text, said in (("name =", "cannot use recipe"), ("[train]\n", "KeyError('data')"),
                           ("[data]\ntrain = 'x'\n", "names no test set")):
            self.recipe.write_text(text)
            status, _, errors = self.run_main(self.recipe)
            self.assertEqual(status, 2)
            self.assertIn(said, errors)
        self.recipe.unlink()
        self.assertIn("cannot use recipe", self.run_main(self.recipe)[2])

    def test_rows(self):
        self.assertEqual(torch_seeds.row(3, {"train_loss": 0.25, "test_accuracy": 92.5}).split(),
                         ["3", "0.25000", "92.50"])


class ScheduleTest(unittest.TestCase):
    def rates(self, schedule, steps, **more):
        settings = {"lr": 0.5, "schedule": schedule, **more}
        return [torch_recipe.learning_rate(settings, step, 2, 6) for step in steps]

    def test_rates_are_those_of_the_recipe(self):
        self.assertEqual(torch_recipe.learning_rate({"lr": 0.5}, 5, 2, 6), 0.5)
        self.assertEqual(self.rates("constant", [0, 5]), [0.5, 0.5])
        self.assertEqual(self.rates({"type": "step", "gamma": 0.5}, [0, 1, 2, 4]),
                         [0.5, 0.5, 0.25, 0.125])
        cosine = self.rates("cosine", [0, 3, 6])
        for found, expected in zip(cosine, (0.5, 0.25, 0)):
            self.assertAlmostEqual(found, expected)
        warm = self.rates({"type": "cosine", "warmup_steps": 2, "min_lr": 0.1}, [0, 1, 2, 4, 6])
        for found, expected in zip(warm, (0.25, 0.5, 0.5, 0.3, 0.1)):
            self.assertAlmostEqual(found, expected)


class FakeOptimizer:
    def __init__(self, parameters, **settings):
        self.settings = settings


class TorchModelTest(unittest.TestCase):
    """What the recipe's optimizer becomes in PyTorch; PyTorch itself is not needed for that."""

    def setUp(self):
        torch, nn = types.ModuleType("torch"), types.ModuleType("torch.nn")
        nn.Module = object
        torch.nn, torch.optim = nn, types.SimpleNamespace(SGD=FakeOptimizer, Adam=FakeOptimizer,
                                                          AdamW=FakeOptimizer)
        before = {name: sys.modules.get(name) for name in ("torch", "torch.nn", "torch_model")}
        sys.modules.update({"torch": torch, "torch.nn": nn})
        sys.modules.pop("torch_model", None)
        sys.path.insert(0, str(ROOT / "tests" / "golden"))
        self.addCleanup(self.restore, before)
        import torch_model
        self.torch_model = torch_model

    def restore(self, before):
        sys.path.remove(str(ROOT / "tests" / "golden"))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module

    def settings(self, **optimizer):
        return self.torch_model.build_optimizer({"optimizer": optimizer}, []).settings

    def test_betas_of_the_recipe(self):
        self.assertEqual(self.settings(type="adam", lr=0.1, betas=[0.8, 0.95])["betas"],
                         (0.8, 0.95))
        self.assertEqual(self.settings(type="adamw", lr=0.1)["betas"], (0.9, 0.999))

    def test_sgd_has_none(self):
        self.assertEqual(self.settings(type="sgd", lr=0.1, momentum=0.5),
                         {"lr": 0.1, "momentum": 0.5})


if __name__ == "__main__":
    unittest.main(verbosity=2)
