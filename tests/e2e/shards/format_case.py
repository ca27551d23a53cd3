# SPDX-License-Identifier: Apache-2.0
"""quern shard of one file or folder, and what is in the shards then."""
import subprocess

import h5py
import numpy as np
import shard_files


class FormatCase(shard_files.ShardTest):
    def quern(self, *arguments):
        command = [shard_files.PROGRAM, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)

    def sharded(self, *options, warnings=()):
        """The arrays of the shards. `warnings`: what each of them says."""
        done = self.quern("shard", *options, "--out", self.out, "--force")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (0, len(warnings)), done)
        for line, words in zip(done.stderr.splitlines(), warnings):
            self.assertTrue(line.startswith("quern: warning: "), line)
            self.assertIn(words, line)
        self.said = done.stdout
        arrays = {}
        for name in self.written():
            with h5py.File(self.out / name) as file:
                for key in set(file) - {"blocks"}:
                    arrays.setdefault(key, []).append(file[key][()])
                self.attributes = dict(file.attrs)
        return {key: np.concatenate(parts) for key, parts in arrays.items()}

    def shown(self, *options):
        done = self.quern("data", "show", self.out, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refused(self, message, *options):
        done = self.quern("shard", *options, "--out", self.folder / "new")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("error:"), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.folder / "new").exists())
