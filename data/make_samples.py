#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of numbers for the recipes that predict numbers, as .npy files and as shards.

friedman: ten inputs, uniform in [0, 1); the target is 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3
          + 5 x4 and normal noise of variance 1 (J. H. Friedman, "Multivariate adaptive regression
          splines", Annals of Statistics 19, 1991). For recipes/regression-toy.toml.
darcy:    flow through a porous square, a common test of surrogates. Input: the logarithm of the
          permeability k on 16 x 16 cells, a smooth random field. Target: the pressure u of
          -div(k grad u) = 1 with u = 0 on the border, times 10, by finite volumes of second order.
          For recipes/darcy-surrogate.toml.
"""
import argparse
import subprocess
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    sys.exit("make_samples.py: this needs NumPy (Debian: python3-numpy)")

BUILT = Path(__file__).resolve().parents[1] / "build/release/bin/quern"


def friedman(count, random):
    x = random.random((count, 10))
    y = (10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
         + 5 * x[:, 4] + random.standard_normal(count))
    return x, y[:, None]


def smooth_fields(count, size, random):
    """Normal random fields whose waves of length 1 / f have an amplitude of about (f^2 + 9)^-1."""
    frequencies = np.fft.fftfreq(size, 1 / size)
    square = frequencies[:, None] ** 2 + frequencies[None, :] ** 2
    noise = np.fft.fft2(random.standard_normal((count, size, size)))
    fields = np.fft.ifft2(noise / (square + 9)).real
    return fields / fields.std()


def solve_darcy(permeability):
    """The pressure for each field [n, size, size]."""
    count, size, _ = permeability.shape
    cell = np.arange(size * size).reshape(size, size)
    matrix = np.zeros((count, size * size, size * size))
    for axis in (1, 2):
        k = np.moveaxis(permeability, axis, 1)
        at = np.moveaxis(cell, axis - 1, 0)
        # Between neighbours the harmonic mean; the border is half a cell away.
        inside = 2 * k[:, 1:] * k[:, :-1] / (k[:, 1:] + k[:, :-1])
        low, high = at[:-1].ravel(), at[1:].ravel()
        flow = inside.reshape(count, -1)
        np.add.at(matrix, (slice(None), low, low), flow)
        np.add.at(matrix, (slice(None), high, high), flow)
        matrix[:, low, high] -= flow
        matrix[:, high, low] -= flow
        for border in (0, -1):
            matrix[:, at[border], at[border]] += 2 * k[:, border]
    source = np.full((count, size * size, 1), 1.0 / size**2)
    return np.linalg.solve(matrix, source).reshape(count, size, size)


def darcy(count, random, size=16):
    logarithm = smooth_fields(count, size, random)
    pieces = np.array_split(np.exp(logarithm), max(1, count // 100))
    pressure = np.concatenate([solve_darcy(piece) for piece in pieces])
    return logarithm, 10 * pressure.reshape(count, -1)


KINDS = {"friedman": friedman, "darcy": darcy}
COUNTS = {"friedman": {"train": 8000, "test": 2000}, "darcy": {"train": 4000, "test": 1000}}


def make(kind, out, split, count, quern):
    """Writes OUT/SPLIT-inputs.npy and -targets.npy, and shards of them to OUT/SPLIT."""
    out.mkdir(parents=True, exist_ok=True)
    inputs, targets = KINDS[kind](count, np.random.default_rng([2026, len(split)]))
    files = [out / f"{split}-{part}.npy" for part in ("inputs", "targets")]
    for file, array in zip(files, (inputs, targets)):
        np.save(file, array.astype(np.float32))
    subprocess.run([quern, "shard", "--images", files[0], "--targets", files[1],
                    "--out", out / split, "--split", split, "--force"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--out", type=Path, required=True, help="folder; gets train/ and test/")
    parser.add_argument("--quern", default=BUILT if BUILT.is_file() else "quern",
                        help="the program (default: build/release/bin/quern, else that of the PATH)")
    options = parser.parse_args()
    for split, count in COUNTS[options.kind].items():
        try:
            make(options.kind, options.out, split, count, options.quern)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"make_samples.py: {error}")


if __name__ == "__main__":
    main()
