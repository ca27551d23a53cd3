# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

from fakes import FakesCase

import busy_neighbour
from workloads import ProblemError

LAUNCHER = """
import os, subprocess, sys
sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, "FAKE_RANKS": sys.argv[1]}).returncode)
"""
# 1000 us shared among the ranks; beside a neighbour one rank needs 1100 us and several need 800.
QUERN = """
import json, os, sys
words, folder = sys.argv[1:], os.path.dirname(sys.argv[0])
ranks, beside = int(os.environ["FAKE_RANKS"]), os.path.exists(folder + "/busy")
settings = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
with open(folder + "/log", "a") as log:
    log.write(json.dumps([ranks, beside, *settings]) + "\\n")
time = (1100.0 if ranks == 1 else 800.0) if beside else 1000.0 / ranks
document = {"machine": {"ranks": ranks}, "step_us": time}
open(words[words.index("--json") + 1], "w").write(json.dumps(document))
"""


def seconds_of(pid):
    """Processor time of a process."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


class BusyNeighbourTest(FakesCase):
    main = staticmethod(busy_neighbour.main)

    def setUp(self):
        super().setUp()
        self.quern = self.program("quern", QUERN)
        self.launcher = f"{self.program('launch', LAUNCHER)} {{ranks}}"
        self.out = self.folder / "out.json"

    @contextlib.contextmanager
    def fake_neighbour(self, core):
        self.core = core
        (self.folder / "busy").touch()
        try:
            yield
        finally:
            (self.folder / "busy").unlink()

    def measure(self, *words):
        with mock.patch.object(busy_neighbour, "neighbour", self.fake_neighbour):
            return self.run_main("--quern", self.quern, "--launcher", self.launcher, "--json", self.out, *words)

    def test_ratios(self):
        status, text, errors = self.measure("--workloads", "W1", "--rounds", 3, "--core", 5)
        self.assertEqual((status, errors, self.core), (0, "", 5))
        written = json.loads(self.out.read_text())
        self.assertEqual([written[key] for key in ("ranks", "rounds", "core", "set")], [2, 3, 5, []])
        found = written["results"][0]
        self.assertEqual([found[name]["median"] for name in ("quiet", "beside", "loss")], [2.0, 1100 / 800, 1.6])
        self.assertRegex(text, r"(?m)^W1 +256 +1000 +500 +1100 +800  2\.00 \(2\.00 to 2\.00\) +1\.38 .* 1\.60 \(")
        starts = [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]
        self.assertEqual(len(starts), 12)
        self.assertEqual({tuple(start[2:]) for start in starts},
                         {("data.global_batch=256", "train.determinism=rank-invariant")})
        # Each round begins with another case.
        self.assertEqual([start[:2] for start in starts[::4]], [[1, False], [2, False], [1, True]])

    def test_residual_networks_train_on_whole_images(self):
        self.assertEqual(self.measure("--workloads", "resnet20", "--rounds", 1)[0], 0)
        self.assertIn("data.augment.crop=0", (self.folder / "log").read_text())

    def test_keys_of_the_recipes(self):
        status, _, errors = self.measure("--workloads", "W1", "--rounds", 1, "--set", "parallel.balance=true")
        self.assertEqual(status, 0, errors)
        starts = (self.folder / "log").read_text().splitlines()
        self.assertEqual([json.loads(line)[-1] for line in starts], ["parallel.balance=true"] * 4)
        self.assertEqual(json.loads(self.out.read_text())["set"], ["parallel.balance=true"])

    def wait_until(self, holds, what):
        deadline = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def test_the_neighbour_keeps_its_core_busy(self):
        core = max(os.sched_getaffinity(0))
        with busy_neighbour.neighbour(core) as process:
            self.assertEqual(os.sched_getaffinity(process.pid), {core})
            before = seconds_of(process.pid)
            self.wait_until(lambda: seconds_of(process.pid) > before + 0.5, "it takes no processor time")
        self.assertIsNotNone(process.returncode)

    def test_the_neighbour_ends_with_whoever_started_it(self):
        starter = ("import subprocess, sys\n"
                   "child = subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[2]], stdout=subprocess.PIPE,\n"
                   "                         stderr=subprocess.DEVNULL)\n"
                   "child.stdout.readline()\n"
                   "print(child.pid)\n")
        core = max(os.sched_getaffinity(0))
        done = subprocess.run([sys.executable, "-c", starter, busy_neighbour.SPIN, str(core)],
                              capture_output=True, text=True, check=True)
        stat = Path(f"/proc/{int(done.stdout)}/stat")
        try:
            self.wait_until(lambda: not stat.exists() or ") Z " in stat.read_text(), "it is still there")
        except AssertionError:
            os.kill(int(done.stdout), signal.SIGKILL)
            raise

    def test_a_core_that_is_not_there(self):
        with self.assertRaisesRegex(ProblemError, "nothing can be pinned to core 99999: see --core"):
            with busy_neighbour.neighbour(99999):
                self.fail("it was pinned")


if __name__ == "__main__":
    unittest.main()
