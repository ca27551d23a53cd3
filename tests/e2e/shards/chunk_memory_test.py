# SPDX-License-Identifier: Apache-2.0
"""How much memory quern shard takes for float64 data sets of HDF5, however they are cut into chunks."""
import re
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import shard_files
from format_case import FormatCase

COUNT, COLUMNS = 1_200_000, 8
FLOATS = 4 * COUNT * COLUMNS  # bytes of the samples


class ChunkMemoryTest(FormatCase):
    def peak(self, name):
        """As the system tells while it goes on: what it tells at the end counts this program's memory, too."""
        run = subprocess.Popen([shard_files.PROGRAM, "shard", "--images", f"x.h5:/{name}", "--out", self.out, "--force"],
                               cwd=self.folder, stdout=subprocess.DEVNULL)
        peak = 0
        while run.poll() is None:
            status = Path(f"/proc/{run.pid}/status").read_text(encoding="utf-8")
            found = re.search(r"(?m)^Name:\tquern$[^$]*^VmHWM:\s+(\d+) kB$", status)
            peak = max(peak, 1024 * int(found[1]) if found else 0)
            time.sleep(0.002)
        self.assertEqual(run.returncode, 0)
        return peak

    def test_tall_chunks(self):
        values = np.round(np.random.default_rng(3).normal(size=(COUNT, COLUMNS)), 2)
        with h5py.File(self.folder / "x.h5", "w") as file:
            file["plain"] = values
            file.create_dataset("tall", data=values, chunks=(COUNT, COLUMNS))
            file.create_dataset("columns", data=values, chunks=(COUNT, 1))
            file.create_dataset("packed", data=values, chunks=(COUNT, 1), compression="gzip", compression_opts=1)
        plain = self.peak("plain")
        self.assertGreater(plain, FLOATS)
        one_column = 8 * COUNT
        # HDF5 unpacks a chunk as a whole, while it still has the one before.
        for name, more in (("tall", 0), ("columns", 0), ("packed", 4 * one_column)):
            with self.subTest(name):
                self.assertLess(self.peak(name), plain + more + FLOATS // 4)


if __name__ == "__main__":
    shard_files.main()
