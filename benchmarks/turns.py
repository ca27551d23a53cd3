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


def spread_of(times):
    """Mean and standard deviation."""
    return statistics.mean(times), statistics.stdev(times) if len(times) > 1 else 0.0


def write_figures(path, document):
    """Whole, or as it was."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    part.replace(path)
