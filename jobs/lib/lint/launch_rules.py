# SPDX-License-Identifier: Apache-2.0
"""How a batch script starts its programs: srun and mpirun against what the job asked for, and their surroundings."""

import re

from .script import LAUNCHERS, MPI_LAUNCHERS, Finding

STARTS = r"\b(" + "|".join(sorted(re.escape(name) for name in LAUNCHERS)) + r")\b"
# Programs that start their ranks themselves.
SELF_LAUNCHING = {"ams", "orca", "molpro", "jobex", "ridft", "ccsdf12", "dscf", "julia", "haddock3", "g16", "hq", "matlab",
                  "nextflow", "snakemake", "spark-submit"}
SETS_ENVIRONMENT = {"module", "ml", "spack", "conda", "micromamba", "source", ".", "uenv"}
SHORT_COMMANDS = {"echo", "printf", "wait", "exit", "date", "module", "ml", "spack", "", "export", "set", "sleep", "cd", "scontrol", "[", "test"}


def srun_without_cores(script):
    if not script.option("--cpus-per-task") or script.count("--cpus-per-task") == 1:
        return
    if script.exported("SRUN_CPUS_PER_TASK"):
        return
    for launch in script.work():
        if launch.launcher == "srun" and not launch.part.option("--cpus-per-task"):
            yield Finding(launch.line, "srun-without-cores", "srun without -c",
                          "since Slurm 22.05 srun does not take --cpus-per-task from sbatch: each rank "
                          "may get one core",
                          "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK, or srun -c "
                          "$SLURM_CPUS_PER_TASK")
            return


def nothing_launched(script):
    if script.tasks() <= 1 or not script.commands or script.launches or script.find(STARTS) or \
            script.named(*SELF_LAUNCHING):
        return
    yield Finding(script.commands[-1].line, "nothing-launched",
                  "{} tasks, but nothing is started with srun".format(script.tasks()),
                  "a batch script runs once, on the first node", "srun program")


def step_and_job(script):
    """Numbers that srun and mpirun name themselves."""
    if script.is_heterogeneous():
        return
    work = script.work()
    for launch in work:
        text = _too_much(script, launch) or (_too_little(script, launch) if len(work) == 1 else None)
        if text:
            yield Finding(launch.line, "step-and-job", text,
                          "the step waits for what it never gets, is refused, or leaves paid cores idle",
                          "leave the number to the #SBATCH lines")


def _asked_tasks(launch):
    if launch.launcher == "srun":
        return launch.part.count("--ntasks")
    for flag, number in zip(launch.program, launch.program[1:]):
        if flag in ("-n", "-np", "--np", "-c", "--n") and launch.launcher in MPI_LAUNCHERS:
            return int(number) if number.isdigit() else None
    return None


def _too_much(script, launch):
    part, tasks = launch.part, _asked_tasks(launch)
    free = launch.part.option("--overcommit", "--oversubscribe") or "--oversubscribe" in launch.program or \
        script.option("--overcommit")
    said = script.option("--ntasks", "--ntasks-per-node")  # else the nodes are whole, and srun shares them out
    if tasks and tasks > script.tasks() and said and not free and not script.option("--exclusive"):
        return "{} starts {} tasks, and the job has {}".format(launch.launcher, tasks, script.tasks())
    nodes = part.count("--nodes")
    if nodes and script.count("--nodes") and nodes > script.count("--nodes"):
        return "srun asks for {} nodes, and the job has {}".format(nodes, script.count("--nodes"))
    own, cores = part.count("--cpus-per-task"), script.count("--cpus-per-task")
    if own and cores and not script.option("--exclusive") and not free:
        total = script.tasks() * cores
        if own * (tasks or script.tasks()) > total:
            return "srun asks for {} tasks with {} cores, and the job has {} cores".format(
                tasks or script.tasks(), own, total)
    return None


def _too_little(script, launch):
    tasks = _asked_tasks(launch)
    if not tasks or tasks == 1 or launch.command.in_background() or launch.command.within("loop", "function"):
        return None
    if tasks < script.tasks():
        return "{} starts {} tasks, and the job pays for {}".format(launch.launcher, tasks, script.tasks())
    return None


def launcher_in_launcher(script):
    for launch in script.launches:
        tasks = launch.part.count("--ntasks") or script.tasks()
        if launch.launcher != "srun" or tasks <= 1:
            continue
        inside = [word for word in launch.program if word.rsplit("/", 1)[-1] in MPI_LAUNCHERS]
        inside += [word for word in launch.program if re.search(r"(^|[;&|]\s*|exec\s+)(mpirun|mpiexec)\s", word)]
        if inside:
            yield Finding(launch.line, "launcher-in-launcher", "{} under srun".format(inside[0].split()[0]),
                          "srun starts it {} times, and each starts all ranks".format(tasks),
                          "srun program, or mpirun program without srun")


def heterogeneous(script):
    if not script.is_heterogeneous():
        return
    for launch in script.work():
        if launch.launcher == "srun" and not launch.several and not launch.part.option("--het-group", "--pack-group"):
            yield Finding(launch.line, "no-het-group", "srun without --het-group in a job of {} components".format(
                len(script.parts)), "it runs on the first component only, and the others idle",
                "srun --het-group=0 a : --het-group=1 b")
            return


def background_without_wait(script):
    background = [launch for launch in script.launches if launch.command.in_background()]
    if background and not script.named("wait") and not _works_on(script, background[-1].command):
        yield Finding(background[-1].line, "no-wait", "srun in the background, and no wait",
                      "the job ends with its script and takes the steps along", "wait")


def _works_on(script, command):
    """Is there a command behind this one that takes its time, such as a client of the server that was started?"""
    return any(one.name not in SHORT_COMMANDS and not one.name.startswith(("[[", "(("))
               for one in script.commands[script.commands.index(command) + 1:])


def environment_too_late(script):
    work = [launch.command for launch in script.work() if not launch.command.within("function")]
    if not work:
        return
    first, last = script.commands.index(work[0]), script.commands.index(work[-1])
    if any(command.name in SETS_ENVIRONMENT for command in script.commands[:first]):
        return
    for number, command in enumerate(script.commands[first:], first):
        if command.name not in ("module", "ml", "spack", "conda") or \
                not any(text in ("load", "activate", "swap") or command.name == "ml" for text in command.arguments):
            continue
        used = [one for one in script.commands[number:] if one.name not in SHORT_COMMANDS and not one.name.startswith(("[[", "(("))]
        if number > last and used:
            continue  # for what comes after, such as plots
        yield Finding(command.line, "environment-too-late", "{} after {}".format(
            command.text.split("#")[0].strip(), work[0].name),
            "the program has been started already, without what the module brings",
            "move it up, before line {}".format(work[0].line))
        return


RULES = (srun_without_cores, nothing_launched, step_and_job, launcher_in_launcher, heterogeneous,
         background_without_wait, environment_too_late)
