# SPDX-License-Identifier: Apache-2.0
"""An sbatch script as Slurm and bash see it: directives, commands, and where they stand."""

import collections
import os
import re

from . import options as known
from .commands import Reader, words_of
from .values import gpus_of_gres, last_number, number_of, seconds_of

Finding = collections.namedtuple("Finding", "line name text why fix")
# number: of the line. words: as Slurm splits them. quote: the one that is not closed, or "".
Directive = collections.namedtuple("Directive", "number text words quote")
# before: the option in front of it, or None.
Stray = collections.namedtuple("Stray", "directive word before")

SHELLS = ("sh", "ash", "bash", "dash", "ksh", "ksh93", "mksh", "rbash", "zsh")  # whose language is read
LAUNCHERS = {"srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "prterun", "jsrun", "ibrun", "aprun",
             "torchrun", "accelerate", "deepspeed"}
MPI_LAUNCHERS = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "prterun"}
# What one starts to look around, to copy, to prepare: not the work of the job.
HELPERS = {"hostname", "echo", "printf", "nvidia-smi", "rocm-smi", "env", "printenv", "date", "uname", "lscpu", "nproc",
           "numactl", "true", "id", "sleep", "mkdir", "cp", "rsync", "tar", "rm", "df", "ls", "cat", "lstopo", "taskset",
           "sbcast", "ulimit", "uptime", "free", "chmod", "mv", "dd", "which", "pwd", "test", "touch", "ip"}


def interpreter_of(line):
    """The name of the program in "#!/usr/bin/env -S tcsh -f"; None without one."""
    words = re.sub(r"^#!\s*", "", line.rstrip("\r")).split() if line.startswith("#!") else []
    while words and (os.path.basename(words[0]) == "env" or words[0].startswith("-")):
        words.pop(0)
    return os.path.basename(words[0]) if words else None


