# SPDX-License-Identifier: Apache-2.0
"""BCAST without a Slurm: what is copied, and where the key is taken from; with one: tests/slurm/broadcast_test.py."""
import os
import re
import shutil
import subprocess
import sys
import unittest

from submit_case import PROGRAM, ROOT, SubmitCase


class BroadcastTest(SubmitCase):
    def test_the_key(self):
        self.assertIn("\nbcast=/tmp\n", self.train("generic", "BCAST=/tmp"))
        self.assertIn("\nbcast=''\n", self.train("generic"))
        for text in ("tmp", "$TMPDIR", "~/x", "/a b"):
            self.refuse_train("generic", [f"BCAST={text}"], "BCAST=", "each node's own disk")
        self.refuse_train("local", ["BCAST=/tmp"], "BCAST is for Slurm's queue")
        for name, extra in (("mine", ""), ("alone", "SCHEDULER=none\n")):
            (self.folder / f"{name}.env").write_text(f"LIMIT=*:* 1-9 UNLIMITED\nTIME=60\nBCAST=/scratch/local\n{extra}")
        site = str(self.folder / "mine.env")
        self.assertIn("\nbcast=/scratch/local\n", self.filled(site, "train", "RECIPE=mlp.toml", "RUN_DIR=run"))
        self.assertIn("\nbcast=''\n", self.filled(site, "train", "RECIPE=mlp.toml", "RUN_DIR=run", "BCAST="))
        alone = self.filled(str(self.folder / "alone.env"), "train", "RECIPE=mlp.toml", "RUN_DIR=run")
        self.assertIn("\nbcast=''\n", alone)

    def test_many_nodes_without_it(self):
        (self.folder / "mine.env").write_text("LIMIT=*:* 1-999 UNLIMITED\nTIME=60\nBCAST=/scratch/local\n")
        for site, values, warned in (("generic", ["NODES=63"], 0), ("generic", ["NODES=64"], 1),
                                     ("generic", ["NODES=64", "BCAST=/tmp"], 0), ("generic", ["NODES=64", "BCAST="], 0),
                                     (str(self.folder / "mine.env"), ["NODES=500"], 0)):
            with self.subTest(site=site, values=values):
                done = self.submit(site, "train", "RECIPE=mlp.toml", f"RUN_DIR=run-{len(values)}-{warned}-{values[-1]}", *values)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count("warning: no BCAST: on 64 nodes every rank reads the program"), warned)
                self.assertEqual(done.stderr.count("BCAST"), 3 * warned, done.stderr)

    def test_every_job_of_a_plan_that_starts_ranks(self):
        text = self.filled("generic", "pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", "IDX_DIR=.", "DATA_DIR=data",
                           "BCAST=/tmp")
        self.assertEqual(re.findall(r"^bcast=(.*)$", text, re.MULTILINE), ["/tmp"] * 2)
        text = self.filled("generic", "scaling", "RECIPE=mlp.toml", "RUN_DIR=run", "BATCH=64", "BCAST=/tmp")
        self.assertEqual(re.findall(r"^bcast=(.*)$", text, re.MULTILINE), ["/tmp"] * 3)

    def collect(self, program):
        """The names of what would be copied, and the files behind them."""
        links = self.folder / "links"
        shutil.rmtree(links, ignore_errors=True)
        script = f'source "{ROOT}/jobs/lib/job/broadcast.sh"; copies=/d/c; collect_files "$0" "{links}"'
        done = subprocess.run(["bash", "-c", script, program], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {str(path.relative_to(links)): os.path.realpath(path) for path in links.rglob("*") if path.is_file()}

    def test_a_program_and_its_libraries(self):
        """Those of the system stay where they are: each node has them."""
        found = self.collect(PROGRAM)
        self.assertEqual(found.pop("bin/quern"), PROGRAM)
        self.assertTrue(found.pop("start"))
        self.assertFalse([path for path in found.values() if path.startswith(("/lib", "/usr/lib"))])
        library = next((line.split() for line in subprocess.run(["ldd", PROGRAM], capture_output=True, text=True,
                                                                check=True).stdout.splitlines() if "libhdf5" in line), None)
        if not library:
            self.skipTest("the program has no shared library of HDF5")
        (self.folder / "own").mkdir()
        shutil.copy(library[2], self.folder / "own" / library[0])
        os.environ["LD_LIBRARY_PATH"] = str(self.folder / "own")
        self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")
        self.assertEqual(self.collect(PROGRAM)["lib/" + library[0]], str((self.folder / "own" / library[0]).resolve()))

    def test_an_installation_for_several_processors(self):
        for name in ("bin/quern", "libexec/quern/quern-avx2", "libexec/quern/quern-avx512"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy("/bin/true", path)
        found = self.collect(str(self.folder / "bin" / "quern"))
        for name in ("bin/quern", "libexec/quern/quern-avx2", "libexec/quern/quern-avx512"):
            self.assertEqual(found[name], str((self.folder / name).resolve()))

    def test_copies_go_before_the_job_is_requeued(self):
        script = (f'cd "{ROOT}/jobs/lib/job"; for part in environment broadcast requeue nodes; do source ./$part.sh; done; '
                  'exec 9>&1; copies=/d/c; sleep() { :; }; timeout() { shift; "$@"; }; say() { echo "$*"; }; '
                  'scontrol() { echo "scontrol $*" >&9; }; on_each_node() { echo "on each node: $*" >&9; }; requeue 7')
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "on each node: rm -rf /d/c\nrequeueing 7\nscontrol requeue 7\n", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
