# SPDX-License-Identifier: Apache-2.0
"""Several contenders, timed in turn and again and again: what is told meanwhile, and what stays of half a run."""

import contextlib
import json
import signal
import statistics
import sys


@contextlib.contextmanager
def terminated_like_interrupted():
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does."""
    def interrupt(_signal, _frame):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def tell(text):
    print(text, file=sys.stderr, flush=True)


def take_turns(contenders, repeats, after_repeat):
    """Calls measure() of all, which appends to their `times`, in another order in each repeat, and then
    after_repeat(how many are done). Says on standard error what is measured, and each repeat's times.
    Returns how many repeats are whole, fewer where somebody interrupts; the times are of these alone."""
    done = 0
    try:
        with terminated_like_interrupted():
            for number in range(repeats):
                first = number % len(contenders)
                for contender in contenders[first:] + contenders[:first]:
                    contender.measure()
                    tell(f"repeat {number + 1} of {repeats}: {contender.name}: {1e3 * contender.times[-1]:.2f} ms")
                done = number + 1
                after_repeat(done)
    except KeyboardInterrupt:
        tell(f"interrupted: {done} of {repeats} repeats are whole")
    for contender in contenders:
        del contender.times[done:]
    return done


def compare_in_turns(arguments, contenders, summaries, show):
    """Exit status: 1 if not all repeats are whole. `summaries()` gives the rows of --json, which is written after each
    repeat; what is left of an interrupted run is shown by `show(rows, how many repeats)`."""
    def rows_of(repeats):
        rows = summaries()
        if arguments.json:
            write_figures(arguments.json, {"batch": arguments.batch, "repeats": repeats,
                                           "launcher": arguments.launcher, "results": rows})
        return rows

    repeats = take_turns(contenders, arguments.repeats, rows_of)
    if repeats > 0:
        show(rows_of(repeats), repeats)
    return 0 if repeats == arguments.repeats else 1


def spread_of(times):
    """Mean and standard deviation."""
    return statistics.mean(times), statistics.stdev(times) if len(times) > 1 else 0.0


def write_figures(path, document):
    """Whole, or as it was."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    part.replace(path)
