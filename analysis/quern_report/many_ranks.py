# SPDX-License-Identifier: Apache-2.0
"""Where the time of very many ranks went: metrics.jsonl has a summary of them in place of each rank's."""

import collections
import statistics

from . import forms, panels
from .blocks import Cell, Figure, Section, Table, Text
from .phases import MOST_BARS, PHASES, SLOW


def means(summaries):
    """{phase: mean seconds of a rank} over the epochs."""
    return {name: sum(phases[name]["mean"] for _, phases in summaries if name in phases)
            for name in PHASES if name in summaries[-1][1]}


def waiting_share(summaries):
    """Of all ranks' time; None when nothing tells."""
    phases = means(summaries)
    whole = sum(phases.values())
    return phases.get("waiting", 0) / whole if whole > 0 else None


def on_host(rank, hosts):
    return f" on {hosts[rank]}" if rank < len(hosts) else ""


def verdict(summaries, hosts):
    text = f"The ranks wait {forms.percent(waiting_share(summaries), 1)} of their time for each other."
    work = [phases["work"] for _, phases in summaries if "work" in phases]
    if not work:
        return text
    ratio = statistics.median(of["max"] / (of["median"] or 1) for of in work)
    if ratio < SLOW:
        return f"{text} No rank works {forms.percent(SLOW - 1, 0)} longer than the median rank."
    (rank, epochs), = collections.Counter(of["rank_of_max"] for of in work).most_common(1)
    text = f"{text} The slowest rank of an epoch has {ratio:.2f} times the median rank's work."
    if 2 * epochs > len(work):
        return f"{text} In {epochs} of {len(work)} it is rank {rank}{on_host(rank, hosts)}: a straggler."
    return f"{text} It is not often the same one."


def bars(summaries):
    rows = [(f"epoch {epoch}", {name: phases[name]["mean"] for name in PHASES if name in phases})
            for epoch, phases in summaries[-MOST_BARS:]]
    return panels.stacked_bars("Mean seconds of the ranks by phase", rows, list(PHASES.items()))


def table(epoch, phases, hosts):
    def cells(of, kind):
        rank = of[f"rank_of_{kind}"]
        return [Cell(forms.seconds(of[kind]), order=of[kind]), Cell(f"{rank}{on_host(rank, hosts)}", order=rank)]

    rows = [[name, *cells(of, "min"), *(Cell(forms.seconds(of[key]), order=of[key]) for key in ("median", "mean")),
             *cells(of, "max")]
            for name, of in ((name, phases[name]) for name in (*PHASES, "work") if name in phases)]
    return Table([f"epoch {epoch}", "least", "of rank", "median", "mean", "most", "of rank"], rows,
                 caption="Work is all but waiting and other.")


def section_of(run):
    summaries, hosts = run.rank_summaries(), run.hosts
    epoch, phases = summaries[-1]
    return Section("Where the time went", [
        Text(verdict(summaries, hosts)),
        Figure("time-by-epoch", bars(summaries), "Mean time of a rank by phase",
               "Without evaluation. Waiting is taken out of the phases in which it happens.", wide=True),
        table(epoch, phases, hosts),
        Text("Of so many ranks metrics.jsonl has a summary of each epoch, not the times of each rank.", True)])
