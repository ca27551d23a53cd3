#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of numbers for the recipes that predict numbers, as .npy files and as shards.

friedman: ten inputs, uniform in [0, 1); the target is 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3
          + 5 x4 and normal noise of variance 1 (J. H. Friedman, "Multivariate adaptive regression
          splines", Annals of Statistics 19, 1991). For recipes/regression-toy.toml.
"""
import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np


def friedman(count, random):
    x = random.random((count, 10))
    y = (10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
         + 5 * x[:, 4] + random.standard_normal(count))
    return x, y[:, None]


KINDS = {"friedman": friedman}
COUNTS = {"train": 8000, "test": 2000}


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
    parser.add_argument("--quern", default="quern", help="the program (default: quern of PATH)")
    options = parser.parse_args()
    for split, count in COUNTS.items():
        try:
            make(options.kind, options.out, split, count, options.quern)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"make_samples.py: {error}")


if __name__ == "__main__":
    main()
