# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from fakes import FakesCase

import history
from workloads import ProblemError


def entry(commit, *, kind="speed", name="a", **workloads):
    return {"kind": kind, "name": name, "title": name.upper(), "processor": "P", "commit": commit,
            "date": "2026-01-02", "workloads": workloads}


def speed(fraction, **ratios):
    return {"fraction_of_peak": fraction,
            "ratios": {peer: {"median": ratio} for peer, ratio in ratios.items()}}


class TablesTest(unittest.TestCase):
    def test_each_workload_is_as_it_was_measured_last(self):
        found = history.tables([entry("one", W1=speed(0.5), W2=speed(0.6)),
                                entry("two", W1=speed(0.7)),
                                entry("other", name="b", W1=speed(0.1)),
                                entry("ranks", kind="scaling", W1={"speedup": {}})], "speed")
        self.assertEqual(list(found), ["a", "b"])
        workloads = found["a"]["workloads"]
        self.assertEqual([(workloads[w]["commit"], workloads[w]["fraction_of_peak"])
                          for w in ("W1", "W2")], [("two", 0.7), ("one", 0.6)])
        self.assertEqual(found["a"]["title"], "A")


class ChangesTest(unittest.TestCase):
    def percents(self, entries, name=None):
        return {(c.name, c.workload, c.figure): round(c.percent, 6)
                for c in history.changes(entries, name)}

    def test_the_last_two_that_have_the_figure(self):
        entries = [entry("one", W1=speed(0.9), W2=speed(0.4, jax=4.0)),
                   entry("two", W1=speed(0.5, jax=2.0)),
                   entry("three", W1=speed(0.6, jax=1.5)),
                   entry("four", W2=speed(0.4, jax=5.0)),
                   entry("five", name="b", W1=speed(0.1))]
        self.assertEqual(self.percents(entries), {("a", "W1", "of the FMA peak"): 20,
                                                  ("a", "W1", "over jax"): -25,
                                                  ("a", "W2", "of the FMA peak"): 0,
                                                  ("a", "W2", "over jax"): 25})
        self.assertEqual(self.percents(entries, "b"), {})

    def test_processors_and_kinds_do_not_mix(self):
        ranks = {"ranks": 2, "speedup": {"fast": {"median": 1.8}, "rank-invariant": {"median": 1.6}}}
        slow = {"ranks": 2, "speedup": {"rank-invariant": {"median": 1.2}}}
        more = {"ranks": 4, "speedup": {"rank-invariant": {"median": 3.0}}}
        entries = [entry("one", W1=speed(0.5)), entry("two", name="b", W1=speed(0.1)),
                   *(entry("x", kind="scaling", W1=figures) for figures in (ranks, more, slow))]
        self.assertEqual(self.percents(entries), {("a", "W1", "on 2 ranks, rank-invariant"): -25})

    def test_slower_is_what_fell_by_more_than_the_spread(self):
        change = history.changes([entry("0123456789", W1=speed(0.50)),
                                  entry("abcdefghij", W1=speed(0.45))])[0]
        self.assertFalse(change.is_slower(11))
        self.assertTrue(change.is_slower(9))
        self.assertEqual(str(change), "a W1 of the FMA peak: 0.50 (0123456, 2026-01-02) -> "
                                      "0.45 (abcdefg, 2026-01-02), -10.0 %")


class FileTest(FakesCase):
    def test_lines_are_added_and_read_again(self):
        path = self.folder / "new" / "history.jsonl"
        self.assertEqual(history.read(path), [])
        entries = [entry("one", W1=speed(0.5)), entry("two", W1=speed(0.6))]
        for one in entries:
            history.append(path, one)
        self.assertEqual(history.read(path), entries)
        self.assertEqual(len(path.read_text().splitlines()), 2)

    def test_a_line_that_cannot_be_read_is_named(self):
        path = self.folder / "history.jsonl"
        for bad, said in (("{", "history.jsonl:2: "), ("7", "history.jsonl:2: "),
                          (json.dumps({"kind": "speed"}), "history.jsonl:2: 'name' is missing")):
            path.write_text(json.dumps(entry("one")) + "\n" + bad + "\n")
            with self.assertRaisesRegex(ProblemError, said):
                history.read(path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
