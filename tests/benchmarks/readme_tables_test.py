# SPDX-License-Identifier: Apache-2.0
import importlib.util
import json
import sys
import unittest

from fakes import PEER, QUERN, ROOT, FakesCase

import history
import readme_tables
import scaling_test


def load_module(path):
    """A module of another folder; what it puts on the path of imports is taken off again."""
    found = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(found)
    before = list(sys.path)
    found.loader.exec_module(module)
    sys.path[:] = before
    return module


example_run = load_module(ROOT / "tests" / "analysis" / "example_run.py")

INFO = """
if words == ["info", "--json"]:
    print(json.dumps({"processor": "Fake 1", "vectors": "AVX2", "commit": "0123456789ab",
                      "compiler": "none"}))
    sys.exit()
"""
MARKS = "<!-- table {0}: begin -->\nold\n<!-- table {0}: end -->\n"


class ReadmeTablesTest(FakesCase):
    main = staticmethod(readme_tables.main)

    def setUp(self):
        super().setUp()
        marks = "words = sys.argv[1:]\n"
        self.assertIn(marks, QUERN)
        self.quern = self.program("quern", QUERN.replace(marks, marks + INFO))
        self.results = self.folder / "results"
        self.history = self.folder / "history.jsonl"
        self.readme = self.folder / "README.md"
        self.details = self.folder / "docs" / "performance.md"
        self.details.parent.mkdir()
        self.readme.write_text("a\n" + MARKS.format("accuracy") + "b\n" + MARKS.format("speed") + "c\n")
        self.details.write_text(MARKS.format("speed-fake"))

    def tables(self, what, *words):
        return self.run_main(what, "--quern", self.quern, "--results", self.results,
                             "--history", self.history, "--root", self.folder, *words)

    def kept(self, name):
        return json.loads((self.results / f"{name}.json").read_text())

    def test_the_documents_have_the_kept_figures(self):
        """README.md and docs/performance.md of this repository."""
        status, _, errors = self.run_main("check")
        self.assertEqual((status, errors), (0, ""))

    def test_sentences_have_the_kept_figures(self):
        """README.md's table of bf16, which no script writes, from the newest figures."""
        tables = history.tables(history.read(ROOT / "benchmarks" / "history.jsonl"), "bf16")
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        for name, core in (("intel", "Intel Xeon (AMX)"), ("zen4", "Zen 4 (AVX512_BF16)"), ("zen5", "Zen 5 (AVX512_BF16)")):
            ratios = [{peer: found["median"] for peer, found in tables[name]["workloads"][workload]["ratios"].items()}
                      for workload in ("W1", "W2", "W7")]
            over_fp32 = [f"{found.pop('quern-fp32'):.1f}" for found in ratios]
            over_peers = [f"{min(found.values()):.1f}" for found in ratios]
            self.assertIn(f"| {core} | {', '.join(over_fp32)} | {', '.join(over_peers)} |", text)

    def test_accuracies_of_finished_runs(self):
        out = self.folder / "runs"
        for seed in range(5):
            records = example_run.make_records(epochs=2)
            records[-1]["accuracy"] = 0.8 + seed / 100
            example_run.write_run(out / "W2" / f"seed-{seed}", records, seed=seed, done="done\n")
        self.details.write_text("")
        status, _, errors = self.tables("seeds", "--only", "W2", "--out", out)
        self.assertEqual(status, 0, errors)
        kept = self.kept("accuracy-W2")["quern"]
        self.assertEqual((kept["commit"], kept["processor"]), ("0123456789ab", "Fake 1"))
        self.assertEqual(kept["command"], "analysis/seeds.py --recipe recipes/lenet-fashion.toml "
                         "--ranks 1 --seeds 0 1 2 3 4")
        self.assertRegex(kept["date"], r"^20\d\d-\d\d-\d\d$")
        text = self.readme.read_text()
        self.assertIn("test accuracy | 80.0 to 84.0 %, mean 82.00 % (5 seeds) | - |", text)
        self.assertIn("Fake 1 AVX2, commit `0123456`", text)
        self.assertEqual((text[:2], text[-2:]), ("a\n", "c\n"))

    def test_speed_against_fakes(self):
        status, _, errors = self.tables("speed", "--only", "W1", "--rounds", 2, "--name", "fake",
                                        "--title", "Fake", "--python",
                                        self.program("python", self.peers_in_the_python()))
        self.assertEqual(status, 0, errors)
        kept = json.loads(self.history.read_text())
        self.assertEqual(list(kept["workloads"]), ["W1"])
        self.assertEqual((kept["kind"], kept["name"], kept["title"]), ("speed", "fake", "Fake"))
        self.assertEqual((kept["rounds"], kept["commit"], kept["processor"], kept["command"]),
                         (2, "0123456789ab", "Fake 1",
                          "benchmarks/compare_peers.py --workloads W1 --rounds 2"))
        figures = kept["workloads"]["W1"]
        self.assertAlmostEqual(figures["ratios"]["compile"]["median"], 4.0)
        self.assertEqual(figures["ratios"]["compile"]["version"], "fake")
        self.assertAlmostEqual(figures["samples_per_s"]["median"], 4000.0)
        self.assertIn("| Fake | `mlp-mnist`, 128 | 2.00x | 4.00x | 0.80x | 2 % |",
                      self.readme.read_text())
        self.assertIn("| W1 `mlp-mnist` | 2 % of 100 Gflop/s | 2.00 (2.00 to 2.00) | "
                      "4.00 (4.00 to 4.00) | 0.80 (0.80 to 0.80) |", self.details.read_text())

    def test_bf16_has_a_table_of_its_own(self):
        self.test_speed_against_fakes()
        readme = self.readme.read_text()
        self.details.write_text(self.details.read_text() + MARKS.format("bf16-fake"))
        status, output, errors = self.tables("speed", "--precision", "bf16", "--only", "W1", "--rounds",
                                             2, "--name", "fake", "--python", self.folder / "python")
        self.assertEqual((status, output), (0, ""), errors)
        kept = json.loads(self.history.read_text().splitlines()[1])
        self.assertEqual((kept["kind"], kept["title"], kept["command"]), (
            "bf16", "Fake", "benchmarks/compare_peers.py --workloads W1 --rounds 2 --precision bf16"))
        self.assertEqual({name: round(ratio["median"], 9)
                          for name, ratio in kept["workloads"]["W1"]["ratios"].items()},
                         {"quern-fp32": 2.0, "eager": 3.2, "compile": 6.4})
        details = self.details.read_text()
        self.assertIn("| W1 `mlp-mnist` | 2.00 (2.00 to 2.00) | 3.20 (3.20 to 3.20) | "
                      "PyTorch 2.13 eager | 5 % of 100 Gflop/s |", details)
        self.assertIn("| W1 `mlp-mnist` | 2 % of 100 Gflop/s | 2.00", details, "fp32 stays")
        self.assertEqual(self.readme.read_text(), readme)
        self.details.write_text(details.replace("3.20 (", "3.90 ("))
        self.assertEqual(self.tables("check")[0], 1)

    def test_between_marks_without_kept_figures_stands_nothing(self):
        self.test_speed_against_fakes()
        kept = self.details.read_text()
        self.details.write_text(kept + MARKS.format("bf16-fake"))
        self.assertEqual(self.tables("check")[0], 1)
        self.assertEqual(self.tables("write")[0], 0)
        self.assertEqual(self.details.read_text(), kept + MARKS.format("bf16-fake").replace("old\n", ""))
        self.assertEqual(self.tables("check")[0], 0)

    def test_a_second_measurement_is_compared_with_the_first(self):
        self.test_speed_against_fakes()
        first = json.loads(self.history.read_text())
        first["workloads"]["W1"]["ratios"]["eager"]["median"] = 2.5
        self.history.write_text(json.dumps(first) + "\n")
        status, output, errors = self.tables("speed", "--only", "W1", "--rounds", 1, "--name", "fake",
                                             "--python", self.folder / "python")
        self.assertEqual(status, 0, errors)
        entries = [json.loads(line) for line in self.history.read_text().splitlines()]
        self.assertEqual([entry["title"] for entry in entries], ["Fake", "Fake"], "as it was")
        self.assertIn("fake W1 over eager: 2.50 (0123456, ", output)
        self.assertIn("-20.0 % SLOWER\n", output)
        self.assertEqual(output.count("SLOWER"), 1)
        self.assertEqual(self.tables("history")[:2], (0, output))
        self.assertEqual(self.tables("history", "--check")[:2], (1, output))
        self.assertEqual(self.tables("history", "--check", "--spread", 21)[0], 0)
        self.assertEqual(self.tables("history", "--check", "--name", "other")[:2], (0, ""))
        self.assertIn("1 rounds", self.details.read_text(), "the table is that of the newest line")

    def test_speedups_of_several_ranks(self):
        launcher = f"{self.program('launch', scaling_test.LAUNCHER)} {{ranks}}"
        words = "words = sys.argv[1:]\n"
        self.assertIn(words, scaling_test.QUERN)
        self.program("quern", scaling_test.QUERN.replace(words, words + INFO))
        self.details.write_text(MARKS.format("scaling-fake"))
        status, _, errors = self.tables("scaling", "--only", "W1,W2", "--rounds", 1, "--name", "fake",
                                        "--title", "Fake", "--ranks", 4, "--launcher", launcher)
        self.assertEqual(status, 0, errors)
        kept = json.loads(self.history.read_text())
        self.assertEqual(kept["kind"], "scaling")
        figures = kept["workloads"]["W2"]
        self.assertEqual((figures["ranks"], figures["global_batch"]), (4, 256))
        self.assertEqual(figures["speedup"]["fast"]["median"], 4.0)
        self.assertIn("| W2 `lenet-fashion` | 4 | 4.00 (4.00 to 4.00) |", self.details.read_text())

    def peers_in_the_python(self):
        """compare_peers.py is run by the real interpreter, the peers' scripts are stood in for."""
        return f"""
import os, sys
if sys.argv[1].endswith("compare_peers.py"):
    os.execv({sys.executable!r}, [{sys.executable!r}, "-B", *sys.argv[1:]])
{PEER}"""

    def test_a_figure_that_was_changed_by_hand_is_found(self):
        self.test_accuracies_of_finished_runs()
        self.assertEqual(self.tables("check")[0], 0)
        self.readme.write_text(self.readme.read_text().replace("82.00", "88.00"))
        status, _, errors = self.tables("check")
        self.assertEqual(status, 1)
        self.assertIn("README.md: a table differs", errors)
        self.assertEqual(self.tables("write")[0], 0)
        self.assertIn("82.00", self.readme.read_text())

    def test_what_is_wrong_is_said(self):
        self.readme.write_text("no marks")
        self.assertIn("the marks of table accuracy", self.tables("check")[2])
        self.assertEqual(self.tables("speed", "--name", "Zen 3")[0], 2)
        self.assertEqual(self.tables("scaling")[0], 2)
        self.assertEqual(self.tables("speed", "--name", "x", "--precision", "tf32")[0], 2)
        self.assertIn("seeds knows W1, W2, W7", self.tables("seeds", "--only", "resnet20")[2])
        self.assertIn("ended with exit status",
                      self.tables("speed", "--name", "x", "--python", "false")[2])
        self.results.mkdir()
        (self.results / "accuracy-W1.json").write_text("{")
        self.assertIn("accuracy-W1.json", self.tables("check")[2])
        self.history.write_text("{}\n")
        self.assertIn("history.jsonl:1: 'kind' is missing", self.tables("history")[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
