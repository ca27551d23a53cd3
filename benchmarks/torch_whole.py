# SPDX-License-Identifier: Apache-2.0
"""A training step without autograd's tape: forward, backward and update as one compiled graph."""


class WholeStep:
    """Parameters and optimizer state as plain tensors, changed in place by the compiled step."""

    def __init__(self, torch, recipe, network, loss):
        self.torch, self.network, self.loss = torch, network, loss
        self.settings = recipe["optimizer"]
        self.weights = {name: tensor.detach() for name, tensor in network.named_parameters()}
        self.weights_alone = self.settings.get("decay") == "weights"
        self.mean = {name: torch.zeros_like(tensor) for name, tensor in self.weights.items()}
        self.square = {name: torch.zeros_like(tensor) for name, tensor in self.weights.items()}
        self.count = torch.zeros(())

    def loss_at(self, weights, chosen):
        return self.loss(chosen, lambda x: self.torch.func.functional_call(self.network, weights, x))

    def step(self, chosen):
        gradients, loss = self.torch.func.grad_and_value(self.loss_at)(self.weights, chosen)
        self.count += 1
        for name, gradient in gradients.items():
            self.weights[name].sub_(self.change(name, gradient))
        return loss

    def change(self, name, gradient):
        """What SGD and the plain form of Adam subtract; the workloads use no others."""
        lr = self.settings["lr"]
        if self.settings["type"] == "sgd":
            decay, weight = self.settings.get("weight_decay", 0), self.weights[name]
            if decay and (weight.dim() > 1 or not self.weights_alone):
                gradient = gradient + decay * weight
            if self.settings.get("momentum"):
                gradient = self.mean[name].mul_(self.settings["momentum"]).add_(gradient)
            return lr * gradient
        beta1, beta2 = self.settings.get("betas", (0.9, 0.999))
        mean = self.mean[name].mul_(beta1).add_(gradient, alpha=1 - beta1)
        square = self.square[name].mul_(beta2).add_(gradient * gradient, alpha=1 - beta2)
        mean = mean / (1 - beta1 ** self.count)
        square = square / (1 - beta2 ** self.count)
        return lr * mean / (square.sqrt() + self.settings.get("eps", 1e-8))

    def compiled(self, mode):
        with_no_tape = self.torch.no_grad()(self.step)
        return self.torch.compile(with_no_tape, mode=mode, fullgraph=True)