class Part:
    """The options of a job, or of one component of a heterogeneous one; the last of several counts."""

    def __init__(self):
        self.all = []

    def option(self, *names):
        """The first of these options that is there, or None."""
        for name in names:
            for option in reversed(self.all):
                if "--" + option.name == name:
                    return option
        return None

    def value(self, *names):
        found = self.option(*names)
        return found.value if found else ""

    def count(self, *names):
        """The option as a number; None when it is absent or no plain number."""
        return number_of(self.value(*names))

    def nodes(self):
        return self.count("--nodes") or 1

    def tasks_per_node(self):
        """None when the script does not say."""
        tasks = self.count("--ntasks")
        per_node = self.count("--ntasks-per-node")
        if per_node:
            return min(per_node, tasks) if tasks and self.nodes() == 1 else per_node
        return -(-tasks // self.nodes()) if tasks else None

    def tasks(self):
        return self.count("--ntasks") or (self.tasks_per_node() or 1) * self.nodes()

    def gpus_per_node(self):
        per_node = self.value("--gpus-per-node")
        if per_node:
            return last_number(per_node)
        gres = gpus_of_gres(self.value("--gres"))
        if gres:
            return gres
        gpus = last_number(self.value("--gpus"))
        if gpus:
            return -(-gpus // self.nodes())
        per_task = last_number(self.value("--gpus-per-task"))
        return per_task * (self.tasks_per_node() or 1) if per_task else None

    def seconds(self):
        return seconds_of(self.value("--time"))


class Launch:
    """A command that starts processes: its own options, and what it runs."""

    def __init__(self, command):
        self.command, self.line, self.launcher = command, command.line, command.name
        arguments = command.arguments[1:]
        if self.launcher == "srun":
            # "srun ... : ..." starts several programs; the first one's options are looked at.
            self.several = ":" in arguments
            found, self.program = known.parse(arguments, command.line, step=True)
            self.part = Part()
            self.part.all = found
        else:
            self.several = ":" in arguments
            self.part = Part()
            self.program = arguments
        self.helper = self._is_helper()

    def _is_helper(self):
        rest = list(self.program)
        if self.launcher in MPI_LAUNCHERS:
            while rest and rest[0].startswith("-"):
                rest.pop(0)
                while rest and re.match(r"[\d:,=]+$|ppr:", rest[0]):
                    rest.pop(0)
        if rest and rest[0] in ("bash", "sh") and len(rest) > 2 and rest[1] in ("-c", "-lc"):
            inside = Reader(rest[2]).commands
            return bool(inside) and all(one.name in HELPERS for one in inside)
        return bool(rest) and rest[0].rsplit("/", 1)[-1] in HELPERS


class Script:
    def __init__(self, text, folder="."):
        self.text = text
        self.folder = folder  # where the file lies
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.interpreter = interpreter_of(self.lines[0])
        self.foreign = self.interpreter is not None and self.interpreter not in SHELLS
        self.allowed = set(re.findall(r"^# lint: allow ([\w-]+)", text, re.MULTILINE))
        self.directives = []
        self.late = []  # the same, behind the first command: Slurm does not read them
        self.stray = []  # words in them that are neither options nor values
        self.parts = [Part()]
        reader = self._reader()
        self.commands, self.open, self.document_lines = reader.commands, reader.open, reader.document_lines
        self._resolve_variables()
        self._read_directives()
        self.launches = [Launch(command) for command in self.commands if command.name in LAUNCHERS]

    def _reader(self):
        if self.foreign:
            return Reader("")
        try:
            return Reader("\n".join(self.lines))
        except RecursionError:  # thousands of parentheses: no script that anybody wrote
            return Reader("")

    def _read_directives(self):
        self.first = min([command.line for command in self.commands]
                         or [self._first_line() if self.foreign else len(self.lines) + 1])
        for number, line in enumerate(self.lines, 1):
            found = re.match(r"#SBATCH(?=[\s-]|$)(.*)", line)
            if not found or number in self.document_lines:
                continue
            text = found.group(1).strip(" \t\r")  # and no blanks that Slurm does not know
            directive = Directive(number, text, *known.split_line(text))
            if number > self.first:
                self.late.append(directive)
            elif directive.words[:1] in (["hetjob"], ["packjob"]):
                self.parts.append(Part())
            else:
                self.directives.append(directive)
                self._read_options(directive)

    def _first_line(self):
        """That is no comment, in whatever language."""
        return min([number for number, line in enumerate(self.lines, 1) if line.strip() and not line.startswith("#")]
                   or [len(self.lines) + 1])

    def _read_options(self, directive):
        rest = directive.words
        while rest:
            found, rest = known.parse(rest, directive.number)
            self.parts[-1].all += found
            if rest:
                before = found[-1] if found else None
                self.stray.append(Stray(directive, rest[0], before))
                rest = rest[1:]

    def _resolve_variables(self):
        """Commands that begin with a variable of this script: launch=(srun ...); "${launch[@]}" program."""
        values = {}
        for command in self.commands:
            for word in command.assigned:
                found = re.match(r"(\w+)(\+?)=(.*)", word.raw, re.DOTALL)
                if not found:
                    continue
                name, more, raw = found.groups()
                if raw.startswith("("):
                    new = [one.text for one in words_of(raw[1:-1], word.line)]
                else:
                    new = word.text.partition("=")[2].split()
                values[name] = (values.get(name, []) if more else []) + new
            found = re.match(r"\$\{?(\w+)(\[[@*]\])?\}?$", command.program)
            if found and values.get(found.group(1)):
                command.set_arguments(values[found.group(1)] + command.arguments[1:])

    # The first component's: that of the batch script itself.
    def option(self, *names):
        return self.parts[0].option(*names)

    def value(self, *names):
        return self.parts[0].value(*names)

    def count(self, *names):
        return self.parts[0].count(*names)

    def tasks(self):
        return self.parts[0].tasks()

    def tasks_per_node(self):
        return self.parts[0].tasks_per_node()

    def gpus_per_node(self):
        return self.parts[0].gpus_per_node()

    def seconds(self):
        return self.parts[0].seconds()

    def line_of(self, *names):
        found = self.option(*names)
        if found:
            return found.line
        return self.directives[0].number if self.directives else 1

    def is_array(self):
        return self.option("--array") is not None

    def is_heterogeneous(self):
        return len(self.parts) > 1

    def work(self):
        """What starts the work of the job: launches that are no helpers and whose output is not a value."""
        return [launch for launch in self.launches
                if not launch.helper and not launch.command.within("substitution")]

    def named(self, *names):
        """Commands that run one of these programs."""
        return [command for command in self.commands if command.name in names]

    def find(self, pattern):
        """Commands whose text matches."""
        return [command for command in self.commands if re.search(pattern, command.text)]

    def exported(self, name):
        """Is the variable set here?"""
        return any(re.match(name + r"\+?=", word.text)
                   for command in self.commands for word in command.words)

    def has_folder(self, name):
        """Does a folder exist where the job would be submitted: here, or beside the file?"""
        return any(os.path.isdir(os.path.join(start, name)) for start in (".", self.folder))
