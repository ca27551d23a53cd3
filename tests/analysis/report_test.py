# SPDX-License-Identifier: Apache-2.0
"""The page and the Markdown of a run: whole, torn, diverged, empty, with and without its program."""
import html.parser
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from example_run import ANALYSIS, EVENTS, make_records, make_summary, make_times, write_run

from quern_report import balance
from quern_report.runlog import read_run

CLASSIFIER = '''
[network]
input = [1, 2, 2]
[[network.layers]]
name = "conv1"
type = "conv2d"
[loss]
type = "cross_entropy"
'''
# Answers like the program: predictions of four images of three classes, and two kernels.
PROGRAM = '''#!{python}
import json, struct, sys
words = sys.argv[1:]
if words[0] == "predict":
    out = words[words.index("--out") + 1]
    open(out, "w").write("index,class,label,probability,loss\\n0,0,0,0.9,0.1\\n1,2,1,0.8,4.5\\n"
                         "2,1,1,0.7,0.3\\n3,2,2,0.6,0.5\\n")
elif words[:2] == ["checkpoint", "export"]:
    values = struct.pack("<8f", *range(-4, 4))
    head = json.dumps({{"conv1.weight": {{"dtype": "F32", "shape": [2, 1, 2, 2],
                                         "data_offsets": [0, len(values)]}}}}).encode()
    open(words[words.index("--out") + 1], "wb").write(struct.pack("<Q", len(head)) + head + values)
else:
    print("quern: error: what is", words, file=sys.stderr)
    sys.exit(2)
'''


class Page(html.parser.HTMLParser):
    """Tags that close, links, pictures and texts of a page."""

    VOID = {"meta", "img", "rect", "circle", "line", "polyline", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.images, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes[key] for key in ("href", "src") if key in attributes]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)


class ReportCase(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def report(self, *words, expected=0):
        """(standard output, standard error), of a machine without a program quern."""
        environment = {"PATH": "/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-B", ANALYSIS / "report", *map(str, words)],
                              capture_output=True, text=True, check=False, env=environment, cwd=self.folder)
        self.assertEqual(done.returncode, expected, done.stdout + done.stderr)
        if expected:
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        return done.stdout, done.stderr

    def page(self, path):
        text = path.read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.open, [])
        for link in page.links:  # nothing from a network
            self.assertRegex(link, r"^(#[a-z0-9-]+|data:image/png;base64,.*)$")
        self.assertNotIn("http", re.sub(r"http://www\.w3\.org/2000/svg", "", text))
        for link in page.links:
            if link.startswith("#"):
                self.assertIn(link[1:], page.ids)
        return " ".join(page.texts)


