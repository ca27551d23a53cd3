# SPDX-License-Identifier: Apache-2.0
import importlib.util
import json
import os
import signal
import unittest

from fakes import FakesCase

import split_resnet
import turns

# mpirun -n R: passes the number on. Quern: 12 s on one rank, and a pipeline without costs on two.
LAUNCHER = """
import os, subprocess, sys
sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, "FAKE_RANKS": sys.argv[1]}).returncode)
"""
QUERN = """
import json, os, signal, sys, time
words = sys.argv[1:]
settings = dict(words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--set")
recipe = open(words[2]).read()
assert recipe.count('statistics = "block"') == 5, recipe
ranks, pieces = int(os.environ["FAKE_RANKS"]), int(settings["parallel.micro_batches"])
with open(sys.argv[0] + ".log", "a") as log:
    log.write(json.dumps(settings) + "\\n")
if len(open(sys.argv[0] + ".log").readlines()) == int(os.environ.get("FAKE_INTERRUPT", "0")):
    os.kill(int(os.environ["FAKE_PARENT"]), signal.SIGTERM)
    time.sleep(60)
step = 12e6 if ranks == 1 else 12e6 / 2 * (pieces + 1) / pieces
json.dump({"machine": {"ranks": ranks}, "step_us": step}, open(words[words.index("--json") + 1], "w"))
"""


class SplitResnetTest(FakesCase):
    main = staticmethod(split_resnet.main)

    def setUp(self):
        super().setUp()
        self.quern = self.program("quern", QUERN)
        self.launcher = f"{self.program('launch', LAUNCHER)} {{ranks}}"
        self.out = self.folder / "out.json"

    def split(self, *words, launcher=None):
        return self.run_main("--quern", self.quern, "--launcher", launcher or self.launcher, "--json", self.out, *words)

    def test_means_deviations_and_speedups(self):
        status, text, errors = self.split("--repeats", 3, "--pieces", "2,8")
        self.assertEqual(status, 0, errors)
        self.assertEqual(len(errors.splitlines()), 18)
        self.assertIn("repeat 2 of 3: cut at layer3, 8 pieces: 6750.00 ms\n", errors)
        rows = json.loads(self.out.read_text())["results"]
        self.assertEqual([(row["stages"], row["pieces"], row["cut"]) for row in rows],
                         [(1, 1, ""), (2, 1, "layer3"), (2, 2, "layer3"), (2, 8, "layer3"), (2, 2, "chosen"), (2, 8, "chosen")])
        self.assertEqual([round(row["speedup"], 3) for row in rows], [1, 1, 1.333, 1.778, 1.333, 1.778])
        self.assertEqual([row["deviation_s"] for row in rows], [0] * 6)
        self.assertRegex(text, r"(?m)^cut at layer3, 8 pieces +6\.750 +0\.000 +1\.78 \(1\.78 to 1\.78\)$")
        starts = [json.loads(line) for line in (self.folder / "quern.log").read_text().splitlines()]
        self.assertEqual(len(starts), 18)
        self.assertEqual({start["data.global_batch"] for start in starts}, {"120"})
        # Each repeat begins with another way.
        self.assertEqual([(start["parallel.pipeline"], start["parallel.micro_batches"]) for start in starts[::6]],
                         [("1", "1"), ("2", "1"), ("2", "2")])

    def test_whoever_interrupts_gets_the_whole_repeats(self):
        os.environ.update(FAKE_INTERRUPT="10", FAKE_PARENT=str(os.getpid()))  # in the third
        self.addCleanup(os.environ.pop, "FAKE_INTERRUPT")
        self.addCleanup(os.environ.pop, "FAKE_PARENT")
        before = signal.getsignal(signal.SIGTERM)
        status, text, errors = self.split("--repeats", 5, "--pieces", "2")
        self.assertEqual(status, 1)
        self.assertIs(signal.getsignal(signal.SIGTERM), before)
        self.assertIn("interrupted: 2 of 5 repeats are whole", errors)
        self.assertIn("2 repeats\n", text)
        written = json.loads(self.out.read_text())
        self.assertEqual(written["repeats"], 2)
        self.assertEqual([len(row["times_s"]) for row in written["results"]], [2] * 4)

    def test_figures_are_kept_after_each_repeat(self):
        kept = f"""
import os
seen = sys.argv[0] + ".seen"
with open(seen, "a") as log:
    log.write(("1" if os.path.exists({str(self.out)!r}) else "0"))
"""
        self.quern.write_text(self.quern.read_text() + kept)
        status, _, errors = self.split("--repeats", 2, "--pieces", "2")
        self.assertEqual(status, 0, errors)
        self.assertEqual((self.folder / "quern.seen").read_text(), "00001111")

    def test_nothing_to_show_of_no_repeat(self):
        os.environ.update(FAKE_INTERRUPT="2", FAKE_PARENT=str(os.getpid()))
        self.addCleanup(os.environ.pop, "FAKE_INTERRUPT")
        self.addCleanup(os.environ.pop, "FAKE_PARENT")
        status, text, errors = self.split("--repeats", 5, "--pieces", "2")
        self.assertEqual((status, text), (1, ""))
        self.assertIn("interrupted: 0 of 5 repeats are whole", errors)
        self.assertFalse(self.out.exists())

    def test_draws_a_chart(self):
        png = self.folder / "out.png"
        status, _, errors = self.run_main("--quern", self.quern, "--launcher", self.launcher, "--quick", "--png", png)
        self.assertFalse(self.out.exists())
        if importlib.util.find_spec("matplotlib"):
            self.assertEqual(status, 0, errors)
            self.assertEqual(png.read_bytes()[:4], b"\x89PNG")
        else:
            self.assertEqual(status, 2)
            self.assertIn("--png needs matplotlib", errors)

    def test_ranks_that_do_not_meet(self):
        status, _, errors = self.split("--quick", launcher=f"{self.program('one', LAUNCHER)} 1 {{ranks}}")
        self.assertEqual(status, 2)
        self.assertIn("split_resnet: ", errors)


class WriteFiguresTest(FakesCase):
    def test_the_file_is_another_one_when_it_is_whole(self):
        out, before = self.folder / "out.json", self.folder / "before.json"
        out.write_text("old")
        os.link(out, before)
        turns.write_figures(out, {"repeats": 2})
        self.assertEqual((before.read_text(), json.loads(out.read_text())), ("old", {"repeats": 2}))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["before.json", "out.json"])


if __name__ == "__main__":
    unittest.main()
