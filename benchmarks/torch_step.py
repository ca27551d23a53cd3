#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of a recipe in PyTorch, eager or compiled; started by compare_peers.py.

Usage: torch_step.py RECIPE VARIANT STEPS THREADS [KEY=VALUE]..., requests on standard input (peer_process.py).
VARIANT is words joined by '+':
  fused, foreach       implementation of the optimizer
  channels_last        memory format of images and convolutions (default: contiguous)
  bytes                images in memory as uint8, made floats batch by batch (default: floats)
  parts, step, whole   torch.compile of: loss and optimizer apart; the step function as it stands;
                       one graph of forward, backward and update (torch.func)
  autotune             mode max-autotune-no-cudagraphs
train.precision = "bf16": network and loss run under torch.autocast, backward and update outside of it, as
PyTorch's documentation asks for; parameters and the optimizer's averages stay floats.
"""

import sys
import time
from pathlib import Path

import peer_process
from workloads import batch_size, load_recipe, output_count, sample_count


def is_rounded(recipe):
    """To bfloat16?"""
    precision = recipe.get("train", {}).get("precision", "fp32")
    if precision not in ("fp32", "bf16"):
        raise SystemExit(f"no counterpart of train.precision = {precision!r}")
    return precision == "bf16"


class TorchStep:
    """Images in memory; each step gathers a shuffled batch, as training does."""

    def __init__(self, torch, recipe, words):
        import torch_model
        self.torch, self.batch, self.count = torch, batch_size(recipe), sample_count(recipe)
        self.network = torch_model.build_network(recipe)
        self.loss_of = torch_model.build_loss(recipe)
        self.images = torch.rand(self.count, *recipe["network"]["input"])
        if "channels_last" in words:
            self.images = self.images.contiguous(memory_format=torch.channels_last)
            self.network = self.network.to(memory_format=torch.channels_last)
        if "bytes" in words:
            self.images = (self.images * 255).byte()
        self.to_input = recipe["data"].get("target") == "input"
        outputs = output_count(recipe)
        self.targets = torch.rand(self.count, outputs) if recipe["data"].get("target") == "values" \
            else torch.randint(outputs, (self.count,))
        self.rounded = is_rounded(recipe)
        self.total = torch.zeros(())
        self.step = self.compose_step(recipe, torch_model, words)
        self.taken = 0

    def compose_step(self, recipe, torch_model, words):
        """The function of a batch's sample numbers that trains on them."""
        torch = self.torch
        mode = "max-autotune-no-cudagraphs" if "autotune" in words else "default"
        if "whole" in words:
            from torch_whole import WholeStep
            return WholeStep(torch, recipe, self.network, self.loss).compiled(mode)
        how = "foreach" if "foreach" in words else "fused"
        optimizer = torch_model.build_optimizer(recipe, self.network.parameters(), **{how: True})
        loss_of, update = self.loss, optimizer.step
        if "parts" in words:
            loss_of, update = torch.compile(loss_of, mode=mode), torch.compile(update, mode=mode)

        def step(chosen):
            loss = loss_of(chosen)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            update()
            return loss.detach()

        return torch.compile(step, mode=mode) if "step" in words else step

    def loss(self, chosen, network=None):
        x = self.images.index_select(0, chosen)
        if x.dtype == self.torch.uint8:
            x = x.float() * (1 / 255)
        y = x.flatten(1) if self.to_input else self.targets.index_select(0, chosen)
        with self.torch.autocast("cpu", dtype=self.torch.bfloat16, enabled=self.rounded):
            return self.loss_of((network or self.network)(x), y)

    def run(self, steps):
        """Seconds of `steps` steps."""
        per_epoch = self.count // self.batch
        start = time.perf_counter()
        for _ in range(steps):
            at = self.taken % per_epoch
            if at == 0:
                order = self.torch.randperm(self.count)
                self.batches = order[:per_epoch * self.batch].split(self.batch)
            self.total += self.step(self.batches[at])
            self.taken += 1
        return time.perf_counter() - start


def set_up(arguments):
    path, variant, steps, threads, *settings = arguments
    import torch
    torch.set_num_threads(int(threads))
    torch.set_flush_denormal(True)  # the moments of dead units would slow Adam down
    recipe = load_recipe(Path(path), settings)
    words = set(variant.split("+"))
    trainer = TorchStep(torch, recipe, words)
    start = time.perf_counter()
    trainer.run(3)
    facts = {"version": f"PyTorch {torch.__version__}", "set_up_s": time.perf_counter() - start}

    def measure(request):
        count = int(request[0]) if request else int(steps)
        return {"seconds": trainer.run(count), "samples": count * trainer.batch}

    return facts, measure


if __name__ == "__main__":
    sys.exit(peer_process.serve(set_up))
