# SPDX-License-Identifier: Apache-2.0
"""Columns of float64, int64 and text whose numbers float32 cannot tell apart: quern shard and quern_data say so."""
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import shard_files
from format_case import FormatCase

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "analysis"))
import quern_data  # noqa: E402

COUNT = 240
TIMES = 1.7e9 + np.random.default_rng(1).permutation(COUNT) * 0.5
SAID = "has numbers around 1700000060 with a deviation of 34.6, and float32, as which they are stored, has steps of 128 there"


class LargeOffsetTest(FormatCase):
    def setUp(self):
        super().setUp()
        self.values = np.stack([np.linspace(0, 1, COUNT), TIMES], axis=1)

    def said_of(self, *options):
        done = self.quern("shard", *options, "--out", self.out, "--force")
        self.assertEqual(done.returncode, 0, done)
        return done.stderr

    def test_formats(self):
        np.save(self.folder / "c.npy", self.values)
        np.save(self.folder / "fortran.npy", np.asfortranarray(self.values))
        np.save(self.folder / "image.npy", np.asfortranarray(self.values.reshape(COUNT, 1, 1, 2)))
        with h5py.File(self.folder / "x.h5", "w") as file:
            file["x"] = self.values
            file.create_dataset("packed", data=self.values, chunks=(7, 1), compression="gzip")
        np.savetxt(self.folder / "x.csv", self.values, fmt="%.3f", delimiter=",", header="u,time", comments="")
        values = None
        for name in "c.npy", "fortran.npy", "x.h5:/x", "x.h5:/packed", "x.csv":
            with self.subTest(name):
                column = "column 2 ('time') " if name == "x.csv" else "column 2 "
                self.assertEqual(self.said_of("--images", name).count(f"'{name}': {column}{SAID}"), 1)
                with h5py.File(self.out / self.written()[0]) as file:
                    stored = file["values"][()]
                values = stored if values is None else values
                np.testing.assert_array_equal(stored[:, 1], np.float32(TIMES))
        self.assertIn("column 2 " + SAID, self.said_of("--images", "image.npy"))
        np.save(self.folder / "whole.npy", (TIMES * 1000).astype(np.int64))
        self.assertIn("column 1 has numbers around 1.70000006e+12 with a deviation of 3.46e+04",
                      self.said_of("--images", "whole.npy"))
        self.assertIn(f"'x.csv:time': column 1 {SAID}", self.said_of("--images", "x.csv:u", "--targets", "x.csv:time"))

    def test_chunks_of_hdf5(self):
        """More numbers than are read at once, in chunks that are flat, tall, narrow, or all of it."""
        rng = np.random.default_rng(2)
        values = rng.normal(size=(60000, 7, 3))
        values[:, 5, 1] += 1.7e9
        said = None
        for shape, chunks in (((60000, 21), ((700, 21), (60000, 1), (25000, 4), (60000, 21))),
                              ((60000, 7, 3), ((60000, 2, 2), (59999, 7, 1))), ((60000 * 21,), ((500000,), (1260000,)))):
            array = values.reshape(shape)
            for chunk in (None, *chunks):
                with self.subTest(shape=shape, chunk=chunk):
                    with h5py.File(self.folder / "x.h5", "w") as file:
                        file.create_dataset("x", data=array, chunks=chunk, compression="gzip" if chunk else None)
                    text = self.said_of("--images", "x.h5:/x", "--targets", "x.h5:/x") if len(shape) < 3 else \
                        self.said_of("--images", "x.h5:/x")
                    said = text if chunk is None else said
                    self.assertEqual(text, said)
                    with h5py.File(self.out / self.written()[0]) as file:
                        np.testing.assert_array_equal(file["values"][()].reshape(shape), np.float32(array))
            self.assertEqual("column 17 has numbers around 17" in said, len(shape) > 1, said)

    def test_several_files_and_ranks(self):
        np.save(self.folder / "a.npy", self.values[:100])
        np.save(self.folder / "b.npy", self.values[100:])
        np.save(self.folder / "all.npy", self.values)
        self.assertIn("column 2 " + SAID, self.said_of("--images", "a.npy", "b.npy"))
        mpiexec = subprocess.run(["which", "mpiexec"], capture_output=True, text=True, check=False).stdout.strip()
        if not mpiexec:
            self.skipTest("no mpiexec")
        for name in "a", "b":
            with h5py.File(self.folder / f"{name}.h5", "w") as file:
                file["x"] = np.load(self.folder / f"{name}.npy")
        # Also with fewer shards than ranks, where some have no samples.
        for shards, *files in (4, "all.npy"), (2, "all.npy"), (3, "a.npy", "b.npy"), (3, "a.h5:x", "b.h5:x"):
            done = subprocess.run([mpiexec, "-n", "3", shard_files.PROGRAM, "shard", "--images", *files, "--out", self.out,
                                   "--shards", str(shards), "--force"], capture_output=True, text=True, check=False, cwd=self.folder)
            self.assertEqual((done.returncode, done.stderr.count("column 2 " + SAID)), (0, 1), done)

    def test_nothing_is_said_of_others(self):
        kept = np.stack([1e9 * np.random.default_rng(2).standard_normal(COUNT), np.full(COUNT, 1.7e9 + 1), 0.1 + np.arange(COUNT),
                         16e6 + np.arange(COUNT) % 2, 0.1 * 3 + np.zeros(COUNT)], axis=1)
        kept[::2, 4] = 0.3  # which differs from 0.1 * 3 in float64 alone
        np.save(self.folder / "kept.npy", kept)
        self.assertEqual(self.said_of("--images", "kept.npy"), "")
        np.save(self.folder / "float32.npy", self.values.astype(np.float32))
        self.assertEqual(self.said_of("--images", "float32.npy"), "")

    def test_shown(self):
        np.save(self.folder / "x.npy", 1.7e7 + np.arange(101.0))
        self.said_of("--images", "x.npy")
        self.assertIn("17000000 to 17000100, mean 17000050, deviation", self.shown())

    def test_python(self):
        def said(write, *arguments, **options):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                write(self.out, *arguments, overwrite=True, **options)
            self.assertTrue(all(one.filename == __file__ for one in caught))
            return [str(one.message) for one in caught]

        expected = f"column 2 ('time') {SAID}"
        (found,) = said(quern_data.write_shards, self.values, feature_names=["u", "time"])
        self.assertTrue(found.startswith(expected), found)
        (found,) = said(quern_data.write_shards, self.values[:, :1], targets=TIMES)
        self.assertTrue(found.startswith("targets: column 1 has numbers around 1700000060"), found)
        pairs = [(row, np.float32([0])) for row in self.values]
        (found,) = said(quern_data.write_dataset, pairs, shards=5)
        self.assertTrue(found.startswith(expected.replace(" ('time')", "")[:40]), found)
        self.assertEqual(said(quern_data.write_shards, self.values.astype(np.float32)), [])
        self.assertEqual(said(quern_data.write_shards, self.values[:, :1]), [])


if __name__ == "__main__":
    shard_files.main()
