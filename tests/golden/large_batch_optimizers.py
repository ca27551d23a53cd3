# SPDX-License-Identifier: Apache-2.0
"""LARS and LAMB as Quern defines them, which PyTorch does not have. A group's "adapts" says whether its
tensors have a trust ratio."""

import torch


def ratio(numerator, denominator):
    return (numerator / denominator).item() if numerator > 0 and denominator > 0 else 1.0


class Lars(torch.optim.Optimizer):
    """You, Gitman, Ginsburg, arXiv:1708.03888, with the learning rate outside of the momentum."""

    def __init__(self, parameters, lr, momentum=0.0, nesterov=False, weight_decay=0.0, trust_coefficient=0.001):
        super().__init__(parameters, dict(lr=lr, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay,
                                          trust_coefficient=trust_coefficient, adapts=True))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                local = 1.0
                if group["adapts"]:
                    norm = p.norm()
                    local = ratio(group["trust_coefficient"] * norm, p.grad.norm() + group["weight_decay"] * norm)
                step = local * (p.grad + group["weight_decay"] * p)
                if group["momentum"]:
                    state = self.state[p]
                    speed = group["momentum"] * state["b"] + step if "b" in state else step
                    state["b"] = speed
                    step = step + group["momentum"] * speed if group["nesterov"] else speed
                p -= group["lr"] * step


class Lamb(torch.optim.Optimizer):
    """You et al., arXiv:1904.00962, algorithm 2, with the identity for phi."""

    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(parameters, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, adapts=True))
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                m = beta1 * state.get("m", 0.0) + (1 - beta1) * p.grad
                v = beta2 * state.get("v", 0.0) + (1 - beta2) * p.grad * p.grad
                state.update(m=m, v=v)
                unbiased = (v / (1 - beta2 ** self.steps)).sqrt()
                r = m / (1 - beta1 ** self.steps) / (unbiased + group["eps"]) + group["weight_decay"] * p
                p -= group["lr"] * (ratio(p.norm(), r.norm()) if group["adapts"] else 1.0) * r
