# SPDX-License-Identifier: Apache-2.0
"""The plain list of matrix products of the MLP's and the auto-encoder's step, product by product."""

import statistics

from contender import run_quern
from peers import PEERS, start
from workloads import ProblemError, read_recipe, step_gemms

WORKLOADS = ("W1", "W7")


def products(arguments):
    """[(recipe path, recipe name, Gemm)], every shape once"""
    found = {}
    for workload in WORKLOADS:
        path, recipe = read_recipe(arguments.recipes, workload)
        for gemm in step_gemms(recipe):
            found.setdefault(gemm.shape, (path, recipe["name"], gemm))
    return list(found.values())


class QuernGemms:
    """The kernels of `quern bench kernels`: timed where they stand, inside training steps."""

    def __init__(self, arguments, wanted):
        paths = dict.fromkeys(path for path, _, _ in wanted)
        self.command = [arguments.quern, "bench", "kernels", *map(str, paths), "--rounds", "1"]
        for setting in arguments.set:
            self.command += ["--set", setting]
        self.wanted = wanted

    def ask_all(self):
        """Seconds by shape; a product that no kernel of its own computes is left out."""
        document = run_quern(self.command)
        try:
            kernels = {workload["workload"]: workload["kernels"]
                       for workload in document["workloads"]}
            seconds = {}
            for _, name, gemm in self.wanted:
                for kernel in kernels[name]:
                    if kernel["layer"] == gemm.layer and gemm.what in kernel["kernel"]:
                        seconds[gemm.shape] = kernel["time_us"] * 1e-6
            return seconds
        except (KeyError, TypeError) as error:
            raise ProblemError(f"no usable figures from '{' '.join(self.command)}': "
                               f"{error!r}") from error

    def close(self):
        """Nothing stays behind between the rounds."""


class PeerGemms:
    def __init__(self, peer, arguments, wanted):
        self.process = start(peer, arguments.python, [peer, arguments.threads], "wide",
                             script="gemm_peer.py")
        self.shapes = [gemm.shape for _, _, gemm in wanted]

    def ask_all(self):
        return {shape: self.process.ask(shape)["seconds"] for shape in self.shapes}

    def close(self):
        self.process.close()


def compare_gemms(arguments):
    """Gflop/s of each product and contender, medians over the rounds."""
    wanted = products(arguments)
    contenders = {"quern": QuernGemms(arguments, wanted)}
    try:
        for peer in arguments.peers:
            contenders[peer] = PeerGemms(peer, arguments, wanted)
            contenders[peer].ask_all()  # compiles
        rounds = {name: [] for name in contenders}
        for turn in range(arguments.rounds):
            names = list(contenders)
            for name in names[turn % len(names):] + names[:turn % len(names)]:
                rounds[name].append(contenders[name].ask_all())
    finally:
        for contender in contenders.values():
            contender.close()
    rows = []
    for _, recipe, gemm in wanted:
        row = {"recipe": recipe, **gemm._asdict(), "gflops": {}}
        for name, answers in rounds.items():
            values = [gemm.flop / answer[gemm.shape] * 1e-9 for answer in answers
                      if gemm.shape in answer]
            if values:
                row["gflops"][name] = {"median": statistics.median(values), "min": min(values),
                                       "max": max(values)}
        rows.append(row)
    return {"workload": "gemm", "contenders": list(contenders), "products": rows}


def print_gemms(result):
    names = result["contenders"]
    titles = {"quern": "Quern", **{name: peer.title for name, peer in PEERS.items()}}
    print("\nmatrix products of W1 and W7, Gflop/s\n"
          f"{'':36}" + "".join(f"{titles[name]:>15}" for name in names))
    for row in result["products"]:
        shape = f"{row['form']} {row['m']}x{row['n']}x{row['k']}"
        cells = [f"{row['gflops'][name]['median']:15.1f}" if name in row["gflops"] else f"{'-':>15}"
                 for name in names]
        print(f"{shape:16}{row['layer'] + ' ' + row['what']:20}" + "".join(cells), flush=True)
