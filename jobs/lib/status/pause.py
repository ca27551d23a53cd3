# SPDX-License-Identifier: Apache-2.0
"""How long --watch rests between two looks: Slurm's controller serves everybody."""

FIRST_S = 10
LAST_S = 60
GROWTH = 1.2


class Pause:
    """The same seconds each time if `every` is given; else longer and longer while nothing changes."""

    def __init__(self, every=None):
        self.every = every
        self.seconds = None
        self.seen = None

    def after(self, states):
        """Seconds to rest after a look that found these states."""
        if self.every is not None:
            return self.every
        if self.seconds is None or states != self.seen:
            self.seconds = FIRST_S
        else:
            self.seconds = min(LAST_S, self.seconds * GROWTH)
        self.seen = states
        return self.seconds
