# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from fakes import FakesCase

import streaming

# Notes how it was started. Streamed epochs take 4 % longer; the first of a run is slow.
QUERN = """
import json, pathlib, sys
words = sys.argv[1:]
with open(sys.argv[0] + ".log", "a") as log:
    log.write(json.dumps(words) + "\\n")
def after(option):
    return words[words.index(option) + 1]
if words[0] == "bench":
    rows = [{"operation": "shards_read", "gb_per_s": 9, "raw_gb_per_s": 9, "over_raw": 1},
            {"operation": "shards_streamed", "cold": True, "gb_per_s": 0.9, "raw_gb_per_s": 1.0, "over_raw": 1.11},
            {"operation": "shards_streamed_again", "cold": False, "gb_per_s": 3.8, "raw_gb_per_s": 4, "over_raw": 1.05}]
    pathlib.Path(after("--json")).write_text(json.dumps({"rows": rows}))
elif "--dry-run" in words:
    fits = "data.memory='1 TiB'" in words
    print("samples            60000 (30 MiB per node)")
    if not fits:
        print("order              streamed in 9 windows of 6784 samples")
else:
    folder = pathlib.Path(after("--run-dir"))
    folder.mkdir()
    speed = 1000.0 if "data.window=6784" in words else 1000.0 / 1.04
    lines = [{"kind": "step"}] + [{"kind": "epoch", "samples_per_s": rate} for rate in (1.0, speed, speed)]
    (folder / "metrics.jsonl").write_text("\\n".join(map(json.dumps, lines)))
"""


class StreamingTest(FakesCase):
    main = staticmethod(streaming.main)

    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "toy.toml"
        self.recipe.write_text('[data]\ntrain = "shards"\n')
        self.quern = self.program("quern", QUERN)

    def start(self, *words):
        return self.run_main(self.recipe, "--quern", self.quern, "--rounds", 2, "--epochs", 3, *words)

    def test_step_and_read_rate(self):
        status, text, errors = self.start("--memory", "16 MiB", "--set", "seed=3")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("time of a step streamed / in memory: 1.040 (1.040 to 1.040)", text)
        self.assertIn("first epoch, copies dropped   0.90 GB/s, 90 % of plain reading (1.00 GB/s)\n"
                      "later epoch, from the cache   3.80 GB/s, 95 % of plain reading (4.00 GB/s)\n", text)
        starts = [json.loads(line) for line in (self.folder / "quern.log").read_text().splitlines()]
        self.assertEqual(["data.memory='16 MiB'" in start for start in starts], [True, True, False, True, False, False])
        self.assertTrue(all("seed=3" in start for start in starts[:-1]))
        self.assertEqual(starts[-1][starts[-1].index("--data") + 1], "shards")

    def test_a_set_that_fits(self):
        status, _, errors = self.start("--memory", "1 TiB")
        self.assertEqual((status, errors), (2, "streaming: the set fits into --memory, expected less\n"))

    def test_bad_words(self):
        self.recipe.write_text("")
        self.assertIn("names no shards", self.start("--memory", "1 MiB")[2])
        self.assertEqual(self.start("--memory", "1 MiB", "--epochs", 1)[0], 2)
        self.assertIn("cannot start /nowhere", self.start("--memory", "1 MiB", "--quern", "/nowhere")[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
