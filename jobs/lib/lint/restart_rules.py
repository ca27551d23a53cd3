# SPDX-License-Identifier: Apache-2.0
"""The time limit, and what comes after it: signals, traps, requeueing, logs."""

import posixpath
import re

from .script import MPI_LAUNCHERS, Finding

SHORTEST_LEAD_S = 120
NUMBERS = {"1": "HUP", "2": "INT", "10": "USR1", "12": "USR2", "15": "TERM", "18": "CONT"}
SHORT_COMMANDS = {"echo", "printf", "export", "module", "ml", "source", ".", "cd", "set", "trap", "mkdir", "date", "wait",
                  "exit", "scontrol", "", "ulimit", "unset", "rm", "cp", "[", "[[", "test", "kill", "sleep", "local"}
FAILED = re.compile(r"(-ne|!=|-gt)\s*[\"']?0\b|^\(\(\s*\$?\{?(\?|\w+)\}?\s*\)\)$")
SUCCEEDED = re.compile(r"(-eq|==?)\s*[\"']?0\b")


def signal_name(text):
    text = re.sub(r"^SIG", "", text.upper())
    return NUMBERS.get(text, text)


def asked_signal(script):
    """(option, only to the batch shell, name, seconds before the end), or None."""
    found = script.option("--signal")
    match = re.match(r"([BR]+:)?(\w+)(?:@(\d+))?$", found.value) if found else None
    if not match or any(stray.directive.number == found.line and stray.word[:1] == "@" for stray in script.stray):
        return None
    return found, "B" in (match.group(1) or ""), signal_name(match.group(2)), int(match.group(3) or 60)


def traps(script, name):
    """Traps of the signal that do something."""
    return [command for command in script.named("trap")
            if len(command.arguments) > 2 and command.arguments[1] not in ("", "-", ":", "true")
            and name in [signal_name(text) for text in command.arguments[2:]]]


def requeues(script):
    return [command for command in script.named("scontrol")
            if any(text.startswith("requeue") for text in command.arguments[1:])]


def under_mpirun(script):
    """The command that starts the ranks, where that is mpirun in the batch script and not srun; else None. mpirun is no
    step of Slurm's there (on other nodes its daemons are), and --signal without B: reaches steps alone."""
    work = [launch for launch in script.work() if not launch.command.within("trap")]
    if any(launch.launcher == "srun" for launch in work):
        return None
    return next((launch.command for launch in work if launch.launcher in MPI_LAUNCHERS), None)


def signal_for_mpirun(launcher, name, lead):
    """What to write where mpirun starts the ranks. It hands USR1 on; on TERM it kills them a second later."""
    return ("--signal=B:{0}@{1}, trap 'kill -USR1 $!' {0}, and {2} ... & then wait $!, and once more after the "
            "trap".format(name, lead, launcher.name))


def signal(script):
    launcher = under_mpirun(script)
    if not script.option("--signal"):
        yield Finding(script.line_of("--time"), "no-signal", "no --signal",
                      "at the time limit the program is killed: the work since the last checkpoint is lost",
                      "{}, and a program that writes a checkpoint on SIGUSR1".format(
                          signal_for_mpirun(launcher, "USR1", 300) if launcher else "--signal=USR1@300"))
    asked = asked_signal(script)
    if not asked:
        return
    found, _, _, lead = asked
    seconds = script.seconds()
    if lead < SHORTEST_LEAD_S:
        yield Finding(found.line, "short-signal", "the signal comes {} s before the end".format(lead),
                      "Slurm looks every 30 to 60 s: of {} s little may be left to write a "
                      "checkpoint".format(lead),
                      "60 s + twice the time of a checkpoint, at least @{}".format(SHORTEST_LEAD_S))
    if seconds and lead * 2 > seconds:
        yield Finding(found.line, "signal-and-time",
                      "the signal comes {} s before the end of {} s".format(lead, seconds),
                      "more of the job is spent on stopping than on work", "a longer --time")


def who_gets_the_signal(script):
    asked = asked_signal(script)
    if not asked:
        return
    found, to_shell, name, lead = asked
    handled = traps(script, name)
    launcher = under_mpirun(script)
    if launcher and not (to_shell and handled):
        if to_shell:
            text = "B: sends the signal to the batch shell only"
            why = "the shell has no trap for {} and dies, and the ranks never hear of it".format(name)
        else:
            text = "{} starts the ranks, and --signal without B: goes to steps of srun".format(launcher.name)
            why = "in the batch script {} is no step: the ranks never hear of {}, and are killed at the end of " \
                  "the time".format(launcher.name, name)
        yield Finding(found.line, "signal-not-forwarded", text, why, signal_for_mpirun(launcher, name, lead))
    elif to_shell and not handled:
        yield Finding(found.line, "signal-not-forwarded", "B: sends the signal to the batch shell only",
                      "the shell has no trap for {} and dies, and the ranks never hear of it".format(name),
                      "--signal={}@{} without B:; it then goes to the ranks".format(name, lead))
    elif handled and not to_shell:
        yield Finding(handled[0].line, "trap-not-called", "a trap for {}, which the shell never gets".format(name),
                      "without B: --signal goes to the steps that srun started, not to this script",
                      "--signal=B:{}@{}, the program in the background, and wait; or no trap".format(name, lead))


