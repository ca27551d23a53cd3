# SPDX-License-Identifier: Apache-2.0
"""A recipe's network, loss and optimizer in JAX: what the benchmarks' workloads use, no more."""

import functools
import math

import jax
import jax.numpy as jnp

from recipe_graph import has_parameters, layers_of


class Network:
    """Weights and running statistics are kept by layer: {name: (weight, bias or None)} and
    {name: (mean, variance)}."""

    def __init__(self, recipe, channels_last):
        self.layers = layers_of(recipe)
        self.loss_type = recipe["loss"]["type"]
        self.to_input = recipe["data"].get("target") == "input"
        channels, height, width = recipe["network"]["input"]
        self.formats = ("NHWC", "HWIO", "NHWC") if channels_last else ("NCHW", "OIHW", "NCHW")
        self.input = (height, width, channels) if channels_last else (channels, height, width)
        self.image_axes = (1, 2) if channels_last else (2, 3)

    def weight_shape(self, layer):
        """(shape, inputs of one output)"""
        if layer.kind == "linear":
            inputs = math.prod(layer.input_shape)
            return (inputs, layer.shape[0]), inputs
        size = layer.spec["kernel"]
        of = dict(O=layer.shape[0], I=layer.input_shape[0], H=size, W=size)
        return tuple(of[axis] for axis in self.formats[1]), of["I"] * size * size

    def initial(self, key):
        """Weights, scaled as PyTorch does by default; the speed does not depend on it."""
        weights = {}
        for layer in filter(has_parameters, self.layers):
            if layer.kind == "batch_norm":
                channels = layer.shape[0]
                weights[layer.name] = (jnp.ones(channels), jnp.zeros(channels))
                continue
            key, key_w, key_b = jax.random.split(key, 3)
            shape, fan_in = self.weight_shape(layer)
            draw = functools.partial(jax.random.uniform, minval=-fan_in ** -0.5,
                                     maxval=fan_in ** -0.5)
            has_bias = layer.spec.get("bias", True)
            weights[layer.name] = (draw(key_w, shape),
                                   draw(key_b, layer.shape[:1]) if has_bias else None)
        return weights

    def initial_statistics(self):
        return {layer.name: (jnp.zeros(layer.shape[0]), jnp.ones(layer.shape[0]))
                for layer in self.layers if layer.kind == "batch_norm"}

    def per_channel(self, values, x):
        return values[:, None, None] if x.ndim == 4 and self.formats[0] == "NCHW" else values

    def pool(self, layer, x):
        size, stride, edge = layer.window

        def image(value):
            return (1, value, value, 1) if self.formats[0] == "NHWC" else (1, 1, value, value)

        padding = [(edge if value == size else 0,) * 2 for value in image(size)] if size > 1 else "VALID"
        if layer.kind == "max_pool2d":
            return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, image(size), image(stride), padding)
        sums = jax.lax.reduce_window(x, 0.0, jax.lax.add, image(size), image(stride), padding)
        return sums / size**2

    def batch_norm(self, layer, x, scale_shift):
        """(y, mean, unbiased variance)"""
        axes = (0, *self.image_axes) if x.ndim == 4 else (0,)
        mean, variance = jnp.mean(x, axes), jnp.var(x, axes)
        factor = scale_shift[0] * jax.lax.rsqrt(variance + layer.spec.get("eps", 1e-5))
        y = (x - self.per_channel(mean, x)) * self.per_channel(factor, x)
        count = x.size // x.shape[1 if self.formats[0] == "NCHW" else -1]
        return y + self.per_channel(scale_shift[1], x), mean, variance * count / (count - 1)

    def apply_layer(self, layer, x, weight_bias):
        kind = layer.kind
        if kind == "linear":
            return x.reshape(len(x), -1) @ weight_bias[0] + weight_bias[1]
        if kind == "conv2d":
            weight, bias = weight_bias
            _, stride, edge = layer.window
            y = jax.lax.conv_general_dilated(x, weight, (stride,) * 2, ((edge, edge),) * 2,
                                             dimension_numbers=self.formats)
            return y if bias is None else y + self.per_channel(bias, y)
        if kind in ("avg_pool2d", "max_pool2d"):
            return self.pool(layer, x)
        return {"relu": jax.nn.relu, "flatten": lambda x: x.reshape(len(x), -1),
                "global_avg_pool": lambda x: jnp.mean(x, self.image_axes)}[kind](x)

    def apply(self, weights, x):
        """(output, {name: (mean, variance)} of the batch)"""
        values, statistics = {"input": x}, {}
        for layer in self.layers:
            inputs = [values[name] for name in layer.inputs]
            if layer.kind == "add":
                y = sum(inputs[1:], inputs[0])
            elif layer.kind == "batch_norm":
                y, *statistics[layer.name] = self.batch_norm(layer, inputs[0], weights[layer.name])
            else:
                y = self.apply_layer(layer, inputs[0], weights.get(layer.name))
            values[layer.name] = y
        return values[self.layers[-1].name], statistics

    def loss(self, weights, x, labels):
        """(loss, statistics of the batch)"""
        output, statistics = self.apply(weights, x)
        if self.loss_type == "mse":
            target = x.reshape(len(x), -1) if self.to_input else labels
            return jnp.mean((output - target) ** 2), statistics
        if self.loss_type != "cross_entropy":
            raise ValueError(f"no loss.type {self.loss_type}")
        chosen = jnp.take_along_axis(jax.nn.log_softmax(output), labels[:, None], axis=1)
        return -jnp.mean(chosen), statistics

    def running(self, before, statistics):
        """The running statistics after a batch with these."""
        after = {}
        for layer in self.layers:
            if layer.kind == "batch_norm":
                part = layer.spec.get("momentum", 0.1)
                after[layer.name] = tuple((1 - part) * old + part * new for old, new in
                                          zip(before[layer.name], statistics[layer.name]))
        return after


