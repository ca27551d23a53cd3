# SPDX-License-Identifier: Apache-2.0
"""README.md: its commands run, its recipe is the one that is shipped, its C++ trains.

readme_test.py QUERN MPIEXEC PROGRAM_OF_THE_README
"""
import os
import re
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

import idx
import training
from program import PROGRAM, environment

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TIMEOUT_S = 200


def block(language):
    found = re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    if len(found) != 1:
        raise ValueError(f"README.md has {len(found)} blocks of {language}, one was expected")
    return found[0]


class ReadmeTest(training.TrainingTest):
    def setUp(self):
        """The layout of a clone after the quick start, with a small data set of the same shape."""
        super().setUp()
        (self.folder / "recipes").symlink_to(ROOT / "recipes")
        programs = self.folder / "build" / "release" / "bin"
        programs.mkdir(parents=True)
        (programs / "quern").symlink_to(PROGRAM)
        data = self.folder / "data" / "fashion-mnist"
        data.mkdir(parents=True)
        for split, count in (("train", 520), ("test", 90)):
            training.make_shards(data, split, *idx.blobs(count, size=28))

    def run_in_folder(self, *words):
        done = subprocess.run(words, cwd=self.folder, env=environment(1, {}), text=True, check=False,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def test_the_next_steps_run_as_they_stand(self):
        text = self.run_in_folder("bash", "-e", "-o", "pipefail", "-c", block("bash"))
        hashes = re.findall(r"(?m)^[0-9a-f]{64}$", text)
        self.assertEqual(len(hashes), 2, text)
        self.assertEqual(hashes[0], hashes[1])
        self.assertIn("accuracy", text)
        self.assertEqual(sorted(path.name for path in (self.folder / "runs").iterdir()),
                         ["alone", "four", "lr-0.1"])

    def test_the_recipe_is_a_shipped_one(self):
        shown = tomllib.loads(block("toml"))
        shipped = tomllib.loads((ROOT / "recipes" / f"{shown['name']}.toml").read_text(encoding="utf-8"))
        self.assertEqual(shown, shipped)

    def test_the_program_trains(self):
        self.run_in_folder(os.path.abspath(sys.argv[3]), "mlp.toml", "own")
        self.assertTrue((self.folder / "own" / "DONE").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1])
