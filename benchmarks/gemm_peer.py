#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One matrix product again and again in PyTorch or JAX; started by compare_peers.py.

Usage: gemm_peer.py eager|compile|jax THREADS. A request is "FORM M N K" (workloads.Gemm), the
answer holds the seconds of one product.
"""

import sys
import time

import peer_process

ROUND_S = 0.02


def operand_shapes(form, m, n, k):
    """Of A and B as they are given."""
    return (k, m) if form == "tn" else (m, k), (n, k) if form == "nt" else (k, n)


def seconds_per_product(run):
    """`run(n)` computes n products; n grows until they take long enough to be timed."""
    run(1)
    count = 1
    while True:
        start = time.perf_counter()
        run(count)
        passed = time.perf_counter() - start
        if passed >= ROUND_S:
            return passed / count
        count = max(2 * count, int(count * 1.2 * ROUND_S / max(passed, 1e-9)))


def torch_products(compiled, threads):
    import torch
    torch.set_num_threads(threads)
    made = {}

    def product(form, m, n, k):
        shape_a, shape_b = operand_shapes(form, m, n, k)
        a, b, c = torch.rand(shape_a), torch.rand(shape_b), torch.empty(m, n)
        a, b = a.t() if form == "tn" else a, b.t() if form == "nt" else b
        multiply = torch.compile(torch.mm, mode="max-autotune-no-cudagraphs") \
            if compiled else lambda x, y: torch.mm(x, y, out=c)

        def run(count):
            for _ in range(count):
                multiply(a, b)
        return run

    def measure(request):
        shape = tuple(request)
        if shape not in made:
            made[shape] = product(request[0], *map(int, request[1:]))
        with torch.no_grad():
            return {"seconds": seconds_per_product(made[shape])}

    return {"version": f"PyTorch {torch.__version__}"}, measure


def jax_products():
    import jax
    made = {}

    def product(form, m, n, k):
        shape_a, shape_b = operand_shapes(form, m, n, k)
        key_a, key_b = jax.random.split(jax.random.key(0))

        @jax.jit
        def many(count, a, b):
            def once(_, state):
                a, b, _ = state
                c = (a.T if form == "tn" else a) @ (b.T if form == "nt" else b)
                # Else the compiler would see that every product is the same one.
                return jax.lax.optimization_barrier((a, b, c))
            return jax.lax.fori_loop(0, count, once, (a, b, jax.numpy.zeros((m, n))))[2]

        a, b = jax.random.uniform(key_a, shape_a), jax.random.uniform(key_b, shape_b)
        return lambda count: many(count, a, b).block_until_ready()

    def measure(request):
        shape = tuple(request)
        if shape not in made:
            made[shape] = product(request[0], *map(int, request[1:]))
        return {"seconds": seconds_per_product(made[shape])}

    return {"version": f"JAX {jax.__version__}"}, measure


def set_up(arguments):
    peer, threads = arguments
    return jax_products() if peer == "jax" else torch_products(peer == "compile", int(threads))


if __name__ == "__main__":
    sys.exit(peer_process.serve(set_up))
