# SPDX-License-Identifier: Apache-2.0
"""What metrics.jsonl and events.jsonl say about time, ranks, starts and ends."""
import json
import signal

import training
from training import metrics

PHASES = ["data", "forward", "backward", "reduction", "update", "waiting", "other"]


class RunLogTest(training.TrainingTest):
    def events(self, name):
        return [json.loads(line) for line in (self.folder / name / "events.jsonl").read_text().splitlines()]

    def test_where_the_time_of_each_rank_went(self):
        for ranks in (1, 3):
            name = f"on-{ranks}"
            self.train("conv", name, "checkpoint.every_steps=5", ranks=ranks)
            clock = 0
            for line in metrics(self.folder / name, "epoch"):
                times = line["rank_times_s"]
                self.assertEqual(list(times), PHASES)
                self.assertEqual({len(seconds) for seconds in times.values()}, {ranks})
                sums = [sum(phase[rank] for phase in times.values()) for rank in range(ranks)]
                # All ranks leave an epoch's last step together, and enter its first one nearly so.
                self.assertLess(max(sums) - min(sums), 0.5 + 0.5 * max(sums))
                self.assertLessEqual(sums[0], line["time_s"] - clock + 1e-4)
                clock = line["time_s"]
                for phase in ("forward", "backward"):
                    self.assertGreater(min(times[phase]), 0)
                if ranks == 1:
                    self.assertEqual(times["waiting"], [0])
                else:
                    self.assertGreater(min(times["waiting"]), 0)

    def test_the_ranks_without_samples_wait(self):
        # 7 ranks, of which the last batch feeds 3.
        self.train("mlp", "wide", ranks=7)
        last = metrics(self.folder / "wide", "epoch")[-1]["rank_times_s"]
        self.assertEqual({len(seconds) for seconds in last.values()}, {7})

    def test_starts_checkpoints_and_ends(self):
        settings = ("train.epochs=40", "checkpoint.every_steps=1")  # long enough to be stopped
        file = self.folder / "run" / "metrics.jsonl"
        for end in (signal.SIGUSR1, None):
            goal = f'"step":{metrics(self.folder / "run")[-1]["step"] + 10 if file.exists() else 10},'
            run = self.start("conv", "run", *settings, ranks=2)
            self.assertTrue(run.wait_until(lambda: file.exists() and goal in file.read_text()))
            if end:
                run.send(end)
                run.wait()
            else:
                run.kill()
        self.train("conv", "run", settings[0], ranks=3)

        events = self.events("run")
        kinds = [event["event"] for event in events]
        self.assertEqual([kind for kind in kinds if kind != "checkpoint"],
                         ["start", "stop", "start", "start", "done"])
        starts = [event for event in events if event["event"] == "start"]
        self.assertEqual([start["ranks"] for start in starts], [2, 2, 3])
        self.assertEqual([sum(start["hosts"].values()) for start in starts], [2, 2, 3])
        stop = next(event for event in events if event["event"] == "stop")
        self.assertEqual((stop["reason"], starts[1]["step"]), ("SIGUSR1", stop["step"]))
        self.assertEqual(self.hash("run").strip(), events[-1]["model"])
        written = [event for event in events if event["event"] == "checkpoint"]
        newest = self.folder / "run" / "checkpoints" / written[-1]["file"]
        self.assertEqual(written[-1]["bytes"], newest.stat().st_size)
        self.assertGreater(written[-1]["seconds"], 0)

    def test_figures_that_are_not_whole(self):
        self.train("mlp", "run", "train.epochs=1")
        log = self.folder / "run" / "metrics.jsonl"
        lines = log.read_text().splitlines(keepends=True)
        whole = self.quern("metrics", "run", "--csv")
        self.assertEqual((whole.code, whole.err), (0, ""), whole)
        log.write_text("".join([lines[0], "garbage\n", *lines[1:]]))
        done = self.quern("metrics", "run", "--csv")
        self.assertEqual((done.code, done.out), (0, whole.out), done)
        self.assertEqual(done.err, "quern: warning: left out 1 unreadable line of metrics.jsonl\n")
        log.unlink()
        for form in (["--csv"], ["--tensorboard", "events"]):
            done = self.quern("metrics", "run", *form)
            self.assertEqual((done.code, done.out, len(done.errors())), (2, "", 1), done)
            self.assertIn("'run' has no metrics.jsonl", done.err)
        self.assertFalse((self.folder / "events").exists())

    def test_a_form_is_asked_for(self):
        self.train("mlp", "run", "train.epochs=1")
        for words, message in ((["--out", "a.csv"], "metrics expects --csv or --tensorboard DIR"),
                               (["--tensorboard", "events", "--out", "a.csv"], "--out is of --csv")):
            done = self.quern("metrics", "run", *words)
            self.assertEqual((done.code, done.out, len(done.errors())), (2, "", 1), done)
            self.assertIn(message, done.err)
        self.assertFalse((self.folder / "events").exists() or (self.folder / "a.csv").exists())

    def test_divergence(self):
        self.train("mlp", "run", "optimizer.lr=1e30", expected=93)
        last = self.events("run")[-1]
        self.assertEqual(last["event"], "failure")
        self.assertIn("finite", last["reason"])


if __name__ == "__main__":
    training.main()
