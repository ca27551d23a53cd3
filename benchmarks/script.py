# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks' scripts share: options, the environment of ranks, and the end."""

import os
import sys
from pathlib import Path

from workloads import ProblemError

ROOT = Path(__file__).resolve().parents[1]
ON_CORES = "mpirun --bind-to core -n {ranks}"


def add_launcher(parser, default=ON_CORES):
    parser.add_argument("--launcher", default=default, metavar="COMMAND",
                        help="starts {ranks} ranks" + (", each on a core" if default == ON_CORES else "")
                        + " (default: %(default)s)")


def add_quern(parser, program="build/release/bin/quern"):
    """`program`: by default, below the root."""
    parser.add_argument("--quern", default=str(ROOT / program), help="the program (default: %(default)s)")


def add_recipes(parser):
    parser.add_argument("--recipes", type=Path, default=ROOT / "recipes",
                        help="folder of the recipes (default: %(default)s)")


def add_json(parser):
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures to this file")


def one_thread_a_rank():
    """Unless the user has said otherwise."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_PROC_BIND", "false")


def exit_status(script, run):
    """That of run(), None for 0; 2, and one line, where the user has to put something right."""
    try:
        return run() or 0
    except (ProblemError, OSError) as error:
        print(f"{script}: {error}", file=sys.stderr)
        return 2
