# SPDX-License-Identifier: Apache-2.0
"""scripts/quickstart in a clean clone, on a PATH without a package manager, sudo or a downloader.

With --program the clone runs the program of this build; without, it builds one, as a newcomer does.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
KEPT_OUT = {"apt", "apt-get", "apt-cache", "dpkg", "dpkg-query", "sudo", "curl", "wget"}
given = None


def git(*words, cwd, text=True, **options):
    return subprocess.run(["git", *words], cwd=cwd, text=text, check=True, capture_output=True,
                          **options).stdout


def path_without(names, folder):
    """A folder with links to all programs of PATH but those."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*") if place else ():
            link = folder / program.name
            if program.name not in names and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


class QuickstartTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.clone = self.folder / "clone"
        # A checkout of another user, as containers mount them, is like an unpacked archive: git refuses it.
        asked = subprocess.run(["git", "rev-parse"], cwd=SOURCE, capture_output=True, check=False)
        if (SOURCE / ".git").exists() and asked.returncode == 0:
            git("clone", "--quiet", SOURCE, self.clone, cwd=self.folder)
            changes = git("diff", "--binary", "HEAD", cwd=SOURCE, text=False)  # not committed yet
            if changes:
                git("apply", "--whitespace=nowarn", cwd=self.clone, input=changes, text=False)
        else:
            shutil.copytree(SOURCE, self.clone, symlinks=True, ignore=shutil.ignore_patterns(
                ".git", "build*", "runs", "*.h5", "__pycache__"))
            git("init", "--quiet", cwd=self.clone)
        git("add", "--all", cwd=self.clone)
        self.before = git("status", "--porcelain", cwd=self.clone)
        self.path = path_without(KEPT_OUT, self.folder / "bin")

    def quickstart(self, *options):
        """Status, standard output and standard error, seconds as it says them."""
        program = ["--program", given.program] if given.program else []
        prefix = ["--prefix", given.kokkos] if given.kokkos and not program else []
        done = subprocess.run([self.clone / "scripts/quickstart", *program, *prefix, *options],
                              cwd=self.folder, env={**os.environ, "PATH": self.path}, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout, done.stderr

    def assert_works(self, *options):
        status, output, errors = self.quickstart(*options)
        self.assertEqual(status, 0, output + errors)
        return output, int(re.search(r"(?m)^Done in (\d+) s\.", output)[1])

    def test_from_a_clone_to_a_report(self):
        options = ["--idx", FASHION, "--ranks", "2"]
        if given.epochs:
            options += ["--epochs", str(given.epochs)]
        output, first = self.assert_works(*options)
        run = self.clone / "runs/quickstart"
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        accuracy = [line["accuracy"] for line in lines if line["kind"] == "eval"]
        epochs = given.epochs or 10
        self.assertEqual(len(accuracy), epochs)
        self.assertGreater(accuracy[-1], 0.77 if epochs < 5 else 0.89)
        self.assertIn("2", {str(line["ranks"]) for line in lines if "ranks" in line})
        self.assertIn(f"{100 * accuracy[-1]:.2f}", output)  # what quern evaluate prints
        self.assertTrue((run / "DONE").exists())
        self.assertEqual(len(list(run.glob("checkpoints/*.h5"))), min(epochs, 3))
        for split in ("train", "test"):
            shards = list((self.clone / "data/fashion-mnist" / split).iterdir())
            self.assertEqual([file.suffix for file in shards], [".h5"] * 4)
        self.assertIn("quickstart", (run / "report/report.md").read_text())
        page = (run / "report/report.html").read_text()
        self.assertIn("Confusion matrix", page)
        self.assertIn("data:image/png;base64,", page)
        for name in re.findall(r"(?m)^  (\S+/) {2,}\w", output):  # where it says everything is
            self.assertTrue((self.clone / name).is_dir(), name)
        self.assertEqual(git("status", "--porcelain", cwd=self.clone), self.before)

        # What a clean-up of old files took is made again, and a set of another number of shards will do.
        shards = sorted((self.clone / "data/fashion-mnist/train").iterdir())
        shards[2].unlink()
        for shard in (self.clone / "data/fashion-mnist/test").iterdir():
            shard.unlink()
        subprocess.run([given.program or self.clone / "build/release/bin/quern", "shard", "--images",
                        FASHION / "t10k-images-idx3-ubyte.gz", "--labels", FASHION / "t10k-labels-idx1-ubyte.gz", "--split",
                        "test", "--out", self.clone / "data/fashion-mnist/test"], check=True, capture_output=True)
        again, _ = self.assert_works(*options)
        self.assertIn("data/fashion-mnist/train: 4 shards", again)
        self.assertIn("data/fashion-mnist/test is there already", again)
        self.assertTrue(shards[2].exists())

        kept = {file: file.stat().st_mtime_ns for file in self.clone.glob("runs/**/*.h5")}
        again, second = self.assert_works(*options)
        self.assertIn("runs/quickstart is done already", again)
        self.assertEqual(again.count("is there already"), 3)  # shards of two splits, report
        self.assertEqual({file: file.stat().st_mtime_ns for file in kept}, kept)
        self.assertLess(second, first)

        status, output, errors = self.quickstart(*options[:4], "--epochs", str(epochs + 1))
        self.assertEqual((status, output), (1, ""), output + errors)
        self.assertRegex(errors, rf"runs/quickstart was started with --epochs {epochs}, and {epochs + 1} are .*--fresh")

    def test_other_data_is_refused(self):
        damaged = self.folder / "idx"
        shutil.copytree(FASHION, damaged)
        shutil.copy(damaged / "t10k-labels-idx1-ubyte.gz", damaged / "train-labels-idx1-ubyte.gz")
        status, output, errors = self.quickstart("--idx", damaged)
        self.assertEqual(status, 2, output + errors)
        self.assertRegex(errors, r"quern: error: .*train-labels-idx1-ubyte\.gz.*SHA-256")
        self.assertFalse((self.clone / "data/fashion-mnist/train").exists())

    def test_data_that_is_not_there(self):
        status, output, errors = self.quickstart("--idx", self.folder)
        self.assertEqual(status, 1, output)
        self.assertIn(f"no Fashion-MNIST in '{self.folder}'", errors)
        self.assertEqual(self.quickstart("--idx", self.folder / "nowhere")[0], 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=lambda name: Path(name).resolve(),
                        help="a quern that is built; without, the clone builds one")
    parser.add_argument("--kokkos", help="where the clone finds Kokkos, if not in the system")
    parser.add_argument("--epochs", type=int, help="default: those of the recipe")
    given, names = parser.parse_known_args()
    for needed, there in ((FASHION, FASHION.is_dir()), ("git", shutil.which("git"))):
        if not there:
            print(f"skipped: needs {needed}")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0], *names])
