# SPDX-License-Identifier: Apache-2.0
"""prepare-data makes shards and touches nothing else. Called as `data_test.py .../bin/quern`; the job's script runs
here, without a Slurm."""
import os
import shutil
import struct
import subprocess
import sys
import unittest

from submit_case import PROGRAM, SubmitCase


def idx(kind, *shape):
    size = 1
    for axis in shape:
        size *= axis
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + bytes((kind + i) % 10 for i in range(size))


def own_library(folder, name):
    """A shared library without content."""
    folder.mkdir(parents=True)
    subprocess.run(["cc", "-shared", "-o", folder / name, "-Wl,-soname,libcuda.so.1", "-x", "c", os.devnull], check=True)


class DataTest(SubmitCase):
    def setUp(self):
        super().setUp()
        source = self.folder / "idx"
        source.mkdir()
        for part in ("train", "t10k"):
            (source / f"{part}-images-idx3-ubyte").write_bytes(idx(0, 20, 3, 3))
            (source / f"{part}-labels-idx1-ubyte").write_bytes(idx(0, 20))
        self.train = self.folder / "data" / "train"
        self.values = ["generic", "prepare-data", "IDX_DIR=idx", "DATA_DIR=data"]

    def script(self, *values):
        """As it is kept at submit."""
        done = self.submit(*self.values, *values)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "data" / "job" / "prepare-data.sbatch").read_text()

    def run_script(self, text, **env):
        own = {name: value for name, value in os.environ.items() if "CUDA" not in name}
        return subprocess.run(["bash", "-c", text], cwd=self.folder, env=own | {"SLURM_JOB_ID": "7"} | env,
                              capture_output=True, text=True, check=False)

    def prepare(self, *values):
        done = self.run_script(self.script(*values))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return sorted(path.name for path in self.train.iterdir())

    def test_files_that_are_not_there(self):
        plan = ["generic", "pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", *self.values[2:]]
        (self.folder / "idx" / "train-images-idx3-ubyte").rename(self.folder / "idx" / "train-images-idx3-ubyte.gz")
        self.filled(*self.values)
        (self.folder / "idx" / "t10k-labels-idx1-ubyte").unlink()
        for words in (self.values, plan):
            self.assert_refused(words, "idx: there is no t10k-labels-idx1-ubyte (or .gz; quern shard reads other formats)")
        shutil.rmtree(self.folder / "idx")
        (self.folder / "idx").mkdir()
        self.assert_refused(plan, "idx: there is no train-images-idx3-ubyte train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-l")
        for words in (self.values, plan):
            self.filled(*words, "AFTER=7")

    def test_shards_are_replaced_by_shards(self):
        two = [f"data-train-0000{i}-of-00002.h5" for i in range(2)]
        self.assertEqual(self.prepare("SHARDS=2"), two)
        self.assertEqual(self.prepare("NAME=x", "SHARDS=1"), ["x-train-00000-of-00001.h5"])
        # A job that ended between its parts.
        (self.folder / "data" / "job" / "source.txt").unlink()
        self.assertEqual(self.prepare("SHARDS=2"), two)

    def test_shards_that_are_gone_are_made_again(self):
        two = self.prepare("SHARDS=2")
        script = self.script("SHARDS=2")
        shard, test = self.train / two[1], self.folder / "data" / "test"
        for damage in (shard.unlink, lambda: shard.write_bytes(b""), lambda: [file.unlink() for file in test.iterdir()]):
            self.assertIn("up to date", self.run_script(script).stdout)
            damage()
            self.assertNotIn("up to date", self.run_script(script).stdout)
            self.assertGreater(shard.stat().st_size, 0)
            self.assertEqual(len(list(test.iterdir())), 2)

    def test_what_others_made_stays(self):
        others = {"my-only-copy.txt": "precious", "data-train-00000-of-00002.h5": "of somebody"}
        for name, text in others.items():
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            script = self.script("SHARDS=2")
            self.train.mkdir()
            (self.train / name).write_text(text)
            self.assert_refused(self.values, "data/train", name)
            self.assert_refused(["generic", "pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", *self.values[2:]], name)
            done = self.run_script(script)  # submitted before the file was there
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(name, done.stdout)
            self.assertEqual((self.train / name).read_text(), text)
        shutil.rmtree(self.folder / "data")
        self.prepare("SHARDS=2")
        (self.train / "notes").write_text("mine")
        self.assert_refused([*self.values, "SHARDS=3"], "notes")
        self.assertEqual(len(list(self.train.iterdir())), 3)

    def test_folders_that_are_links_stay(self):
        (self.folder / "elsewhere").mkdir()
        self.train.parent.mkdir()
        self.train.symlink_to("../elsewhere")
        self.assert_refused(self.values, "data/train is a link")

    def test_a_program_for_devices_where_there_is_no_driver(self):
        """It needs the driver's library to start. The toolkit has a stub of it, to link with."""
        if not shutil.which("cc"):
            self.skipTest("needs cc")
        own_library(self.folder / "driver", "libcuda.so.1")
        source = self.folder / "main.c"
        source.write_text("#include <unistd.h>\nint main(int count, char** argv) { return execv(\"%s\", argv); }\n" % PROGRAM)
        program = self.folder / "quern-cuda"
        subprocess.run(["cc", source, "-o", program, "-Wl,--no-as-needed",
                        self.folder / "driver" / "libcuda.so.1"], check=True)
        script = self.script("SHARDS=2", "QUERN=quern-cuda")
        done = self.run_script(script)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("GPU=yes", done.stdout)
        own_library(self.folder / "toolkit" / "lib64" / "stubs", "libcuda.so")
        done = self.run_script(script, CUDA_HOME=str(self.folder / "toolkit"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(list(self.train.iterdir())), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
