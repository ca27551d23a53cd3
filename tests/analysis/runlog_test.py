# SPDX-License-Identifier: Apache-2.0
import json
import tempfile
import tracemalloc
import unittest
from pathlib import Path

from example_run import make_records, make_summary, make_times, write_run

from quern_report.runlog import RunError, parsed, read_run


class RunLogTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name) / "run"

    def test_reads_a_finished_run(self):
        write_run(self.folder, done="hash " + "ab" * 32 + "\n")
        run = read_run(self.folder)
        self.assertEqual(run.name, "example")
        self.assertEqual([r["epoch"] for r in run.epochs], [1, 2, 3])
        self.assertEqual(len(run.steps), 60)
        self.assertEqual(run.last_step, 60)
        self.assertEqual(run.ranks, [2])
        self.assertEqual(run.checkpoints, ["ckpt-0000000040.h5", "ckpt-0000000060.h5"])
        self.assertTrue(run.done)
        self.assertEqual(run.model_hash, "ab" * 32)
        self.assertEqual(run.bad_lines, [])

    def test_many_lines_take_little_memory(self):
        lines = [json.dumps({"kind": "step", "epoch": 1 + step // 1000, "step": step, "loss": 1.5 / step, "accuracy": 1 - 1 / step,
                             "lr": 0.001, "samples_per_s": 1e5 / step, "samples": 64_000, "ranks": 4000, "time_s": step / 7})
                 for step in range(1, 5001)]
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        records, bad = parsed(lines)
        taken = tracemalloc.get_traced_memory()[0] / len(lines)
        self.assertEqual((records, bad), ([json.loads(line) for line in lines], []))
        self.assertLess(taken, 400)  # bytes; numbers alone take 156

    def test_keys_of_any_name_are_kept(self):
        lines = ['{"__class__": 5, "__dict__": {}, "a": 1}', '{"": 0, "step": 1, "b c": null}', '{"b": [1], "a": true}', '{"a": 1, "b": [1]}',
                 '{"a": 1.0, "b": [1]}', '{}']
        records, bad = parsed(lines)
        self.assertEqual(([json.dumps(record) for record in records], bad), (lines, []))

    def test_a_recipe_of_other_types_is_refused(self):
        for text, told in (("data = 5", "data = 5, expected a table"), ("train = 5", "train = 5, expected a table"),
                           ("name = 5", "name = 5, expected a text"), ("[data]\ntest = 5", "data.test = 5, expected a text")):
            write_run(self.folder / text)
            (self.folder / text / "recipe.toml").write_text(text)
            with self.assertRaisesRegex(RunError, told.replace(".", r"\.")):
                read_run(self.folder / text)

    def test_numbers_beyond_all_are_none(self):
        records = [{**record, "loss": 10 ** 400} for record in make_records(epochs=1)]
        write_run(self.folder, records)
        self.assertEqual([row["train_loss"] for row in read_run(self.folder).rows()], [None])

    def test_rows_join_training_and_test_figures(self):
        records = make_records()
        write_run(self.folder, records)
        rows = read_run(self.folder).rows()
        tests = [r for r in records if r["kind"] == "eval"]
        self.assertEqual([row["test_accuracy"] for row in rows], [r["accuracy"] for r in tests])
        self.assertEqual([row["seconds"] for row in rows], [10.0, 10.0, 10.0])

    def test_rows_of_a_regression(self):
        write_run(self.folder, make_records(rmse=12.0))
        row = read_run(self.folder).rows()[-1]
        self.assertEqual((row["test_rmse"], row["test_r2"], row["test_accuracy"]), (12.0, 0.9, None))

    def test_a_cut_off_last_line_is_left_out(self):
        write_run(self.folder, tail='{"kind": "epoch", "epoch": 4, "lo')
        run = read_run(self.folder)
        self.assertEqual(len(run.epochs), 3)
        self.assertEqual(run.bad_lines, [67])

    def test_half_a_line_in_the_middle_costs_that_line_only(self):
        write_run(self.folder, tail='{"kind": "st{"kind": "step", "step": 61}\n'
                                    '{"kind": "step", "step": 62, "epoch": 4, "loss": 1.0}\n')
        run = read_run(self.folder)
        self.assertEqual([r["step"] for r in run.steps][-2:], [60, 62])
        self.assertEqual(len(run.bad_lines), 1)

    def test_lines_that_are_json_but_no_record_are_left_out(self):
        write_run(self.folder, tail='7\n[]\nnull\n\n"text"\n' + "[" * 100000 + "\n")
        run = read_run(self.folder)
        self.assertEqual(len(run.bad_lines), 5)
        self.assertEqual(len(run.steps), 60)

    def test_values_of_wrong_types_cost_their_line_only(self):
        lines = ('"ranks": []', '"ranks": {"a": 1}', '"ranks": "2"', '"step": []')
        write_run(self.folder, tail="".join('{"kind": "step", "step": 61, %s}\n' % line for line in lines),
                  events=[{"event": "start", "step": 0, "hosts": {"node1": 2}},
                          *({"event": "start", "step": 0, "hosts": hosts} for hosts in ("x", [1], {"a": []}, {"a": "x"})),
                          *({"event": "start", "step": 0, "changes": changes} for changes in ("x", [1], [{"key": "a"}])),
                          {"event": []}, {"event": "checkpoint", "bytes": "x"}])
        run = read_run(self.folder)
        self.assertEqual(len(run.bad_lines), 4)
        self.assertEqual((run.ranks, run.hosts, len(run.events)), ([2], ["node1", "node1"], 1))

    def test_the_last_record_of_a_repeated_step_counts(self):
        records = make_records(epochs=2)
        again = [dict(r, loss=9.0, ranks=3, time_s=r["time_s"] - 10) for r in records
                 if r["step"] > 25]
        write_run(self.folder, [*records[:40], *again])
        run = read_run(self.folder)
        self.assertEqual([r["step"] for r in run.steps], list(range(1, 41)))
        self.assertNotEqual(run.steps[24]["loss"], 9.0)
        self.assertTrue(all(r["loss"] == 9.0 for r in run.steps[25:]))
        self.assertEqual(run.ranks, [2, 3])

    def test_the_clock_may_start_anew_on_resuming(self):
        records = make_records(epochs=2)
        write_run(self.folder, [dict(r, time_s=r["time_s"] - 10) if r["step"] > 20 else r
                                for r in records])
        self.assertEqual([row["seconds"] for row in read_run(self.folder).rows()], [10.0, 10.0])

    def test_a_resumed_clock_may_be_ahead_of_the_one_before(self):
        starts = [{"event": "start", "step": step} for step in (0, 35, 20)]  # 35: what it trained is trained again
        write_run(self.folder, [dict(r, time_s=r["time_s"] + 12 - 10) if r["step"] > 20 else r
                                for r in make_records(epochs=2)], events=starts)
        self.assertEqual([row["seconds"] for row in read_run(self.folder).rows()], [10.0, 22.0])

    def test_time_of_evaluation_is_not_time_of_training(self):
        records = [dict(r, time_s=r["time_s"] + 3 * (r["step"] > 20) + 3 * (r["kind"] == "eval"))
                   for r in make_records(epochs=2)]
        write_run(self.folder, records)
        self.assertEqual([row["seconds"] for row in read_run(self.folder).rows()], [10.0, 10.0])

    def epochs_of(self, *changes):
        """Rows of runs of two epochs, by the clock 10 s and, after a checkpoint of 5 s, 15 s; each with one of the changes."""
        for number, change in enumerate(changes):
            records = [dict(r, time_s=r["time_s"] + 5 * (r["step"] > 20),
                            **(change if r["kind"] == "epoch" else {})) for r in make_records(epochs=2)]
            yield read_run(write_run(self.folder / str(number), records)).rows()

    def test_the_failure_that_ended_a_run(self):
        start, failure = {"event": "start", "step": 0}, {"event": "failure", "reason": "the loss is nan"}
        for number, (events, found) in enumerate((((start, failure), failure), ((start, failure, start), None), ((start,), None),
                                                  ((), None))):
            self.assertEqual(read_run(write_run(self.folder / str(number), events=events)).failure, found)

    def test_events_of_other_types_are_left_out(self):
        odd = [{"event": "start", "step": 0, "test_data": ["x"]}, {"event": "start", "step": 0, "monitor": 5}]
        self.assertEqual(read_run(write_run(self.folder / "odd", events=odd)).events, [])

    def test_changed_settings_count_once(self):
        def start(step, *changes):
            return {"event": "start", "step": step,
                    **({"changes": [dict(zip(("key", "before", "after"), change)) for change in changes]} if changes else {})}

        def checkpoint(step):
            return {"event": "checkpoint", "step": step}

        lower, clip, again = ("optimizer.lr", "0.1", "0.01"), ("optimizer.clip_norm", "0", "1"), ("optimizer.lr", "0.01", "0.02")
        other = ("optimizer.lr", "0.1", "0.02")
        for number, (events, expected) in enumerate((
                ([start(0)], []),
                ([start(0), start(20, lower, clip), start(20, lower, clip), checkpoint(25), start(25)], [(20, *lower), (20, *clip)]),
                ([start(20, lower, clip), start(20, other)], [(20, *other)]),
                # undone before there was a checkpoint of it
                ([start(0), checkpoint(20), start(20, lower), start(20)], []),
                ([start(0), checkpoint(20), start(20, lower), checkpoint(40), start(20)], []),  # that of step 40 was lost
                # the checkpoint of this step has it
                ([start(20, lower), checkpoint(20), start(20)], [(20, *lower)]),
                ([start(20, lower), checkpoint(20), start(20), start(20)], [(20, *lower)]),
                ([start(20, lower), checkpoint(20), start(20, clip), start(20)], [(20, *lower)]),
                ([start(20, lower), checkpoint(20), start(20, again)], [(20, *lower), (20, *again)]),
                ([start(20, lower), checkpoint(20), start(20, lower)], [(20, *lower)]),
                ([start(20, lower), checkpoint(20), start(10)], []),
                ([start(20, lower), start(40, again), start(30)], [(20, *lower)]),
                ([start(20, lower), start(40, again), start(50)], [(20, *lower), (40, *again)]))):
            with self.subTest(events=events):
                self.assertEqual(read_run(write_run(self.folder / str(number), events=events)).changes, expected)

    def test_time_of_checkpoints_is_not_time_of_training(self):
        times = make_times(2)
        times["backward"][1] += 1  # 11 s of rank 1
        for rows, seconds, way in zip(
                self.epochs_of({"samples": 2000}, {"rank_times_s": times}, {"rank_summary_s": make_summary(times)}, {}),
                ([0.4, 0.4], [11.0, 11.0], [10.5, 10.5], [10.0, 15.0]), ("speed", "phases", "phases", "clock")):
            self.assertEqual([row["seconds"] for row in rows], seconds)
            self.assertEqual({row["seconds_from"] for row in rows}, {way})

    def test_the_speed_tells_the_time_of_an_epoch_that_was_resumed(self):
        rows = next(self.epochs_of({"samples": 2000, "rank_times_s": make_times(2)}))
        self.assertEqual(rows[0]["seconds"], 0.4)

    def test_stated_seconds_win_over_the_clock(self):
        records = [dict(r, seconds=7.5) if r["kind"] == "epoch" else r for r in make_records()]
        write_run(self.folder, records)
        self.assertEqual([row["seconds"] for row in read_run(self.folder).rows()], [7.5] * 3)

    def test_loss_may_be_null_or_not_finite_and_accuracy_absent(self):
        records = make_records(epochs=1, with_accuracy=False)
        records[-2]["loss"] = None
        records[-1]["loss"] = float("nan")
        write_run(self.folder, records)
        row = read_run(self.folder).rows()[0]
        self.assertIsNone(row["train_loss"])
        self.assertIsNone(row["test_loss"])
        self.assertIsNone(row["train_accuracy"])

    def test_an_empty_log_is_a_run_without_figures(self):
        write_run(self.folder, [])
        run = read_run(self.folder)
        self.assertEqual((run.rows(), run.last_step, run.ranks), ([], 0, []))

    def test_what_is_no_run_is_refused(self):
        with self.assertRaisesRegex(RunError, "does not exist"):
            read_run(self.folder)
        self.folder.mkdir()
        with self.assertRaisesRegex(RunError, "no recipe.toml"):
            read_run(self.folder)
        (self.folder / "recipe.toml").write_text('name = "x"\n')
        with self.assertRaisesRegex(RunError, "no metrics.jsonl"):
            read_run(self.folder)
        (self.folder / "metrics.jsonl").touch()
        (self.folder / "recipe.toml").write_text("name = \n")
        with self.assertRaisesRegex(RunError, "cannot read .*recipe.toml.*line 1"):
            read_run(self.folder)
        with self.assertRaisesRegex(RunError, "is not a folder"):
            read_run(self.folder / "recipe.toml")


if __name__ == "__main__":
    unittest.main(verbosity=2)