class ReportTest(ReportCase):
    def timed_records(self, ranks=2, **changes):
        return [{**record, "rank_times_s": make_times(ranks, **changes)} if record["kind"] == "epoch" else record
                for record in make_records(ranks=ranks)]

    def test_report_of_one_run(self):
        run = write_run(self.folder / "run", self.timed_records(), done="ab" * 32, events=EVENTS)
        page = Path(self.report(run)[0].strip())
        self.assertEqual(page, run / "report" / "report.html")
        shown = self.page(page)
        last = make_records()[-1]
        for text in ("finished", f"{100 * last['accuracy']:.2f} %", "abc",
                     "The best epoch is 3, that of the highest test accuracy. Its checkpoint is ckpt-0000000060.h5.",
                     "node1 (1 rank)", "stopped: SIGUSR1", "requeued", "ckpt-0000000040.h5", "2.0 KiB", "500 ms"):
            self.assertIn(text, shown)
        text = (page.parent / "report.md").read_text()
        self.assertIn("- steps: 60\n", text)
        self.assertIn("- ranks: 2\n", text)
        self.assertIn("- state: finished\n", text)
        self.assertIn("2, newest ckpt-0000000060.h5", text)
        self.assertIn("ab" * 32, text)
        self.assertIn(f"| **3** | {make_records()[-2]['loss']:.4f} |", text)
        self.assertIn("\n\nBold: the best epoch, 3. Time: ", text)
        for name in ("loss", "accuracy", "learning-rate", "throughput", "time-by-rank", "timeline"):
            self.assertIn(f"({name}.svg)", text)
            self.assertTrue((page.parent / f"{name}.svg").read_text().startswith("<svg "))

    def test_epochs_without_an_evaluation(self):
        """They have gaps: no figure, and no point in a curve."""
        records = [record for record in make_records(epochs=5) if record["kind"] != "eval" or record["epoch"] in (2, 4)]
        run = write_run(self.folder / "run", records, events=EVENTS)
        shown = self.page(Path(self.report(run)[0].strip()))
        self.assertIn("The best epoch is 4, that of the highest test accuracy.", shown)
        text = (run / "report" / "report.md").read_text()
        lines = {int(line.split("|")[1].strip(" *")): [cell.strip() for cell in line.split("|")[2:-1]]
                 for line in text.splitlines() if re.match(r"\| \**\d+\** \|", line)}
        self.assertEqual({epoch: (cells[2], cells[3]) for epoch, cells in lines.items() if epoch % 2},
                         {epoch: ("\N{EN DASH}", "\N{EN DASH}") for epoch in (1, 3, 5)})
        self.assertTrue(all(cells[2][0].isdigit() for epoch, cells in lines.items() if epoch % 2 == 0))
        drawn = re.findall(r'<polyline[^>]* points="([^"]*)"', (run / "report" / "accuracy.svg").read_text())
        self.assertEqual(sorted(len(points.split()) for points in drawn), [2, 5])
        sweep = [write_run(self.folder / f"trial-{number}", [dict(record, loss=record["loss"] + number) for record in records],
                           seed=number) for number in range(2)]
        for command in ("compare", "sweep"):
            self.page(Path(self.report(command, *sweep, "--out", self.folder / command)[0].strip()))

    def test_what_was_changed_on_the_way(self):
        changes = [{"key": "optimizer.lr", "before": "0.2", "after": "0.02"}]
        events = [{**event, "changes": changes} if event.get("restarts") == "1" else event for event in EVENTS]
        run = write_run(self.folder / "run", done="ab" * 32, events=events)
        self.page(Path(self.report(run)[0].strip()))
        text = (run / "report" / "report.md").read_text()
        self.assertIn("- changed: optimizer.lr from 0.2 to 0.02 at step 40\n", text)
        self.assertRegex(text, r"\| changed setting \| before \| after \| from step \|\n.*\n\| optimizer\.lr \| 0\.2 \| 0\.02 \| 40 \|\n")
        self.assertNotIn("changed", (Path(self.report(write_run(self.folder / "plain", events=EVENTS))[0].strip()).parent
                                     / "report.md").read_text())

    def test_what_the_time_of_an_epoch_is(self):
        run = write_run(self.folder / "run", self.timed_records())
        shown = self.page(Path(self.report(run)[0].strip()))
        self.assertIn("Time: of the steps of an epoch (", shown)
        self.assertIn("10.0 s an epoch, median", shown)
        run = write_run(self.folder / "clock")
        self.assertIn("Time: by the clock of the records, with checkpoints", self.page(Path(self.report(run)[0].strip())))

    def test_how_many_of_the_epochs_there_are(self):
        failed = {"event": "failure", "time": "2026-01-02T10:00:30Z", "step": 41, "reason": "training diverged at step 42: the loss is nan"}
        for number, (said, epochs, extra, more) in enumerate((
                ("3 of 15 epochs, not finished; on 2 ranks.", 3, "epochs = 15", {}),
                ("3 of 15 epochs, diverged; on 2 ranks", 3, "epochs = 15", {"events": [failed]}),
                ("3 of 15 epochs, ended by train.patience; on 2 ranks.", 3, "epochs = 15\npatience = 1", {"done": "ab" * 32}),
                ("3 epochs on 2 ranks.", 3, "epochs = 3\npatience = 1", {"done": "ab" * 32}),
                ("3 epochs, not finished; on 2 ranks.", 3, "", {}),
                ("no complete epoch of 15, not finished.", 0, "epochs = 15", {"events": EVENTS[:1]}))):
            run = write_run(self.folder / str(number), make_records(epochs=epochs), extra=f"[train]\n{extra}\n", **more)
            page = Path(self.report(run)[0].strip())
            self.assertIn(said, self.page(page))
            self.assertIn(said, (page.parent / "report.md").read_text().splitlines()[2])

    def test_a_straggler_is_named(self):
        run = write_run(self.folder / "run", self.timed_records(ranks=3, slow=1), events=EVENTS)
        shown = self.page(Path(self.report(run)[0].strip()))
        self.assertIn("Rank 1 on node2 has 1.15 times the median rank's work: a straggler", shown)
        run = write_run(self.folder / "even", self.timed_records(ranks=3))
        self.assertIn("No rank works 5 % longer", self.page(Path(self.report(run)[0].strip())))

    def test_many_ranks_and_epochs_fit_on_the_page(self):
        records = [{**record, "rank_times_s": make_times(200, slow=123)} if record["kind"] == "epoch" else record
                   for record in make_records(epochs=60, ranks=200)]
        run = write_run(self.folder / "run", records)
        page = Path(self.report(run)[0].strip())
        self.assertIn("rank 123", self.page(page))
        self.assertEqual(page.read_text().count('class="pager"'), 2)  # epochs and ranks
        self.assertEqual((page.parent / "time-by-rank.svg").read_text().count("<title>rank "), 16 * 7)

    def test_ranks_that_are_summarized(self):
        hosts = {**EVENTS[0], "hosts": {f"node{node}": 100 for node in range(5)}}
        for name, slow, said in (("even", (None,) * 3, "No rank works 5 % longer than the median rank."),
                                 ("slow", (321, 321, 17), "1.15 times the median rank's work. In 2 of 3 it is rank 321 on "
                                                          "node3: a straggler."),
                                 ("varied", (321, 17, 4), "1.15 times the median rank's work. It is not often the same one.")):
            records = make_records(ranks=500)
            for record, rank in zip((record for record in records if record["kind"] == "epoch"), slow):
                record["rank_summary_s"] = make_summary(make_times(500, slow=rank))
            run = write_run(self.folder / name, records, events=[hosts])
            shown = self.page(Path(self.report(run)[0].strip()))
            self.assertIn("The ranks wait 30.0 % of their time for each other. ", shown)
            self.assertIn(said, shown)
            self.assertIn("30.0 %", shown[shown.index("waiting for ranks"):][:40])

    def test_more_ranks_than_before(self):
        records = [record for record in make_records() if record["kind"] == "epoch"]
        few, many = {"rank_times_s": make_times(2)}, {"rank_summary_s": make_summary(make_times(300))}
        other = {"rank_summary_s": {"waiting": {"min": 1}}}  # of a later format
        for name, times, is_summary in ("up", (few, many, other), True), ("down", (few, many, few), False):
            run = write_run(self.folder / name, [{**record, **time} for record, time in zip(records, times)])
            shown = self.page(Path(self.report(run)[0].strip()))
            self.assertEqual("summary of each epoch" in shown, is_summary, name)

    def test_several_runs_on_one_page(self):
        runs = [write_run(self.folder / f"seed-{seed}", seed=seed) for seed in range(2)]
        self.report(*runs, "--out", "both")
        shown = self.page(self.folder / "both" / "report.html")
        self.assertIn("Runs are ranked by the test accuracy of the best epoch of each; ", shown)
        text = (self.folder / "both" / "report.md").read_text()
        self.assertIn("# seed-0, seed-1\n", text)
        self.assertIn("## seed-1\n", text)
        for picture in re.findall(r"\((\S+\.svg)\)", text):
            self.assertTrue((self.folder / "both" / picture).exists(), picture)

    def test_no_accuracy_no_accuracy_plot(self):
        run = write_run(self.folder / "run", make_records(with_accuracy=False))
        page = Path(self.report(run)[0].strip())
        self.assertFalse((page.parent / "accuracy.svg").exists())
        self.assertNotIn("Accuracy", self.page(page))

    def test_a_regression(self):
        run = write_run(self.folder / "run", make_records(rmse=12.0))
        page = Path(self.report(run)[0].strip())
        shown = self.page(page)
        for text in ("lowest test RMSE 12.00 epoch 3 of 3", "Bold: the best epoch, 3."):
            self.assertIn(text, shown)
        text = (page.parent / "report.md").read_text()
        self.assertIn("| test loss | test RMSE | test R\N{SUPERSCRIPT TWO} |", text)
        self.assertIn("| 12.00 | 0.9000 |", text)
        self.assertIn("![RMSE](rmse.svg)", text)

    def test_a_run_that_has_not_finished_an_epoch(self):
        run = write_run(self.folder / "run", make_records()[:5], tail='{"kind": "st')
        shown = self.page(Path(self.report(run)[0].strip()))
        self.assertIn("No epoch was completed.", shown)
        self.assertIn("not finished", shown)
        self.assertIn("unreadable lines of metrics.jsonl: 6", shown)

    def test_an_empty_log(self):
        run = write_run(self.folder / "run", [])
        self.assertIn("No epoch was completed.", self.page(Path(self.report(run)[0].strip())))

    def test_a_run_that_diverged(self):
        records = make_records()
        for record in records[30:]:
            record["loss"] = "nan"
        run = write_run(self.folder / "quiet", records)
        self.assertIn("not finite from step 29 on (nan)", self.page(Path(self.report(run)[0].strip())))
        failed = {"event": "failure", "time": "2026-01-02T10:00:30Z", "step": 41, "reason": "training diverged at step 42: the loss is nan"}
        run = write_run(self.folder / "run", records, events=[*EVENTS[:2], failed])
        shown = self.page(Path(self.report(run)[0].strip()))
        self.assertIn("diverged", shown)
        self.assertIn("failed: training diverged at step 42", shown)
        self.assertIn("The run diverged: training diverged at step 42", shown)

    def test_a_run_that_failed_otherwise(self):
        failed = {"event": "failure", "time": "2026-01-02T10:00:30Z", "step": 41, "reason": "'x.h5': samples are damaged"}
        run = write_run(self.folder / "run", events=[*EVENTS[:2], failed])
        shown = self.page(Path(self.report(run)[0].strip()))
        self.assertIn("The run failed: 'x.h5': samples are damaged", shown)
        self.assertIn("state failed", shown)
        self.assertNotIn("diverged", shown)

    def test_a_run_on_other_numbers_of_ranks(self):
        records = [record for record in make_records(epochs=4) if record["kind"] != "step"]
        for record, ranks in zip((one for one in records if one["kind"] == "epoch"), (1, 2, 1, 1)):
            record.update(ranks=ranks, rank_times_s=make_times(ranks))
        run = write_run(self.folder / "run", records)
        shown = self.page(Path(self.report(run)[0].strip()))
        self.assertIn("on 1, then 2, then 1 ranks", shown)
        self.assertIn("On one rank nobody waits.", shown)
        self.assertIn("Sums over epochs 1, 3 to 4, those on 1 rank, without evaluation.", shown)
        self.assertEqual(read_run(run).ranks, [1, 2, 1])
        self.assertAlmostEqual(balance.waiting_share(read_run(run)), 5 * 3 / 5 / 10)

    def test_only_the_test_loss_is_not_finite(self):
        records = make_records()
        for record in records[-1:]:
            record["loss"] = "inf"
        run = write_run(self.folder / "run", records)
        self.assertIn("The test loss is not finite from step 60 on (inf)", self.page(Path(self.report(run)[0].strip())))

    def test_events_may_be_torn_or_odd(self):
        run = write_run(self.folder / "run", events=[{"event": "stop"}, {"time": 7}, *EVENTS[:1], {}])
        with (run / "events.jsonl").open("a") as file:
            file.write('{"event": "st')
        self.assertIn("was killed, or runs", self.page(Path(self.report(run)[0].strip())))

    def test_texts_of_users_are_no_markup(self):
        run = write_run(self.folder / "run", name="<b>&bold|", events=EVENTS)
        page = Path(self.report(run)[0].strip())
        self.assertNotIn("<b>", page.read_text())
        self.assertIn("<b>&bold|", self.page(page))

    def test_what_is_no_run(self):
        good = write_run(self.folder / "run")
        (self.folder / "empty").mkdir()
        for words, why in (((self.folder,), "no recipe.toml"), ((good, "nothing"), "does not exist"),
                           (("empty",), "no recipe.toml")):
            self.assertIn(why, self.report(*words, "--out", "out", expected=2)[1])
            self.assertFalse((self.folder / "out").exists())
        (good / "metrics.jsonl").unlink()
        self.assertIn("no metrics.jsonl", self.report(good, expected=2)[1])

    def test_usage_errors(self):
        done = subprocess.run([sys.executable, "-B", ANALYSIS / "report"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        (self.folder / "file").touch()
        run = write_run(self.folder / "run")
        self.assertIn("cannot write the report", self.report(run, "--out", "file", expected=2)[1])


class ProgramTest(ReportCase):
    """What is asked from the program."""

    def classifier(self, text=PROGRAM):
        (self.folder / "test").mkdir()
        program = self.folder / "quern"
        program.write_text(text.format(python=sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        run = write_run(self.folder / "run", extra=CLASSIFIER)
        recipe = run / "recipe.toml"
        recipe.write_text(recipe.read_text().replace("global_batch", 'test = "test"\nglobal_batch'))
        return run

    def test_predictions_and_filters(self):
        run = self.classifier()
        shown = self.page(Path(self.report(run, "--quern", "./quern")[0].strip()))
        self.assertIn("3 of 4 test images are classified right, 75.00 %", shown)
        self.assertIn("1 taken for 2: 1 of 2, 50.0%", shown)
        self.assertIn("2 units of layer conv1", shown)
        text = (run / "report" / "report.md").read_text()
        self.assertIn("![Weights of layer conv1](first-layer.svg)\n\n2 units of layer conv1", text)
        self.assertNotIn("filter 0", text)
        drawn = (run / "report" / "first-layer.svg").read_text()
        self.assertEqual(drawn.count('href="data:image/png;base64,'), 2)
        # The shards are none: then the worst images are a table.
        self.assertIn("No images", shown)
        self.assertIn("80.0 %", shown)

    def test_predictions_are_kept_until_there_is_a_newer_checkpoint(self):
        run = self.classifier()
        self.report(run, "--quern", "./quern")
        kept = run / "report" / "predictions.csv"
        kept.write_text(kept.read_text().replace("1,2,1,0.8", "1,1,1,0.8"))
        self.assertIn("4 of 4", self.page(Path(self.report(run, "--quern", "./quern")[0].strip())))
        newest = run / "checkpoints" / "ckpt-0000000060.h5"
        os.utime(newest, (newest.stat().st_atime, kept.stat().st_mtime + 10))
        self.assertIn("3 of 4", self.page(Path(self.report(run, "--quern", "./quern")[0].strip())))

    def test_predictions_of_another_run_or_test_set_are_not_kept(self):
        run, other = self.classifier(), self.folder / "other"
        self.report(run, "--quern", "./quern", "--out", "pages")
        kept = self.folder / "pages" / "predictions.csv"

        def is_kept(run):
            kept.write_text(kept.read_text().replace("1,2,1,0.8", "1,1,1,0.8"))
            shown = self.page(self.folder / self.report(run, "--quern", "./quern", "--out", "pages")[0].strip())
            self.assertTrue("3 of 4" in shown or "4 of 4" in shown)
            return "4 of 4" in shown

        self.assertTrue(is_kept(run))
        shard = self.folder / "test" / "a.h5"
        shard.write_text("other samples")
        self.assertFalse(is_kept(run))
        self.assertTrue(is_kept(run))
        os.utime(shard, (0, 0))
        self.assertFalse(is_kept(run))
        shutil.copytree(run, other)
        self.assertFalse(is_kept(other))
        (self.folder / "pages" / "predictions.json").write_text("[]")
        self.assertFalse(is_kept(other))

    def test_runs_of_like_names_have_pages_of_their_own(self):
        for path in ("a-b/run", "a/b/run"):
            write_run(self.folder / path)
        page = Path(self.report("a-b/run", "a/b/run")[0].strip())
        self.assertEqual([path.name for path in sorted((self.folder / page).parent.iterdir()) if path.is_dir()],
                         ["a-b", "a-b-2"])

    def test_a_damaged_checkpoint_is_passed_over(self):
        run = self.classifier(PROGRAM.replace('    out =', """    print("quern: warning: 'run/checkpoints/ckpt-0000000060.h5':"
          " it is damaged; this checkpoint is passed over", file=sys.stderr)
    out ="""))
        for kept in (False, True):
            self.assertEqual((run / "report" / "predictions.csv").exists(), kept)
            shown = self.page(Path(self.report(run, "--quern", "./quern")[0].strip()))
            self.assertIn("with the newest good checkpoint (ckpt-0000000040.h5)", shown)
            self.assertIn("ckpt-0000000060.h5': it is damaged; this checkpoint is passed over", shown)

    def test_names_of_classes(self):
        run = self.classifier(PROGRAM.replace("probability,loss", "probability,loss,class_name").replace(
            "0.1\\n", "0.1,cat\\n").replace("4.5\\n", "4.5,bird\\n").replace("0.3\\n", "0.3,dog\\n").replace(
                "0.5\\n", "0.5,bird\\n"))
        shown = self.page(Path(self.report(run, "--quern", "./quern")[0].strip()))
        self.assertIn("dog taken for bird: 1 of 2", shown)

    def test_names_of_classes_that_are_never_predicted(self):
        """Three images of class 1, of which none is predicted to be one; its name is in the checkpoint."""
        csv = ('"index,class,label,probability,loss,class_name\\n0,0,1,0.9,3.1,cat\\n1,2,1,0.8,4.5,bird\\n'
               '2,2,1,0.7,2.3,bird\\n3,2,2,0.6,0.5,bird\\n"')
        start, end = PROGRAM.index('"index,class'), PROGRAM.index(")\nelif")
        named = PROGRAM[:start] + csv + PROGRAM[end:]
        metadata = '"data_offsets": [0, len(values)]}},\n "__metadata__": {{"class_names": "cat\\ndog\\nbird"}}}}).encode()'
        run = self.classifier(named.replace('"data_offsets": [0, len(values)]}}}}).encode()', metadata))
        for _ in range(2):  # also of predictions that were kept
            shown = self.page(Path(self.report(run, "--quern", "./quern")[0].strip()))
            self.assertIn("dog taken for bird: 2 of 3", shown)
            self.assertIn("| dog | bird (2) | 3 | 0.00 % |", (run / "report" / "report.md").read_text())
            self.assertIn("| dog | bird | 80.0 % |", (run / "report" / "report.md").read_text())
        (self.folder / "quern").write_text(named.replace('"checkpoint"', '"else"').format(python=sys.executable))
        shown = self.page(Path(self.report(run, "--quern", "./quern")[0].strip()))
        self.assertIn("1 taken for bird: 2 of 3", shown)
        self.assertIn("The classes that are never predicted have no names here: quern checkpoint says", shown)
        self.assertIn("with the newest checkpoint (", shown)

    def test_why_there_are_none(self):
        run = self.classifier()
        for program, why in (("absent", "there is no program 'absent'"), ("./quern", "quern predict says: ")):
            if program == "./quern":
                (self.folder / "quern").write_text("#!/bin/sh\necho 'quern: error: too bad' >&2\nexit 2\n")
            shown = self.page(Path(self.report(run, "--quern", program)[0].strip()))
            self.assertIn(why, shown)
        self.assertIn("too bad", shown)
        self.assertFalse(any((run / "report").glob("*.partial*")))
        (self.folder / "quern").write_text(PROGRAM.format(python=sys.executable).replace("index,class,label", "index,class"))
        self.assertIn("cannot read", self.page(Path(self.report(run, "--quern", "./quern")[0].strip())))
        (self.folder / "test").rmdir()
        self.assertIn("there is no folder test here", self.page(Path(self.report(run)[0].strip())))


if __name__ == "__main__":
    unittest.main(verbosity=2)
