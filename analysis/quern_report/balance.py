# SPDX-License-Identifier: Apache-2.0
"""Where the ranks' time went, and which of them the others wait for."""

import statistics

from . import forms, many_ranks, panels
from .blocks import Cell, Figure, Section, Table, Text
from .phases import MOST_BARS, PHASES, SLOW, WORK


def is_summarized(run):
    """Had the last epoch that tells more ranks than metrics.jsonl lists?"""
    times, summaries = run.rank_times(), run.rank_summaries()
    return bool(summaries) and (not times or summaries[-1][0] > times[-1][0])


def ranks_of(phases):
    return len(next(iter(phases.values())))


def of_last_ranks(times):
    """The epochs on as many ranks as the last one."""
    return [(epoch, phases) for epoch, phases in times if ranks_of(phases) == ranks_of(times[-1][1])]


def totals(times):
    """{phase: [seconds of each rank]} over epochs on the same ranks."""
    ranks, same = ranks_of(times[-1][1]), [phases for _, phases in times]
    names = [name for name in PHASES if name in same[-1]]
    return {name: [sum(phases.get(name, [0] * ranks)[rank] for phases in same)
                   for rank in range(ranks)] for name in names}


def work_of(phases, rank):
    return sum(phases[name][rank] for name in WORK if name in phases)


def waiting_share(run):
    """Of all ranks' time, whatever their number was; None when nothing tells."""
    if is_summarized(run):
        return many_ranks.waiting_share(run.rank_summaries())
    epochs = [phases for _, phases in run.rank_times()]
    whole = sum(sum(seconds) for phases in epochs for seconds in phases.values())
    return sum(sum(phases.get("waiting", [0])) for phases in epochs) / whole if whole > 0 else None


def bars(phases, hosts):
    ranks = ranks_of(phases)
    work = [work_of(phases, rank) for rank in range(ranks)]
    shown = list(range(ranks))
    if ranks > MOST_BARS:  # those that matter: the slowest, and as many of the quickest
        by_work = sorted(shown, key=lambda rank: -work[rank])
        shown = by_work[:MOST_BARS // 2] + by_work[-MOST_BARS // 2:]
    rows = [(f"rank {rank}", {name: seconds[rank] for name, seconds in phases.items()})
            for rank in shown]
    return panels.stacked_bars("Seconds of each rank by phase", rows,
                               [(name, style) for name, style in PHASES.items() if name in phases])


def strip(times):
    """Ranks by epochs: work against the median rank of that epoch."""
    ranks = ranks_of(times[-1][1])
    shares = [[None] * len(times) for _ in range(ranks)]
    hints = [[""] * len(times) for _ in range(ranks)]
    ratios = []
    for column, (_, phases) in enumerate(times):
        work = [work_of(phases, rank) for rank in range(ranks)]
        middle = statistics.median(work) or 1
        ratios.append([value / middle for value in work])
    highest = max(1.2, max(max(column) for column in ratios))
    for column, (epoch, _) in enumerate(times):
        for rank, ratio in enumerate(ratios[column]):
            shares[rank][column] = 0.08 + 0.92 * max(0, ratio - 0.9) / (highest - 0.9)
            hints[rank][column] = f"rank {rank}, epoch {epoch}: {ratio:.2f} of the median rank's work"
    return panels.heat_strip("Work of each rank in each epoch", [epoch for epoch, _ in times],
                             [f"rank {rank}" for rank in range(ranks)], shares, hints, "epoch")


def straggler_rows(phases, hosts):
    ranks = ranks_of(phases)
    work = [work_of(phases, rank) for rank in range(ranks)]
    middle, most = statistics.median(work) or 1, max(work) or 1
    rows = []
    for rank in range(ranks):
        whole = sum(seconds[rank] for seconds in phases.values()) or 1
        ratio = work[rank] / middle
        rows.append([str(rank), hosts[rank] if rank < len(hosts) else forms.NONE,
                     *(Cell(forms.seconds(phases[name][rank]), order=phases[name][rank])
                       for name in phases),
                     Cell(forms.percent(phases.get("waiting", [0] * ranks)[rank] / whole, 1),
                          order=phases.get("waiting", [0] * ranks)[rank] / whole),
                     Cell(f"{ratio:.2f}", order=ratio, share=work[rank] / most,
                          style="bad" if ratio >= SLOW else "")])
    return rows


def verdict(phases, hosts):
    ranks = ranks_of(phases)
    work = [work_of(phases, rank) for rank in range(ranks)]
    waiting = phases.get("waiting", [0] * ranks)
    whole = sum(sum(seconds) for seconds in phases.values()) or 1
    if ranks == 1:
        return "On one rank nobody waits."
    slowest = max(range(ranks), key=lambda rank: work[rank])
    ratio = work[slowest] / (statistics.median(work) or 1)
    text = (f"The ranks wait {forms.percent(sum(waiting) / whole, 1)} of their time for each other. What "
            f"even the rank waits that waits least ({forms.percent(min(waiting) / (whole / ranks), 1)}) is "
            "no matter of balance: it exchanges gradients, or shares its cores with others.")
    if ratio >= SLOW:
        where = f" on {hosts[slowest]}" if slowest < len(hosts) else ""
        return f"{text} Rank {slowest}{where} has {ratio:.2f} times the median rank's work: a straggler."
    return f"{text} No rank works {forms.percent(SLOW - 1, 0)} longer than the median rank."


def section_of(run):
    if is_summarized(run):
        return many_ranks.section_of(run)
    times = run.rank_times()
    if not times:
        return Section("Where the time went", [Text(
            "metrics.jsonl has no rank_times_s: the run has no complete epoch, was trained on devices, "
            "or by an earlier Quern.", True)])
    same = of_last_ranks(times)
    phases, hosts = totals(same), run.hosts
    ranks = ranks_of(phases)
    which = ("the epochs" if len(same) == len(times) else
             f"epochs {forms.spans([epoch for epoch, _ in same])}, those on {forms.plural(ranks, 'rank')}")
    hidden = f" The {MOST_BARS // 2} slowest and quickest of {ranks} ranks." if ranks > MOST_BARS else ""
    blocks = [Text(verdict(phases, hosts)),
              Figure("time-by-rank", bars(phases, hosts), "Time of each rank by phase",
                     f"Sums over {which}, without evaluation. Waiting is taken out of the phases in "
                     f"which it happens.{hidden}", wide=True)]
    if ranks > 1:
        blocks.append(Figure("work-by-rank", strip(same), "Work of each rank, epoch by epoch",
                             "Strong colour: more work than the median rank of that epoch. A row of it is a "
                             "slow node, a cell a moment.", wide=True))
    blocks.append(Table(["rank", "host", *phases, "waits", "work / median"],
                        straggler_rows(phases, hosts), left=2))
    return Section("Where the time went", blocks)
