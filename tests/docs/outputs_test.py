# SPDX-License-Identifier: Apache-2.0
"""docs/from-pytorch.md: the losses and accuracies in its outputs are those of this program.

outputs_test.py QUERN MPIEXEC
"""
import json
import re
import sys
import unittest
from pathlib import Path

import training
from finder import FENCED
from program import quern

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/slurm/support"))
import toy  # noqa: E402

PAGE = (ROOT / "docs/from-pytorch.md").read_text(encoding="utf-8")
MNIST = {"train": "ac0e547694d873139dfb4448affb302d700b55c7a6855fa2f969a1b79e099b1e",
         "test": "5dcca3d6bcebbf57c3032c99e921a78cf3e33950a815550cbe75d090edb792f7"}


def figures(text):
    """What neither ranks nor processors change: lines of epochs, of test sets and of ranks, without times."""
    lines = re.findall(r"(?m)^epoch .*? s  [^\n]*|^ +(?:rank \d+: sum|test loss)[^\n]*", text)
    return [re.sub(r"  [\d.]+ s  \d+ samples/s", "", line.rstrip()) for line in lines]


def shown(name):
    """The figures of the page's output of this recipe."""
    block, = [block for _, block in FENCED.findall(PAGE) if f"\nquern: {name}: " in block]
    return figures(block)


class OutputsTest(training.TrainingTest):
    def compare(self, recipe, name, ranks):
        done = quern("train", recipe, "--run-dir", self.folder / "run", ranks=ranks, cwd=ROOT)
        self.assertEqual(done.code, 0, done)
        wanted, printed = shown(name), figures(done.out)
        self.assertGreater(len(wanted), 2)
        self.assertEqual([line for line in printed if line in wanted], wanted)

    def need_mnist(self):
        for split, digest in MNIST.items():
            done = quern("data", "show", ROOT / "data/mnist" / split, "--json")
            if done.code != 0 or json.loads(done.out)["content_hash"] != digest:
                self.skipTest("no MNIST in data/mnist")

    def test_the_job_that_was_stopped(self):
        self.compare(toy.write_recipe(self.folder), "toy", 2)

    def test_mnist_classifier(self):
        self.need_mnist()
        self.compare("recipes/mlp-mnist.toml", "mlp-mnist", 6)

    def test_mnist_auto_encoder(self):
        self.need_mnist()
        self.compare("recipes/autoencoder-mnist.toml", "autoencoder-mnist", 2)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1])
