# SPDX-License-Identifier: Apache-2.0
"""src/rooms.txt, read and drawn."""
import re
import textwrap

FILE = "src/rooms.txt"
WIDTH = 98


class Rooms:
    """The rooms in the file's order, from the bottom up: `arrows` as written, `meaning`, `vendors`,
    in `reach` all that a room may include, in `used` (vendor, place) met since. `mistakes` are sentences."""

    def __init__(self, text):
        self.arrows, self.meaning, self.vendors, self.mistakes = {}, {}, {}, []
        self.used = set()
        room = None
        for number, line in enumerate(text.splitlines(), 1):
            indented = line.startswith(" ")
            line = line.split("#")[0].strip()
            name, colon, targets = line.partition(":")
            if not line:
                continue
            if indented and room:
                self.meaning[room] = f"{self.meaning[room]} {line}".strip()
            elif not colon:
                self.mistakes.append(f"{FILE}:{number}: 'room: rooms' expected")
            elif name.startswith("vendor "):
                self.vendors[name.split()[1]] = targets.split()
            else:
                room = name
                self.arrows[room], self.meaning[room] = targets.split(), ""
        self.mistakes += [f"{FILE}: what room '{room}' is for is not said (in an indented line below it)"
                          for room, meaning in self.meaning.items() if not meaning]
        self.reach = {}
        for room in self.arrows:
            self._close(room, [])

    def _close(self, room, path):
        if room in path:
            self.mistakes.append(f"{FILE}: circle {' -> '.join(path + [room])}")
            return set()
        if room not in self.arrows:
            self.mistakes.append(f"{FILE}: '{path[-1]}' names an unknown room '{room}'")
            return set()
        if room not in self.reach:
            reach = {room}
            for target in self.arrows[room]:
                reach |= self._close(target, path + [room])
            self.reach[room] = reach
        return self.reach[room]

    def place_of_vendor(self, vendor, path):
        """The place named for the vendor in which a file (below src/) lies, or None: a folder, or the
        start of file names. It is remembered in `used`."""
        within = path.as_posix()
        for place in self.vendors.get(vendor, []):
            if within.startswith(place + "/") or ("/" in place and re.match(re.escape(place) + r"[._/]", within)):
                self.used.add((vendor, place))
                return place
        return None

    def drawing(self):
        """A room stands below the only one that names it; rooms that several name stand at the left,
        and in brackets behind each of these."""
        users = {room: [user for user, targets in self.arrows.items() if room in targets]
                 for room in self.arrows}
        rows = []  # (branches in front of the name, those of further lines, room, arrows not drawn)

        def add(room, front, below):
            children = [target for target in self.arrows[room] if len(users[target]) == 1]
            others = [target for target in self.arrows[room] if target not in children]
            rows.append((front, below + ("│" if children else ""), room, others))
            for child in children:
                last = child == children[-1]
                add(child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))

        for room in reversed(self.arrows):
            if len(users[room]) != 1:
                add(room, "", "")
        column = max(len(front) + len(room) for front, _, room, _ in rows) + 2
        lines = []
        for front, below, room, others in rows:
            text = self.meaning[room] + (f" [{', '.join(others)}]" if others else "")
            first, *rest = textwrap.wrap(text, WIDTH - column)
            lines.append(f"{front + room:{column}}{first}")
            lines += [f"{below:{column}}{line}" for line in rest]
        return "\n".join(lines) + "\n"
