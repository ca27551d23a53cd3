#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of a recipe in JAX; started by compare_peers.py.

Usage: jax_step.py RECIPE VARIANT STEPS THREADS [KEY=VALUE]..., requests on standard input (peer_process.py).
All STEPS are one jitted lax.scan over shuffled batches, gathered inside from data in memory.
VARIANT is words joined by '+':
  scan, loop      one scan (as above), or one jitted step called STEPS times
  bytes           images in memory as uint8, made floats batch by batch (default: floats)
  nhwc            channels last in convolutions (default: NCHW)
  wide            XLA may use 512-bit vectors (compare_peers.py sets XLA_FLAGS)
"""

import functools
import sys
import time
from pathlib import Path

import peer_process
from workloads import batch_size, load_recipe, output_count, sample_count


def set_up(arguments):
    path, variant, steps, _, *settings = arguments
    import jax
    from jax_network import Network, Optimizer
    jnp, words, steps = jax.numpy, set(variant.split("+")), int(steps)
    recipe = load_recipe(Path(path), settings)
    batch, samples = batch_size(recipe), sample_count(recipe)
    network, optimizer = Network(recipe, "nhwc" in words), Optimizer(recipe)
    images = jax.random.uniform(jax.random.key(1), (samples, *network.input))
    if "bytes" in words:
        images = (images * 255).astype(jnp.uint8)
    outputs, key = output_count(recipe), jax.random.key(2)
    labels = jax.random.uniform(key, (samples, outputs)) \
        if recipe["data"].get("target") == "values" else jax.random.randint(key, (samples,), 0, outputs)

    def step(images, labels, state, chosen):
        weights, memory, running = state
        x = images[chosen]
        if x.dtype == jnp.uint8:
            x = x.astype(jnp.float32) * (1 / 255)
        (loss, statistics), gradients = jax.value_and_grad(network.loss, has_aux=True)(
            weights, x, labels[chosen])
        weights, memory = optimizer.update(weights, memory, gradients)
        return (weights, memory, network.running(running, statistics)), loss

    def shuffle(key):
        order = jax.random.permutation(key, samples)
        return jnp.resize(order[:len(order) // batch * batch], (steps, batch))

    @functools.partial(jax.jit, donate_argnums=2)
    def scan(images, labels, state, key):
        state, losses = jax.lax.scan(functools.partial(step, images, labels), state, shuffle(key))
        return state, losses.mean()

    one_step = jax.jit(step, donate_argnums=2)

    def loop(images, labels, state, key):
        for chosen in shuffle(key):
            state, loss = one_step(images, labels, state, chosen)
        return state, loss

    train = loop if "loop" in words else scan
    weights = network.initial(jax.random.key(recipe["seed"]))
    state = (weights, optimizer.initial(weights), network.initial_statistics())
    rounds = 0

    def measure(_):
        nonlocal state, rounds
        rounds += 1
        start = time.perf_counter()
        state, loss = train(images, labels, state, jax.random.key(rounds))
        loss.block_until_ready()
        return {"seconds": time.perf_counter() - start, "samples": steps * batch}

    return {"version": f"JAX {jax.__version__}", "set_up_s": measure(())["seconds"]}, measure


if __name__ == "__main__":
    sys.exit(peer_process.serve(set_up))
