# SPDX-License-Identifier: Apache-2.0
"""What #SBATCH lines get wrong. Each rule takes a Script and yields Findings."""

import re

from .script import Finding

SHORTEST_LEAD_S = 120


def not_expanded(script):
    for number, text in script.directives:
        found = re.search(r"\$\{?\w+\}?|`|\$\(", text)
        if found:
            yield Finding(number, "variable-in-directive", "'{}' is not expanded".format(found.group()),
                          "to the shell an #SBATCH line is a comment, and Slurm knows no variables",
                          "write the value, use %j, %x, %u, or give it to sbatch: sbatch --name=\"$VALUE\"")


def not_read(script):
    for number, text in script.late:
        yield Finding(number, "directive-after-command", "'#SBATCH {}' is not read".format(text),
                      "Slurm stops reading at the first command",
                      "move it up, before line {}".format(script.commands[0].line))
    for number, line in enumerate(script.lines, 1):
        if re.match(r"\s+#SBATCH|#\s+SBATCH\s+-", line):
            yield Finding(number, "not-a-directive", "this line is a comment",
                          "only lines that begin with #SBATCH are read", "write #SBATCH at the line's start")


def first_line(script):
    if not script.lines[0].startswith("#!"):
        yield Finding(1, "no-interpreter", "the first line names no shell",
                      "sbatch refuses a script without it", "#!/bin/bash")
    if "\r" in script.text:
        yield Finding(1, "windows-line-ends", "the lines end in CR LF",
                      "the shell's name and every option then end in an invisible character",
                      "sed -i 's/\\r$//' FILE")


def tasks_and_gpus(script):
    gpus, tasks = script.gpus_per_node(), script.tasks_per_node()
    line = script.line_of("--gpus-per-node", "--gres", "--gpus", "--gpus-per-task")
    launches_itself = script.find(r"\b(torchrun|torch\.distributed|accelerate launch|deepspeed)\b")
    if not gpus:
        return
    if launches_itself and tasks and tasks > 1:
        yield Finding(launches_itself[0].line, "tasks-and-gpus",
                      "a launcher that starts a process for each GPU, {} times a node".format(tasks),
                      "it would start {} processes on {} GPUs".format(tasks * gpus, gpus),
                      "--ntasks-per-node=1, or srun without that launcher")
    elif tasks and tasks > gpus:
        yield Finding(line, "tasks-and-gpus", "{} tasks share {} GPUs on a node".format(tasks, gpus),
                      "ranks on the same device take turns, and NCCL refuses them",
                      "--ntasks-per-node={}".format(gpus))
    elif (tasks or 1) < gpus and not launches_itself:
        yield Finding(line, "tasks-and-gpus",
                      "{} GPUs, but {} task(s) on a node".format(gpus, tasks or 1),
                      "with one rank for each GPU the others idle, and are paid for",
                      "--ntasks-per-node={}".format(gpus))


def hidden_peers(script):
    for name in ("--gpus-per-task", "--gpu-bind"):
        found = script.option(name)
        if found and not (name == "--gpu-bind" and found.value == "none"):
            yield _hidden(found.line, name)
    for command in script.find(r"\bsrun\b.*--(gpus-per-task|gpu-bind=(?!none))"):
        yield _hidden(command.line, "--gpus-per-task or --gpu-bind")


def _hidden(line, name):
    return Finding(line, "hidden-gpus", name + " shows each rank its own GPU only",
                   "direct copies between the GPUs of a node fail or take a detour through the host",
                   "--gpus-per-node=N --gpu-bind=none; the program picks by its rank on the node")


def cores(script):
    tasks = script.tasks_per_node() or 1
    if script.option("--cpus-per-task", "--cpus-per-gpu", "--exclusive"):
        return
    if script.gpus_per_node() or tasks > 1:
        yield Finding(script.line_of("--ntasks-per-node", "--ntasks"), "no-cores",
                      "no --cpus-per-task", "each rank gets one core, for reading data, too",
                      "--cpus-per-task=<cores of a node / ranks of a node>")


def time_limit(script):
    if not script.option("--time"):
        yield Finding(script.line_of(), "no-time", "no --time",
                      "the partition's default may be minutes, or its maximum, which waits long",
                      "--time=HH:MM:SS")


def signal(script):
    found = script.option("--signal")
    if not found:
        if script.option("--time"):
            yield Finding(script.line_of("--time"), "no-signal", "no --signal",
                          "at the time limit the program is killed: the work since the last checkpoint is lost",
                          "--signal=USR1@300, and a program that writes a checkpoint on SIGUSR1")
        return
    match = re.match(r"([A-Z]*:)?(?:SIG)?(\w+)(?:@(\d+))?$", found.value)
    if not match:
        return
    lead, seconds = int(match.group(3) or 60), script.seconds()
    if lead < SHORTEST_LEAD_S:
        yield Finding(found.line, "short-signal", "the signal comes {} s before the end".format(lead),
                      "Slurm looks every 30 to 60 s: of {} s little may be left to write a "
                      "checkpoint".format(lead),
                      "60 s + twice the time of a checkpoint, at least @{}".format(SHORTEST_LEAD_S))
    if seconds and lead * 2 > seconds:
        yield Finding(found.line, "signal-and-time",
                      "the signal comes {} s before the end of {} s".format(lead, seconds),
                      "more of the job is spent on stopping than on work", "a longer --time")
    if "B" in (match.group(1) or "") and not script.find(r"\btrap\b"):
        yield Finding(found.line, "signal-not-forwarded", "B: sends the signal to the batch shell only",
                      "the shell has no trap for it and dies, and the ranks never hear of it",
                      "--signal={}@{} without B:; it then goes to the ranks".format(match.group(2), lead))


def requeue(script):
    signalled = script.option("--signal")
    asks = script.option("--requeue") or script.find(r"scontrol\s+requeue|scontrol\b.*\brequeue\b")
    if signalled and not script.find(r"scontrol\s+(requeue|\S+\s+requeue)|sbatch\b"):
        yield Finding(signalled.line, "no-requeue", "stops early, but nothing starts it again",
                      "Slurm requeues after a failed node, not after --signal",
                      "after srun: [[ $? == 85 ]] && scontrol requeue \"$SLURM_JOB_ID\"")
    if not script.option("--requeue", "--no-requeue"):
        yield Finding(script.line_of(), "no-requeue", "neither --requeue nor --no-requeue",
                      "whether the job survives a failed node depends on the site's default", "--requeue")
    if asks and script.value("--open-mode") != "append" and not script.option("--no-requeue"):
        yield Finding(script.line_of("--output", "--requeue"), "no-append", "no --open-mode=append",
                      "each restart empties the log of the start before it", "--open-mode=append")


def logs(script):
    output = script.option("--output")
    if not output:
        return
    wanted = r"%a" if script.is_array() else r"%[jAJ]"
    if output.value == "/dev/null" or re.search(wanted, output.value):
        return
    if script.is_array() and "%j" in output.value:
        return
    if script.is_array():
        yield Finding(output.line, "shared-log", "the tasks of the array write to one log",
                      "they overwrite each other", "--output=...%A_%a.out")
    else:
        yield Finding(output.line, "shared-log", "no %j in --output",
                      "the next job overwrites this one's log, or mixes with it", "--output=...%j.out")


RULES = (not_expanded, not_read, first_line, tasks_and_gpus, hidden_peers, cores, time_limit, signal,
         requeue, logs)
