# SPDX-License-Identifier: Apache-2.0
"""Pages about training runs: HTML that needs nothing else to be read, and the same as Markdown.

  report RUN...           curves, time of the ranks, predictions, checkpoints, provenance
  report compare RUN...   several runs side by side
  report sweep FOLDER     which settings led to what: a table and a heat map (of jobs/submit SITE sweep)
  report sweep RUN...     the same of runs anywhere
  report scaling FOLDER   speed-up and efficiency of a scaling study (jobs/submit SITE scaling)
  report scaling RUN...   the same of runs on different numbers of ranks
"""

import argparse
import difflib
import os
import re
import sys
from pathlib import Path

from . import (answers, balance, compare, differences, forms, history, learning, markdown, page,
               provenance, scaling, sweep)
from .blocks import Report, Section
from .runlog import NotBegun, RunError, read_run

LONG_TITLE = 70  # characters of the names of several runs
COMMANDS = ("report", "compare", "sweep", "scaling")


def run_sections(run, options, out):
    return [*learning.sections_of(run), balance.section_of(run),
            *answers.prediction_sections(run, options.quern, out), answers.filter_section(run, options.quern),
            history.section_of(run), provenance.section_of(run)]


def epochs_text(run):
    """How many of the recipe's epochs there are, and what is to be known where these are not all."""
    done, train = len(run.rows()), run.recipe.get("train", {})
    asked = train.get("epochs")
    asked = asked if isinstance(asked, int) else None
    if run.done:
        is_whole = asked in (None, done)
        end = "" if is_whole or not train.get("patience") else ", ended by train.patience;"
    else:
        is_whole = asked is None
        end = f", {run.state};"
    if not done:
        return ("no complete epoch" if is_whole else f"no complete epoch of {asked}") + end
    return (forms.plural(done, "epoch") if is_whole else f"{forms.count(done)} of {forms.plural(asked, 'epoch')}") + end


def run_subtitle(run):
    data = run.recipe.get("data", {}).get("train", "")
    parts = [epochs_text(run)]
    if run.ranks:
        parts.append(f"on {', then '.join(map(str, run.ranks))} rank{'s' if run.ranks != [1] else ''}")
    if run.ranks and run.hosts:
        hosts = list(dict.fromkeys(run.hosts))
        parts.append(f"of {hosts[0] if len(hosts) == 1 else forms.plural(len(hosts), 'host')}")
    if data:
        parts.append(f"on {data}")
    return " ".join(parts).rstrip(";").replace(" on 1 rank ", " on one rank ") + "."


def badge_of(run):
    return (run.state, {"finished": "good", "not finished": "open"}.get(run.state, "bad"))


def title_of(labels):
    joined = ", ".join(labels)
    return joined if len(joined) <= LONG_TITLE else forms.plural(len(labels), "run")


def report_of(runs, options, out):
    if len(runs) == 1:
        run = runs[0]
        return Report(run.name, "Training report", run_subtitle(run), run_sections(run, options, out),
                      badge_of(run))
    labels = differences.labels_of(runs)
    report = Report(title_of(labels), "Training reports", forms.plural(len(runs), "run") + ".",
                    compare.sections_of(runs))
    folders = []
    for run, label in zip(runs, labels):
        folders.append(forms.unlike(label.replace("/", "-"), folders))
        folder = out / folders[-1]
        folder.mkdir(parents=True, exist_ok=True)
        first, *rest = run_sections(run, options, folder)
        report.sections.append(Section(label, first.blocks))
        for section in rest:
            for block in section.blocks:
                if hasattr(block, "name"):
                    block.name = f"{folder.name}-{block.name}"
            report.sections.append(Section(section.title, section.blocks, level=3))
    return report


def compare_of(runs, _options, _out):
    if len(runs) < 2:
        raise RunError("compare expects at least two runs")
    return Report(title_of(differences.labels_of(runs)), "Comparison",
                  "The same figures of each run, and what their recipes differ in.", compare.sections_of(runs))


def sweep_of(runs, options, _out):
    if len(options.runs) < 2:
        raise RunError("sweep expects at least two runs")
    settings = differences.Settings(runs)
    differing = forms.listed(settings.keys, sweep.MOST_NAMED) or "nothing"
    text = f"{len(runs)} runs that differ in {differing}." if len(runs) > 1 else "1 run."
    if options.not_begun:
        text += f" {forms.plural(len(options.not_begun), 'trial has', 'trials have')} not begun."
    return Report(runs[0].name if len({run.name for run in runs}) == 1 else "Sweep", "Sweep", text,
                  sweep.sections_of(runs, settings, options.by, options.not_begun))