class Optimizer:
    """SGD, plain or with momentum, or Adam; at a fixed learning rate."""

    def __init__(self, recipe):
        self.settings = recipe["optimizer"]

    def initial(self, weights):
        """(step, running means, running squares)"""
        if self.settings["type"] == "sgd":
            return jax.tree.map(jnp.zeros_like, weights) if self.settings.get("momentum") else ()
        return (jnp.float32(0), jax.tree.map(jnp.zeros_like, weights),
                jax.tree.map(jnp.zeros_like, weights))

    def decayed(self, weights, gradients):
        decay, all_of_them = self.settings.get("weight_decay"), self.settings.get("decay") != "weights"
        if not decay:
            return gradients
        return jax.tree.map(lambda w, g: g + decay * w if all_of_them or w.ndim > 1 else g,
                            weights, gradients)

    def update_sgd(self, weights, memory, gradients):
        lr, momentum = self.settings["lr"], self.settings.get("momentum")
        steps = self.decayed(weights, gradients)
        if momentum:
            memory = steps = jax.tree.map(lambda m, g: momentum * m + g, memory, steps)
        return jax.tree.map(lambda w, s: w - lr * s, weights, steps), memory

    def update(self, weights, memory, gradients):
        if self.settings["type"] == "sgd":
            return self.update_sgd(weights, memory, gradients)
        lr = self.settings["lr"]
        beta1, beta2 = self.settings.get("betas", (0.9, 0.999))
        eps, count = self.settings.get("eps", 1e-8), memory[0] + 1
        mean = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, memory[1], gradients)
        square = jax.tree.map(lambda s, g: beta2 * s + (1 - beta2) * g * g, memory[2], gradients)
        scale1, scale2 = 1 / (1 - beta1 ** count), 1 / (1 - beta2 ** count)
        weights = jax.tree.map(
            lambda w, m, s: w - lr * (m * scale1) / (jnp.sqrt(s * scale2) + eps),
            weights, mean, square)
        return weights, (count, mean, square)
