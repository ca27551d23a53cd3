# SPDX-License-Identifier: Apache-2.0
"""An sbatch script as Slurm and bash see it: directives, commands, and where they stand."""

import collections
import re

Finding = collections.namedtuple("Finding", "line name text why fix")
Option = collections.namedtuple("Option", "line value")
Command = collections.namedtuple("Command", "line text")

SHORT = {"-A": "--account", "-a": "--array", "-c": "--cpus-per-task", "-C": "--constraint",
         "-d": "--dependency", "-e": "--error", "-G": "--gpus", "-J": "--job-name",
         "-N": "--nodes", "-n": "--ntasks", "-o": "--output", "-p": "--partition", "-q": "--qos",
         "-t": "--time"}
FLAGS = {"--requeue", "--no-requeue", "--exclusive", "--overcommit", "--parsable", "--contiguous"}


class Script:
    def __init__(self, text):
        self.text = text
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.allowed = set(re.findall(r"^# lint: allow ([\w-]+)", text, re.MULTILINE))
        self.options = {}
        self.directives = []  # (line number, text behind #SBATCH)
        self.late = []  # the same, behind the first command: Slurm does not read them
        self.commands = []
        self._read()

    def _read(self):
        body = pending = ""
        start = 0
        for number, line in enumerate(self.lines, 1):
            stripped = line.strip()
            if line.startswith("#SBATCH"):
                rest = line[len("#SBATCH"):].strip()
                if body:
                    self.late.append((number, rest))
                else:
                    self.directives.append((number, rest))
                    self._options(number, rest)
                continue
            if not stripped or (stripped.startswith("#") and not pending):
                continue
            body = "yes"
            start = start or number
            if stripped.endswith("\\"):
                pending += stripped[:-1] + " "
                continue
            self.commands.append(Command(start, pending + stripped))
            pending, start = "", 0
        if pending:
            self.commands.append(Command(start, pending))

    def _options(self, number, rest):
        words = re.sub(r"\s#.*$", "", rest).split()
        while words:
            word = words.pop(0)
            short = re.match(r"(-[A-Za-z])(.*)$", word)
            if word.startswith("--"):
                name, _, value = word.partition("=")
                if "=" not in word and name not in FLAGS and words and not words[0].startswith("-"):
                    value = words.pop(0)
            elif short:
                name = SHORT.get(short.group(1), short.group(1))
                value = short.group(2).lstrip("=")
                if not value and words and not words[0].startswith("-"):
                    value = words.pop(0)
            else:
                continue
            self.options[name] = Option(number, value.strip("\"'"))

    def option(self, *names):
        """The first of these options that is there, or None."""
        for name in names:
            if name in self.options:
                return self.options[name]
        return None

    def value(self, *names):
        found = self.option(*names)
        return found.value if found else ""

    def count(self, *names):
        """The option as a number; None when it is absent or no plain number."""
        value = self.value(*names)
        return int(value) if value.isdigit() else None

    def line_of(self, *names):
        found = self.option(*names)
        if found:
            return found.line
        return self.directives[0][0] if self.directives else 1

    def nodes(self):
        return self.count("--nodes") or 1

    def tasks_per_node(self):
        per_node = self.count("--ntasks-per-node")
        if per_node:
            return per_node
        tasks = self.count("--ntasks")
        return -(-tasks // self.nodes()) if tasks else None

    def tasks(self):
        return self.count("--ntasks") or (self.tasks_per_node() or 1) * self.nodes()

    def gpus_per_node(self):
        per_node = self.value("--gpus-per-node")
        if per_node:
            return _last_number(per_node)
        found = re.search(r"gpu(?::[\w.-]+)*", self.value("--gres"))
        if found:
            return _last_number(found.group()) or 1
        gpus = self.value("--gpus")
        if gpus and _last_number(gpus):
            return -(-_last_number(gpus) // self.nodes())
        per_task = self.value("--gpus-per-task")
        if per_task and _last_number(per_task):
            return _last_number(per_task) * (self.tasks_per_node() or 1)
        return None

    def is_array(self):
        return "--array" in self.options

    def find(self, pattern):
        """Commands that match."""
        return [command for command in self.commands if re.search(pattern, command.text)]

    def seconds(self):
        return seconds_of(self.value("--time"))


def _last_number(text):
    found = re.search(r"(?:^|:)(\d+)$", text)
    return int(found.group(1)) if found else None


def seconds_of(time):
    """Seconds of a time of Slurm's; None for what is none."""
    found = re.match(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$", time)
    if not found:
        return None
    days, first, second, third = (int(part) if part else None for part in found.groups())
    if days is not None:
        return ((days * 24 + first) * 60 + (second or 0)) * 60 + (third or 0)
    if second is None:
        return first * 60
    if third is None:
        return first * 60 + second
    return (first * 60 + second) * 60 + third
