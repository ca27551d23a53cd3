# SPDX-License-Identifier: Apache-2.0
"""A recipe's network, loss and optimizer in JAX: what the benchmarks' workloads use, no more."""

import math

import jax
import jax.numpy as jnp


class Network:
    """Weights are a list of (weight, bias) of the layers that have some, in order."""

    def __init__(self, recipe, channels_last):
        self.layers = recipe["network"]["layers"]
        self.loss_type = recipe["loss"]["type"]
        self.to_input = recipe["data"].get("target") == "input"
        channels, height, width = recipe["network"]["input"]
        self.formats = ("NHWC", "HWIO", "NHWC") if channels_last else ("NCHW", "OIHW", "NCHW")
        self.input = (height, width, channels) if channels_last else (channels, height, width)

    def initial(self, key):
        """Scaled as PyTorch does by default; the speed does not depend on it."""
        x, weights = jax.ShapeDtypeStruct((1, *self.input), jnp.float32), []
        for layer in self.layers:
            if layer["type"] == "linear":
                fan_in = math.prod(x.shape[1:])
                shape, outputs = (fan_in, layer["features"]), layer["features"]
            elif layer["type"] == "conv2d":
                of = dict(O=layer["channels"], I=x.shape[self.formats[0].index("C")],
                          H=layer["kernel"], W=layer["kernel"])
                shape, outputs = tuple(of[axis] for axis in self.formats[1]), of["O"]
                fan_in = of["I"] * of["H"] * of["W"]
            if layer["type"] in ("linear", "conv2d"):
                key, key_w, key_b = jax.random.split(key, 3)
                bound = fan_in ** -0.5
                weights.append((jax.random.uniform(key_w, shape, minval=-bound, maxval=bound),
                                jax.random.uniform(key_b, (outputs,), minval=-bound, maxval=bound)))
                x = jax.eval_shape(lambda x, w: self.apply_layer(layer, x, w), x, weights[-1])
            else:
                x = jax.eval_shape(lambda x: self.apply_layer(layer, x, None), x)
        return weights

    def apply_layer(self, layer, x, weight_bias):
        kind = layer["type"]
        if kind == "linear":
            return x.reshape(len(x), -1) @ weight_bias[0] + weight_bias[1]
        if kind == "conv2d":
            weight, bias = weight_bias
            edge = layer.get("padding", 0)
            y = jax.lax.conv_general_dilated(x, weight, (layer.get("stride", 1),) * 2,
                                             ((edge, edge),) * 2, dimension_numbers=self.formats)
            return y + (bias if self.formats[0] == "NHWC" else bias[:, None, None])
        if kind == "avg_pool2d":
            size = layer["size"]
            stride = layer.get("stride", size)
            window, strides = ((1, size, size, 1), (1, stride, stride, 1)) \
                if self.formats[0] == "NHWC" else ((1, 1, size, size), (1, 1, stride, stride))
            return jax.lax.reduce_window(x, 0.0, jax.lax.add, window, strides, "VALID") / size**2
        return {"relu": jax.nn.relu, "flatten": lambda x: x.reshape(len(x), -1)}[kind](x)

    def apply(self, weights, x):
        rest = iter(weights)
        for layer in self.layers:
            has_weights = layer["type"] in ("linear", "conv2d")
            x = self.apply_layer(layer, x, next(rest) if has_weights else None)
        return x

    def loss(self, weights, x, labels):
        output = self.apply(weights, x)
        if self.loss_type == "mse":
            return jnp.mean((output - x.reshape(len(x), -1)) ** 2)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(output), labels[:, None], axis=1))


class Optimizer:
    """Plain SGD or Adam."""

    def __init__(self, recipe):
        self.settings = recipe["optimizer"]

    def initial(self, weights):
        """(step, running means, running squares)"""
        if self.settings["type"] == "sgd":
            return ()
        return (jnp.float32(0), jax.tree.map(jnp.zeros_like, weights),
                jax.tree.map(jnp.zeros_like, weights))

    def update(self, weights, memory, gradients):
        lr = self.settings["lr"]
        if self.settings["type"] == "sgd":
            return jax.tree.map(lambda w, g: w - lr * g, weights, gradients), memory
        beta1, beta2 = self.settings.get("betas", (0.9, 0.999))
        eps, count = self.settings.get("eps", 1e-8), memory[0] + 1
        mean = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, memory[1], gradients)
        square = jax.tree.map(lambda s, g: beta2 * s + (1 - beta2) * g * g, memory[2], gradients)
        scale1, scale2 = 1 / (1 - beta1 ** count), 1 / (1 - beta2 ** count)
        weights = jax.tree.map(
            lambda w, m, s: w - lr * (m * scale1) / (jnp.sqrt(s * scale2) + eps),
            weights, mean, square)
        return weights, (count, mean, square)