def own_functions(script):
    """What stands in them may wait as it should."""
    return set(re.findall(r"^\s*(?:function\s+)?([\w:.-]+)\s*\(\s*\)", script.text, re.MULTILINE))


def trap_waits(script):
    """bash runs a trap when the command in the foreground has ended, which is too late here."""
    asked = asked_signal(script)
    if not asked or not asked[1] or not traps(script, asked[2]):
        return
    work = [launch.command for launch in script.work()]
    if not work:
        short = SHORT_COMMANDS | own_functions(script)
        work = [one for one in script.commands
                if one.name not in short and not one.name.startswith(("[[", "(("))
                and not one.within("substitution", "trap", "function")]
    work = [one for one in work if not one.within("function", "trap")]
    if work and not work[-1].in_background():
        yield Finding(work[-1].line, "trap-waits", "a trap for {}, and {} in the foreground".format(
            asked[2], work[-1].name), "the shell runs the trap when that command has ended: at the time limit, never",
            "{} ... & then wait $!, and once more after the trap{}".format(
                work[-1].name, "" if under_mpirun(script) else "; or --signal without B:"))


def requeue(script):
    signalled = script.option("--signal")
    if signalled and not requeues(script) and not script.named("sbatch"):
        yield Finding(signalled.line, "no-requeue", "stops early, but nothing starts it again",
                      "Slurm requeues after a failed node, not after --signal",
                      "after srun: [[ $? == 85 ]] && scontrol requeue \"$SLURM_JOB_ID\"")
    if not script.option("--requeue", "--no-requeue"):
        yield Finding(script.line_of(), "no-requeue", "neither --requeue nor --no-requeue",
                      "whether the job survives a failed node depends on the site's default", "--requeue")
    asks = script.option("--requeue") or requeues(script)
    if asks and script.value("--open-mode") != "append" and not script.option("--no-requeue"):
        yield Finding(script.line_of("--output", "--requeue"), "no-append", "no --open-mode=append",
                      "each restart empties the log of the start before it", "--open-mode=append")


def requeue_of_an_array(script):
    if script.is_array() and "SLURM_ARRAY_JOB_ID" not in script.text:
        for command in requeues(script):
            yield Finding(command.line, "requeues-whole-array", "requeues by SLURM_JOB_ID in an array",
                          "the id of one of the tasks is that of the array: all tasks would start again",
                          "scontrol requeue \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\"")


def requeue_for_ever(script):
    if "SLURM_RESTART_COUNT" in script.text:
        return
    for command in requeues(script):
        why = _always(script, command)
        if why:
            yield Finding(command.line, "requeues-for-ever", why,
                          "a job that fails at once is started again for ever",
                          "only after the status that says so: [[ $status == 85 ]] && scontrol requeue ..., and at "
                          "most a few times: SLURM_RESTART_COUNT")


def _always(script, command):
    """Why this command is run after every failure, or always; None when something decides on it."""
    if command.within("function", "trap", "loop", "case"):
        return None
    before = script.commands[:script.commands.index(command)]
    deciding = None  # (command, run when it fails)
    for frame in command.frames:
        if frame.kind == "branch" and frame.condition:
            inside = [one for one in before if frame.condition in one.frames]
            deciding = (inside[-1], frame.otherwise) if inside else None
        elif frame.before in ("&&", "||"):
            inside = [one for one in before if frame not in one.frames]
            deciding = (inside[-1], frame.before == "||") if inside else None
    if command.before in ("&&", "||") and before:
        deciding = (before[-1], command.before == "||")
    if deciding:
        condition, when_it_fails = deciding
        when_it_fails = when_it_fails != condition.negated
        work = [launch.command for launch in script.work()]
        if condition in work and when_it_fails or \
                condition not in work and (SUCCEEDED if when_it_fails else FAILED).search(condition.text):
            return "requeues after every failure"
        return None
    guarded = any(one.name == "exit" and (one.frames or one.before) for one in before)
    return None if guarded else "requeues whatever happened"


def logs(script):
    for name in ("--output", "--error"):
        found = script.option(name)
        if not found or found.value == "/dev/null":
            continue
        if re.search(r"%\d*[aj]" if script.is_array() else r"%\d*[jAJ]", found.value):
            continue
        if script.is_array():
            yield Finding(found.line, "shared-log", "the tasks of the array write to one log ({})".format(name),
                          "they overwrite each other", name + "=...%A_%a.out")
        else:
            yield Finding(found.line, "shared-log", "no %j in " + name,
                          "the next job overwrites this one's log, or mixes with it", name + "=...%j.out")


def log_folder(script):
    seen = set()
    for name in ("--output", "--error"):
        found = script.option(name)
        folder = posixpath.dirname(found.value) if found else ""
        if not folder or folder[0] in "/~$" or "%" in folder or folder in seen or script.option("--chdir"):
            continue
        seen.add(folder)
        if not script.has_folder(folder):
            yield Finding(found.line, "no-folder", "there is no folder '{}' for the log here".format(folder),
                          "Slurm does not create it: the job fails at once, without a log",
                          "mkdir -p {} before sbatch (in the script it comes too late)".format(folder))


RULES = (signal, who_gets_the_signal, trap_waits, requeue, requeue_of_an_array, requeue_for_ever, logs, log_folder)
