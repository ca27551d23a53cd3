# SPDX-License-Identifier: Apache-2.0
"""One example: does it do what it says, and leave a run that `quern` can work with?

run_example.py QUERN MPIEXEC EXAMPLE TEST
"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import idx
from program import quern

MPIEXEC, EXAMPLE = sys.argv[2], Path(sys.argv[3])


class ExampleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, example, *args, ranks=0):
        launcher = [MPIEXEC, "-n", str(ranks)] if ranks else []
        return subprocess.run([*launcher, example, *args], cwd=self.folder, text=True,
                              capture_output=True, timeout=100, check=False)

    def run_example(self, *args, ranks=0, example=EXAMPLE):
        done = self.start(example, *args, ranks=ranks)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return done.stdout

    def number(self, text, pattern):
        found = re.search(pattern, text, re.MULTILINE)
        self.assertTrue(found, f"'{pattern}' is not in\n{text}")
        return float(found[1])

    def hash(self, run):
        done = quern("checkpoint", "hash", run, cwd=self.folder)
        self.assertEqual(done.code, 0, done)
        return done.out

    def assert_ranks_agree(self):
        """The same weights on one rank and two; returns what the run on one printed."""
        text = self.run_example("one")
        self.run_example("two", ranks=2)
        self.assertEqual(self.hash("one"), self.hash("two"))
        return text

    def test_one_kernel(self):
        difference = self.number(self.run_example(), r"difference from the reference: (\S+)")
        self.assertLess(difference, 1e-5)
        self.assertGreater(difference, 0, "float and double agree to the last bit?")

    def test_train_lenet(self):
        for split, count in (("train", 1024), ("test", 200)):
            images, labels = idx.blobs(count, seed=count, size=28)
            (self.folder / "images").write_bytes(idx.to_bytes(images))
            (self.folder / "labels").write_bytes(idx.to_bytes(labels))
            done = quern("shard", "--images", "images", "--labels", "labels", "--out", split,
                         "--split", split, cwd=self.folder)
            self.assertEqual(done.code, 0, done)
        text = self.run_example("train", "test", "run", ranks=4)
        accuracy = self.number(text, r"^accuracy (\S+) % on 4 ranks$")
        self.assertRegex(text, r"checkpoints are in run/checkpoints\n")
        evaluated = quern("evaluate", "run", "--data", "test", cwd=self.folder)
        self.assertEqual(evaluated.code, 0, evaluated)
        self.assertAlmostEqual(accuracy, self.number(evaluated.out, r"accuracy (\S+) %"), places=1)
        self.assertGreater(accuracy, 50, "ten prototypes with noise are easy")

    def test_my_own_layer(self):
        text = self.assert_ranks_agree()
        self.assertLess(self.number(text, r"gradient off by at most (\S+)"), 2e-3)
        self.assertLess(self.number(text, r"mean squared error (\S+)"), 1e-2)
        self.run_example("one")  # goes on from its own checkpoint
        # What is wrong on all ranks is told once.
        done = self.start(EXAMPLE, "bad", "0", ranks=2)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("features"), 1, done.stderr)
        self.assertNotIn("MPI_ABORT", done.stderr)
        # The program itself knows no such layer, and says so.
        done = quern("evaluate", "one", "--data", "nowhere", cwd=self.folder)
        self.assertEqual(done.code, 2, done)
        self.assertIn("layer 'swish' (custom, recipe line", done.err)
        self.assertIn("known: none", done.err)

    def test_my_own_layer_at_common_widths(self):
        """Rows of 128, 256 and 512 floats are padded by a group more than others."""
        for units in (120, 128, 256, 512):
            text = self.run_example(f"run-{units}", str(units))
            self.assertLess(self.number(text, r"gradient off by at most (\S+)"), 2e-3)
            self.assertLess(self.number(text, r"mean squared error (\S+)"), 5e-2)

    def test_my_own_dataset(self):
        self.assertGreater(self.number(self.assert_ranks_agree(), r"^accuracy (\S+) %"), 95)
        done = quern("train", "one/recipe.toml", "--run-dir", "other", cwd=self.folder)
        self.assertEqual(done.code, 2, done)
        self.assertIn('data.source = "program" is for C++ programs', done.err)

    def test_my_own_prediction(self):
        self.run_example("run", example=EXAMPLE.parent / "my_own_dataset")
        # The arms of the training data, once around: (0.5, pi) and the point opposite.
        points = ["-0.5", "0", "0.5", "0", "0", "-0.75"]
        text = self.run_example("run", *points)
        self.assertEqual(re.findall(r"is on arm (\d)$", text, re.MULTILINE), ["0", "1", "0"])
        self.assertEqual(self.run_example("run", *points, ranks=2), text)
        done = self.start(EXAMPLE, "nowhere", "1", "2", ranks=2)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("nowhere"), 1, done.stderr)

    def test_my_own_loss(self):
        share = self.number(self.assert_ranks_agree(), r"^(\S+) % of the measurements are below")
        self.assertGreater(share, 86)
        self.assertLess(share, 94)
        # The program itself knows no such loss, and says so.
        done = quern("checkpoint", "verify", "one", cwd=self.folder)
        self.assertEqual(done.code, 0, done)
        done = quern("evaluate", "one", "--data", "nowhere", cwd=self.folder)
        self.assertEqual(done.code, 2, done)
        self.assertIn("the loss is of kind 'pinball', which this program does not know (known: none", done.err)

    def test_beside_a_simulation(self):
        text = self.run_example("three", ranks=3)
        self.assertLess(self.number(text, r"^mean squared error (\S+) on 2 ranks$"), 1e-3)
        self.run_example("two", ranks=2)
        self.assertEqual(self.hash("three"), self.hash("two"))
        done = self.start(EXAMPLE, "/dev/null/run", ranks=2)
        self.assertNotEqual(done.returncode, 0, done)
        self.assertNotIn("squared error", done.stdout)
        done = self.start(EXAMPLE, "one")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("expected at least two", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=[sys.argv[0], f"ExampleTest.test_{sys.argv[4]}"])
