# SPDX-License-Identifier: Apache-2.0
"""What runs under autocast, with a stand-in for torch that says whether it is on."""
import contextlib
import unittest

from fakes import ROOT  # noqa: F401, puts the benchmarks on the path

from torch_step import TorchStep, is_rounded


class FakeTorch:
    uint8, bfloat16 = "uint8", "bfloat16"

    def __init__(self):
        self.cast, self.log = None, []

    @contextlib.contextmanager
    def autocast(self, device, dtype, enabled):
        self.cast = (device, dtype) if enabled else None
        yield
        self.cast = None

    def note(self, what):
        self.log.append((what, self.cast))


class FakeTensor:
    dtype = "float32"

    def __init__(self, torch):
        self.torch = torch

    def index_select(self, axis, chosen):
        return self

    def backward(self):
        self.torch.note("backward")

    def detach(self):
        return self


class FakeOptimizer:
    def __init__(self, torch):
        self.torch = torch

    def zero_grad(self, set_to_none):
        pass

    def step(self):
        self.torch.note("update")


class FakeModel:
    """In place of the module torch_model."""

    def __init__(self, torch):
        self.torch = torch

    def build_optimizer(self, recipe, parameters, **how):
        return FakeOptimizer(self.torch)


class FakeNetwork:
    def __init__(self, torch):
        self.torch = torch

    def parameters(self):
        return []

    def __call__(self, x):
        self.torch.note("network")
        return x


def train_once(recipe):
    """[(what ran, (device, type) of the autocast it ran under)]"""
    torch = FakeTorch()
    trainer = TorchStep.__new__(TorchStep)  # the data set it makes takes the real torch
    trainer.torch, trainer.network = torch, FakeNetwork(torch)
    trainer.images = trainer.targets = FakeTensor(torch)
    trainer.to_input, trainer.rounded = False, is_rounded(recipe)

    def loss_of(x, y):
        torch.note("loss")
        return x

    trainer.loss_of = loss_of
    trainer.compose_step(recipe, FakeModel(torch), {"fused"})("chosen")
    return torch.log


class TorchStepTest(unittest.TestCase):
    def test_network_and_loss_run_under_autocast_but_not_the_rest(self):
        on = ("cpu", "bfloat16")
        self.assertEqual(train_once({"train": {"precision": "bf16"}}),
                         [("network", on), ("loss", on), ("backward", None), ("update", None)])

    def test_fp32_runs_as_it_is(self):
        for recipe in ({}, {"train": {}}, {"train": {"precision": "fp32"}}):
            self.assertEqual(train_once(recipe), [(what, None) for what in
                                                  ("network", "loss", "backward", "update")])

    def test_other_precisions_are_refused(self):
        with self.assertRaisesRegex(SystemExit, "no counterpart of train.precision = 'tf32'"):
            is_rounded({"train": {"precision": "tf32"}})


if __name__ == "__main__":
    unittest.main(verbosity=2)
