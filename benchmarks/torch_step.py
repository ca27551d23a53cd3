# SPDX-License-Identifier: Apache-2.0
"""Training steps of a recipe in PyTorch eager, as quick as PyTorch does them without compiling."""

import itertools
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "golden"))

import torch  # noqa: E402

from torch_model import build_loss, build_network, build_optimizer  # noqa: E402

TRAIN_SAMPLES = 60000
PROBE_STEPS = 10


def batch_size(recipe):
    """Samples per step of one rank alone."""
    data = recipe["data"]
    return data.get("global_batch") or data["batch_per_rank"]


class TorchStep:
    """Float images in memory; each step gathers a shuffled batch, as training does."""

    def __init__(self, recipe, fast_optimizer, channels_last):
        torch.manual_seed(0)
        shape, self.batch = recipe["network"]["input"], batch_size(recipe)
        self.images = torch.rand(TRAIN_SAMPLES, *shape)
        self.network = build_network(recipe)
        if channels_last:
            self.images = self.images.contiguous(memory_format=torch.channels_last)
            self.network = self.network.to(memory_format=torch.channels_last)
        self.to_input = recipe["data"].get("target") == "input"
        self.labels = torch.randint(10, (TRAIN_SAMPLES,))
        self.loss_of = build_loss(recipe)
        self.optimizer = build_optimizer(recipe, self.network.parameters(),
                                         **{fast_optimizer: True})
        self.total = torch.zeros(())
        self.describe = f"{fast_optimizer}{', channels_last' if channels_last else ''}"

    def run(self, steps):
        """Samples per second over `steps` steps."""
        per_epoch = TRAIN_SAMPLES // self.batch
        start = time.perf_counter()
        for step in range(steps):
            if step % per_epoch == 0:
                order = torch.randperm(TRAIN_SAMPLES)
            at = (step % per_epoch) * self.batch
            chosen = order[at:at + self.batch]
            x = self.images[chosen]
            y = x.flatten(1) if self.to_input else self.labels[chosen]
            loss = self.loss_of(self.network(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.total += loss.detach()
        return steps * self.batch / (time.perf_counter() - start)


def fastest_torch_step(recipe, probe_steps=PROBE_STEPS):
    """The quickest of PyTorch's own variants on this machine."""
    has_conv = any(layer["type"] == "conv2d" for layer in recipe["network"]["layers"])
    layouts = (False, True) if has_conv else (False,)
    best, best_speed = None, 0.0
    for fast, last in itertools.product(("fused", "foreach"), layouts):
        candidate = TorchStep(recipe, fast, last)
        candidate.run(2)
        speed = candidate.run(probe_steps)
        if speed > best_speed:
            best, best_speed = candidate, speed
    return best
