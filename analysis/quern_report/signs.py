# SPDX-License-Identifier: Apache-2.0
"""Shapes that mark the curves of several runs. Some colours look alike to readers who do not tell red from green, and all
do in print without colours; a shape of its own tells each curve in these cases too."""

import math

SIZE = 4.6  # from the middle to a corner
MOST = 8  # signs of a long curve
EACH_UP_TO = 12  # points of a curve that has a sign at each


def polygon(corners, turn=0.0):
    angles = [2 * math.pi * (index + turn) / corners for index in range(corners)]
    return [(SIZE * math.sin(angle), -SIZE * math.cos(angle)) for angle in angles]


def cross(turn=0.0):
    arm = [(-0.3, -0.3), (-0.3, -1), (0.3, -1)]  # each arm is the one before it by a quarter further
    angles = [math.pi / 2 * (quarter + turn) for quarter in range(4)]
    return [(SIZE * (x * math.cos(a) - y * math.sin(a)), SIZE * (x * math.sin(a) + y * math.cos(a)))
            for a in angles for x, y in arm]


# By colour, from c1 on; without corners, a circle.
SHAPES = ([], polygon(4, 0.5), polygon(3), polygon(4), polygon(3, 0.5), cross(), cross(0.5))


def sign(x, y, colour):
    corners = SHAPES[colour - 1]
    if not corners:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{SIZE - 0.8:.1f}" class="dot c{colour}"/>'
    points = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)
    return f'<polygon points="{points}" class="dot c{colour}"/>'


def places(count, colour):
    """Which of so many points have signs: of long curves few, those of each colour a little further than those of the last,
    so that curves which lie on each other show theirs."""
    if count <= EACH_UP_TO:
        return list(range(count))
    return [int((index + colour / (len(SHAPES) + 1)) * count / MOST) for index in range(MOST)]
