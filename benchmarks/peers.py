# SPDX-License-Identifier: Apache-2.0
"""The peers that Quern is compared with, and the ways of using each that are tried."""

from typing import NamedTuple

from contender import HERE, Process
from workloads import ProblemError, has_batch_norm, has_convolutions, recipe_path, settings_of

PRECISIONS = ("fp32", "bf16")  # of the products
# Else glibc gives every large tensor back to the system and faults it in again, step by step.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**32), "MALLOC_TRIM_THRESHOLD_": "-1"}


class Peer(NamedTuple):
    title: str
    package: str  # as pip calls it
    script: str
    variants: tuple  # the words that torch_step.py and jax_step.py explain
    convolutions: tuple  # variants for networks with convolutions
    residual: tuple  # and with batch normalisation
    precisions: tuple  # of PRECISIONS


PEERS = {
    "eager": Peer("PyTorch eager", "torch", "torch_step.py",
                  ("fused", "fused+bytes", "foreach"),
                  ("fused", "foreach", "fused+channels_last", "foreach+channels_last"),
                  ("fused", "fused+channels_last", "foreach+channels_last"), PRECISIONS),
    "compile": Peer("torch.compile", "torch", "torch_step.py",
                    ("whole", "whole+bytes", "whole+autotune", "fused+parts"),
                    ("whole", "whole+channels_last", "whole+channels_last+autotune",
                     "fused+parts+channels_last"),
                    # "whole" does not compile: running statistics change inside torch.func.
                    ("fused+parts", "fused+parts+channels_last"), PRECISIONS),
    "jax": Peer("JAX", "jax", "jax_step.py",
                ("scan", "scan+wide", "scan+bytes+wide"),
                ("scan+wide", "loop", "loop+wide", "loop+nhwc+wide"),
                ("loop+wide", "loop+nhwc+wide"), ("fp32",)),
}


def variants_of(peer, recipe):
    if has_batch_norm(recipe):
        return PEERS[peer].residual
    return PEERS[peer].convolutions if has_convolutions(recipe) else PEERS[peer].variants


def environment_of(peer, variant):
    environment = dict(KEEP_MEMORY)
    if peer == "jax":
        environment["JAX_PLATFORMS"] = "cpu"
        if "wide" in variant.split("+"):
            environment["XLA_FLAGS"] = "--xla_cpu_prefer_vector_width=512"
    return environment


def start(peer, python, arguments, variant, script=None):
    """The peer's process; says what to install when the peer's package is missing."""
    script = HERE / (script or PEERS[peer].script)
    try:
        return Process([python, "-B", script, *arguments], environment_of(peer, variant))
    except ProblemError as error:
        if "has no module" not in str(error):
            raise
        package = PEERS[peer].package
        raise ProblemError(f"{peer}: {error}; benchmarks/README.md says how to install {package} "
                           f"(--python chooses another Python, --peers leaves {peer} out)") from error


def start_step(peer, arguments, workload, precision, variant, steps):
    words = [recipe_path(arguments.recipes, workload), variant, steps, arguments.threads,
             *settings_of(arguments.recipes, workload, precision)]
    return start(peer, arguments.python, words, variant)


def try_variants(peer, arguments, workload, precision, variants, steps):
    """{variant: samples per second}, best of three short runs each."""
    speeds = {}
    for variant in variants:
        process = start_step(peer, arguments, workload, precision, variant, steps)
        runs = [process.ask() for _ in range(3)]
        process.close()
        speeds[variant] = max(run["samples"] / run["seconds"] for run in runs)
    return speeds
