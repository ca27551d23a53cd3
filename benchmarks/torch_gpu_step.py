#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of a recipe in PyTorch on one GPU; started by gpu_peers.py.

Usage: torch_gpu_step.py RECIPE VARIANT PRECISION STEPS, requests on standard input (peer_process.py).
VARIANT: eager, compile (torch.compile of loss and update, mode reduce-overhead) or graph (the whole
step captured once as a CUDA graph). PRECISION, of products and convolutions alike: fp32 or tf32.
Images are on the GPU as bytes; each step gathers a shuffled batch, as Quern's do. Optimizers are
PyTorch's fused ones.
"""

import sys
import time
import tomllib
from pathlib import Path

import peer_process
from workloads import TRAIN_SAMPLES, batch_size

WARM_UP_STEPS = 11  # PyTorch's advice before a capture


class GpuStep:
    def __init__(self, torch, recipe, variant):
        import torch_model
        self.torch, self.batch = torch, batch_size(recipe)
        self.network = torch_model.build_network(recipe).cuda()
        self.loss_of = torch_model.build_loss(recipe)
        shape = (TRAIN_SAMPLES, *recipe["network"]["input"])
        self.images = torch.randint(256, shape, dtype=torch.uint8, device="cuda")
        self.labels = torch.randint(10, (TRAIN_SAMPLES,), device="cuda")
        self.to_input = recipe["data"].get("target") == "input"
        how = {"fused": True}
        if recipe["optimizer"]["type"] != "sgd":
            how["capturable"] = True  # the step number stays on the GPU
        self.optimizer = torch_model.build_optimizer(recipe, self.network.parameters(), **how)
        self.chosen = torch.zeros(self.batch, dtype=torch.int64, device="cuda")
        self.total = torch.zeros((), device="cuda")
        self.taken = 0
        self.step = {"eager": self.eager, "compile": self.compiled, "graph": self.captured}[variant]()

    def loss(self, chosen):
        x = self.images.index_select(0, chosen).float() * (1 / 255)
        y = x.flatten(1) if self.to_input else self.labels.index_select(0, chosen)
        return self.loss_of(self.network(x), y)

    def eager(self, loss_of=None, update=None):
        loss_of, update = loss_of or self.loss, update or self.optimizer.step

        def step(chosen):
            loss = loss_of(chosen)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            update()
            self.total += loss.detach()

        return step

    def compiled(self):
        wrap = self.torch.compile
        return self.eager(wrap(self.loss, mode="reduce-overhead", fullgraph=True),
                          wrap(self.optimizer.step, mode="reduce-overhead"))

    def captured(self):
        torch, step = self.torch, self.eager()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_STEPS):
                step(self.chosen)
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step(self.chosen)

        def replay(chosen):
            self.chosen.copy_(chosen)
            graph.replay()

        return replay

    def run(self, steps):
        """Seconds of `steps` steps, from an idle GPU to an idle GPU."""
        per_epoch = TRAIN_SAMPLES // self.batch
        self.torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            at = self.taken % per_epoch
            if at == 0:
                order = self.torch.randperm(TRAIN_SAMPLES, device="cuda")
                self.batches = order[:per_epoch * self.batch].split(self.batch)
            self.step(self.batches[at])
            self.taken += 1
        self.torch.cuda.synchronize()
        return time.perf_counter() - start


def set_up(arguments):
    path, variant, precision, steps = arguments
    import torch
    if not torch.cuda.is_available():
        raise SystemExit("torch.cuda.is_available() is false: this PyTorch finds no GPU")
    tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    trainer = GpuStep(torch, tomllib.loads(Path(path).read_text()), variant)
    start = time.perf_counter()
    trainer.run(2 * WARM_UP_STEPS)
    facts = {"version": f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}",
             "device": torch.cuda.get_device_name(), "set_up_s": time.perf_counter() - start}

    def measure(request):
        count = int(request[0]) if request else int(steps)
        return {"seconds": trainer.run(count), "samples": count * trainer.batch}

    return facts, measure


if __name__ == "__main__":
    sys.exit(peer_process.serve(set_up))
