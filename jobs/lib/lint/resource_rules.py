# SPDX-License-Identifier: Apache-2.0
"""What a job asks for: tasks, GPUs, cores, memory and time that do not fit each other."""

import re

from .script import Finding
from .values import gpus_of_gres, last_number, megabytes_of, seconds_of

# Hours that people mean when they write them as minutes and seconds.
HOURS_MEANT = set(range(1, 25)) | {36, 48, 72, 96, 120, 168}
# Megabytes up to which a number without unit was meant as gigabytes.
MEANT_GB = {"--mem": 512, "--mem-per-cpu": 64, "--mem-per-gpu": 512}
PROCESS_FOR_EACH_GPU = r"(^|[\s/])(torchrun|accelerate launch|deepspeed)\s|-m torch\.distributed\.(run|launch)\b"


def tasks_and_gpus(script):
    launches_itself = [command for command in script.find(PROCESS_FOR_EACH_GPU)
                       if command.name not in ("module", "ml", "pip", "conda", "echo", "export")]
    for part in script.parts:
        gpus, tasks = part.gpus_per_node(), part.tasks_per_node()
        if not gpus:
            continue
        line = part.option("--gpus-per-node", "--gres", "--gpus", "--gpus-per-task").line
        if launches_itself and tasks and tasks > 1:
            yield Finding(launches_itself[0].line, "tasks-and-gpus",
                          "a launcher that starts a process for each GPU, {} times a node".format(tasks),
                          "it would start {} processes on {} GPUs".format(tasks * gpus, gpus),
                          "--ntasks-per-node=1, or srun without that launcher")
        elif tasks and tasks > gpus and not script.find(r"mps-control|MPS_PIPE"):
            yield Finding(line, "tasks-and-gpus", "{} tasks share {} GPUs on a node".format(tasks, gpus),
                          "ranks on the same device take turns, and NCCL refuses them",
                          "--ntasks-per-node={}".format(gpus))
        elif (tasks or 1) < gpus and not launches_itself and not part.option("--gpus-per-task"):
            yield Finding(line, "tasks-and-gpus",
                          "{} GPUs, but {} task(s) on a node".format(gpus, tasks or 1),
                          "with one rank for each GPU the others idle, and are paid for",
                          "--ntasks-per-node={}".format(gpus))


def gpus_twice(script):
    for part in script.parts:
        per_node, gres = part.option("--gpus-per-node"), part.option("--gres")
        total = last_number(part.value("--gpus"))
        first = last_number(per_node.value) if per_node else None
        second = gpus_of_gres(gres.value) if gres else None
        if first and second and first != second:
            yield Finding(gres.line, "gpus-twice", "--gpus-per-node={} and --gres={}".format(first, gres.value),
                          "they do not say the same, and which one counts depends on the site", "one of them")
        elif first and total and part.count("--nodes") and total != first * part.nodes():
            yield Finding(part.option("--gpus").line, "gpus-twice",
                          "--gpus={} for {} nodes with {} each".format(total, part.nodes(), first),
                          "Slurm takes other nodes than you asked for, or refuses",
                          "--gpus-per-node alone")


def tasks_and_nodes(script):
    for part in script.parts:
        tasks, per_node, nodes = part.count("--ntasks"), part.count("--ntasks-per-node"), part.count("--nodes")
        if not (tasks and per_node and nodes) or (nodes - 1) * per_node < tasks <= nodes * per_node:
            continue
        yield Finding(part.option("--ntasks").line, "tasks-and-nodes",
                      "{} tasks, but {} nodes with {} each".format(tasks, nodes, per_node),
                      "Slurm refuses it, or leaves nodes without work",
                      "--nodes and --ntasks-per-node alone, or --ntasks={}".format(nodes * per_node))


def hidden_peers(script):
    tasks = script.tasks_per_node() or 1
    for name in ("--gpus-per-task", "--gpu-bind"):
        found = script.option(name)
        if found and tasks > 1 and not _shows_all(name, found.value):
            yield _hidden(found.line, name)
    for launch in script.launches:
        own = launch.part.count("--ntasks-per-node") or (launch.part.count("--ntasks") if script.parts[0].nodes() == 1
                                                         else None)
        if (own or tasks) == 1:
            continue
        for name in ("--gpus-per-task", "--gpu-bind"):
            found = launch.part.option(name)
            if found and not _shows_all(name, found.value):
                yield _hidden(launch.line, name)
                break


def _shows_all(name, value):
    return name == "--gpu-bind" and "none" in value.split(",")


def _hidden(line, name):
    return Finding(line, "hidden-gpus", name + " shows each rank its own GPU only",
                   "direct copies between the GPUs of a node fail or take a detour through the host",
                   "--gpus-per-node=N --gpu-bind=none; the program picks by its rank on the node")


def steps_choose_cores(script):
    """Does an srun of the script give its tasks cores, by number or by mask?"""
    return any(launch.part.option("--cpus-per-task") or re.match(r"(verbose,)?(mask|map)_|\W*\$",
                                                                launch.part.value("--cpu-bind"))
               for launch in script.launches)


def cores(script):
    """Ranks with devices need more than a core; pure MPI on processors does not."""
    if steps_choose_cores(script):
        return
    for part in script.parts:
        if part.option("--cpus-per-task", "--cpus-per-gpu", "--exclusive"):
            continue
        if part.gpus_per_node():
            line = part.option("--ntasks-per-node", "--ntasks", "--gpus-per-node", "--gres", "--gpus",
                               "--gpus-per-task").line
            yield Finding(line, "no-cores", "no --cpus-per-task", "each rank gets one core, for reading data, too",
                          "--cpus-per-task=<cores of a node / ranks of a node>")


def time_limit(script):
    if not script.option("--time"):
        yield Finding(script.line_of(), "no-time", "no --time",
                      "the partition's default may be minutes, or its maximum, which waits long",
                      "--time=HH:MM:SS")


def time_of_minutes(script):
    for part in script.parts:
        found = part.option("--time")
        match = re.match(r"(\d+):(\d\d)$", found.value) if found else None
        if match and int(match.group(1)) in HOURS_MEANT:
            yield Finding(found.line, "time-of-minutes", "--time={} means {} minutes".format(
                found.value, seconds_of(found.value) // 60), "two numbers are minutes and seconds",
                "--time={}:00 for hours and minutes".format(found.value))


def memory(script):
    for part in script.parts:
        given = [part.option(name) for name in ("--mem", "--mem-per-cpu", "--mem-per-gpu")]
        given = [option for option in given if option]
        if len(given) > 1:
            yield Finding(given[-1].line, "memory-twice", " and ".join("--" + option.name for option in given),
                          "they exclude each other: sbatch refuses them, or srun does in the job", "one of them")
        for option in given:
            size = megabytes_of(option.value)
            if any(stray.before is option for stray in script.stray):
                continue  # such as 64 GB, which is refused
            if option.value.isdigit() and 0 < size <= MEANT_GB["--" + option.name]:
                yield Finding(option.line, "memory-unit", "--{}={} means {} MB".format(
                    option.name, option.value, option.value), "a number without unit counts megabytes",
                    "--{}={}G".format(option.name, option.value))


OF_DIRECTIVES = (gpus_twice, tasks_and_nodes, time_limit, time_of_minutes, memory)
RULES = (tasks_and_gpus, gpus_twice, tasks_and_nodes, hidden_peers, cores, time_limit, time_of_minutes, memory)