MAKERS = {"report": report_of, "compare": compare_of, "sweep": sweep_of}


def write(report, folder, stem):
    """Returns the path of the page. Files appear when they are complete."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{stem}.html"
    markdown.write(report, folder / f"{stem}.md")
    partial = folder / f".{stem}.html.{os.getpid()}"
    try:
        page.write(report, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def make_scaling(options):
    folder = options.runs[0]
    if len(options.runs) > 1 or (folder / "recipe.toml").exists():
        found = scaling.points_of_runs([read_run(path) for path in options.runs])
        plan = scaling.read_plan(options.plan, found, "ranks") if options.plan else ()
        out, sections = options.out or Path("scaling"), scaling.run_sections(found, plan)
    else:
        found, others = scaling.read_study(folder, options.study)
        expected = [int(count) for count in options.expect.replace(",", " ").split()]
        plan = scaling.read_plan(options.plan, found, "nodes") if options.plan else ()
        out, sections = options.out or folder, scaling.study_sections(
            found, scaling.remarks(found, others, expected), plan)
    report = Report(f"Scaling of {found[0]['workload']}", "Scaling study", "", sections)
    path = write(report, out, "scaling")
    scaling.write_csv(found, out / "scaling.csv")
    print(markdown.text_of(report))
    return path


def with_trials(folder):
    """The trials of a sweep in its folder, in the order of their numbers; anything else stands for itself."""
    trials = [] if (folder / "recipe.toml").exists() else [
        path for path in folder.glob("trial-*") if re.fullmatch(r"trial-\d{1,9}", path.name) and path.is_dir()]
    return sorted(trials, key=lambda path: int(path.name[6:])) or [folder]


def read_runs(options):
    """The runs. Of a sweep, trials that have not begun are named in `options.not_begun`; other pages refuse them."""
    runs, options.not_begun = [], []
    if options.command == "sweep":
        options.runs = [run for folder in options.runs for run in with_trials(folder)]
    for folder in options.runs:
        try:
            runs.append(read_run(folder))
        except NotBegun:
            if options.command != "sweep":
                raise
            options.not_begun.append(str(folder))
    if not runs:
        raise RunError(f"none of the runs has begun: {options.runs[0]} has no recipe.toml or metrics.jsonl")
    return runs


def make_pages(options):
    if options.command == "scaling":
        return make_scaling(options)
    runs = read_runs(options)
    out = options.out
    if out is None:
        out = options.runs[0] / "report" if options.command == "report" and len(runs) == 1 else Path(
            options.command)
    out.mkdir(parents=True, exist_ok=True)
    return write(MAKERS[options.command](runs, options, out), out, options.command)


def parse(words):
    command, words = (words[0], words[1:]) if words and words[0] in COMMANDS else ("report", words)
    near = difflib.get_close_matches(words[0].lower(), COMMANDS, 1) if words and command == "report" else []
    if near and not Path(words[0]).exists():
        raise RunError(f"there is no command or run '{words[0]}' (did you mean '{near[0]}'?)")
    parser = argparse.ArgumentParser(prog="report" if command == "report" else f"report {command}",
                                     description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN",
                        help="run folder of quern train" + (", or one folder of a scaling study"
                                                            if command == "scaling" else
                                                            ", or the folder of a sweep, for its trials"
                                                            if command == "sweep" else ""))
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="where the page goes (default: RUN/report of one run, else "
                             f"./{command}" + ("; of a study, its folder)" if command == "scaling" else ")"))
    if command == "report":
        parser.add_argument("--quern", default="", metavar="PROGRAM",
                            help="the program that predictions and filters are asked from (default: "
                                 "$QUERN, the build's, the one in the path)")
    if command == "sweep":
        parser.add_argument("--by", nargs="+", default=[], metavar="KEY",
                            help="settings that make columns and rows of the map (default: the two that "
                                 "vary most)")
    if command == "scaling":
        parser.add_argument("--study", default="", help="the study whose points count (job/study.txt)")
        parser.add_argument("--expect", default="", metavar="N,N...", help="node counts that were asked for")
        parser.add_argument("--plan", type=Path, metavar="FILE",
                            help="what quern plan --json predicted, to be drawn beside the measurements")
    options = parser.parse_args(words)
    options.command = command
    return options


def main(words=None):
    try:
        print(make_pages(parse(sys.argv[1:] if words is None else words)))
    except RunError as error:
        print(f"report: error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"report: error: cannot write the report: {error}", file=sys.stderr)
        return 2
    return 0
