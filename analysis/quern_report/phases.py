# SPDX-License-Identifier: Apache-2.0
"""The phases that metrics.jsonl divides the ranks' time into."""

# phase: class of its bar
PHASES = {"data": "c4", "forward": "c6", "backward": "c1", "reduction": "c3", "update": "c5",
          "waiting": "wait", "other": "idle"}
WORK = ("data", "forward", "backward", "reduction", "update")
MOST_BARS = 16
SLOW = 1.05  # of the median work: a straggler
