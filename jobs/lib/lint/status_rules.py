# SPDX-License-Identifier: Apache-2.0
"""The exit status of what was started: swallowed by a pipe, by set -e, by a later command. Slurm, requeueing and jobs that
wait (afterok) go by it."""

import re

from .script import Finding

READS = re.compile(r"\$\?|\$\{\?\}")
# Commands whose own status nobody wants to know.
TRIVIAL = {"echo", "printf", "date", "sleep", "cd", "rm", "mkdir", "cp", "mv", "touch", "ls", "module", "export", "unset",
           "sync", "true", ":", "cat", "kill", "trap", "set"}


def reads_status(command):
    return any(READS.search(re.sub(r"'[^']*'", "", word.raw)) for word in command.words)


def stops_at_errors(script, command):
    """Is set -e in force at this command?"""
    active = bool(re.match(r"#!\s*\S*sh\s+-\w*e", script.lines[0]))
    for one in script.commands:
        if one is command:
            return active
        if one.name == "set" and not one.within("function", "subshell", "substitution"):
            for at, text in enumerate(one.arguments[1:], 1):
                if re.match(r"[-+]\w*e\w*$", text):
                    active = text[0] == "-"
                elif text == "errexit":
                    active = one.arguments[at - 1].startswith("-")
    return active


def decided(command):
    """Does something beside the command look at its status?"""
    return command.after in ("&&", "||") or command.negated or command.within("condition") or \
        any(frame.after in ("&&", "||") for frame in command.frames)


def next_beside(script, command):
    """The next command in the same construct, or None."""
    commands = script.commands
    for one in commands[commands.index(command) + 1:]:
        if one.frames == command.frames:
            return one
        if len(one.frames) < len(command.frames) or one.frames[:len(command.frames)] != command.frames:
            return None
        if not one.within("substitution") and one.frames[len(command.frames)].kind != "condition":
            return None
        if one.frames[len(command.frames)].kind == "condition":
            return one
    return None


def pipe(script):
    if "PIPESTATUS" in script.text or script.find(r"^set\b.*\bpipefail\b"):
        return
    for launch in script.work():
        if launch.command.piped_into():
            yield Finding(launch.line, "status-of-a-pipe", "{} in front of a pipe".format(launch.launcher),
                          "the status is that of the last command of the pipe: a failure, or 85, is not seen",
                          "set -o pipefail, ${PIPESTATUS[0]}, or a file: > log 2>&1")


def set_e(script):
    for launch in script.work():
        command = launch.command
        following = next_beside(script, command)
        if following and reads_status(following) and not decided(command) and not command.in_background() \
                and stops_at_errors(script, command):
            yield Finding(following.line, "status-after-set-e", "$? after {} under set -e".format(launch.launcher),
                          "when {} fails the script ends there: this line only ever sees 0".format(launch.launcher),
                          "status=0; {} ... || status=$?".format(launch.launcher))


def of_another(script):
    work = [launch.command for launch in script.work()]
    for command in script.commands:
        if command in work or not reads_status(command):
            continue
        before = [one for one in script.commands[:script.commands.index(command)] if one.frames == command.frames
                  or command.frames and command.frames[-1].kind == "condition" and one.frames == command.frames[:-1]]
        if not before or before[-1].name not in TRIVIAL and (before[-1].name or any(
                word.inner for word in before[-1].words)) or before[-1].before in ("&&", "||"):
            continue
        if next((one for one in reversed(script.commands[:script.commands.index(command)])
                 if not one.within("substitution")), None) is not before[-1]:
            continue
        launched = [one for one in before if one in work]
        if not launched:
            continue
        between = before[before.index(launched[-1]) + 1:]
        if any(re.search(r"\w+=\"?\$\??\{?\?", one.text) for one in between):
            continue
        yield Finding(command.line, "status-of-another", "$? is that of '{}'".format(before[-1].text),
                      "each command overwrites it: {} is forgotten".format(launched[-1].name),
                      "status=$? in the line after {}".format(launched[-1].name))


def lost(script):
    work = [launch.command for launch in script.work()
            if not launch.command.within("function", "trap") and not launch.command.in_background()]
    top = [one for one in script.commands if not one.within("function", "trap", "substitution")]
    if not work or not top:
        return
    last, end = work[-1], top[-1]
    after = top[top.index(last) + 1:]
    ignored = last.after == "||" and after and after[0].name in ("true", ":")
    if ignored:
        yield _lost(last.line, "|| {}".format(after[0].name), last)
        return
    ends_well = end.name == "exit" and end.arguments[1:] == ["0"] and not end.frames and not end.before
    others = [one for one in script.named("exit") if one is not end and one.arguments[1:] != ["0"]]
    if stops_at_errors(script, last) or any(stops_at_errors(script, one) for one in after):
        return
    looked_at = decided(last) or any(reads_status(one) for one in after) or last.piped_into() or \
        "PIPESTATUS" in script.text
    if ends_well and not others and (not looked_at or not script.named("scancel")):
        yield _lost(end.line, "exit 0", last)
    elif not looked_at and after and not (end.name == "exit" and len(end.arguments) == 1 and len(after) == 1):
        yield _lost(end.line, end.text, last)
    elif looked_at and not decided(last):
        readers = [one for one in after if reads_status(one)]
        captured = _captured(readers)
        if captured and readers[0] is not end and not _used(after, captured.group(1)) and not others:
            yield _lost(end.line, end.text, last)
        elif readers and all(one.name in ("echo", "printf") for one in readers) and not others:
            yield _lost(end.line, end.text, last)


def lost_of_background(script):
    """`program &` and wait: what the last wait says is to be the job's end."""
    work = [launch.command for launch in script.work()
            if not launch.command.within("function", "trap") and launch.command.in_background()]
    top = [one for one in script.commands if not one.within("function", "trap", "substitution")]
    waits = [one for one in top if one.name == "wait" and len(one.arguments) > 1]
    if not work or not waits or waits[-1] is top[-1] or stops_at_errors(script, waits[-1]):
        return
    if decided(waits[-1]) or any(one.arguments[1:] != ["0"] for one in script.named("exit")):
        return
    after = top[top.index(waits[-1]) + 1:]
    readers = [one for one in after if reads_status(one)]
    captured = _captured(readers)
    if not readers or (captured and not _used(after, captured.group(1))):
        yield _lost(top[-1].line, top[-1].text, work[-1])


def _captured(readers):
    """The match whose first group is the variable that the first of them keeps the status in, if it does."""
    return re.match(r"(\w+)=\"?\$\??\{?\?", readers[0].text) if readers else None


def _used(commands, name):
    """Does anything but a message use the variable?"""
    return any(re.search(r"\$\{?" + name + r"\b|\(\(.*\b" + name + r"\b", one.text) and one.name not in ("echo", "printf")
               for one in commands)


def _lost(line, text, launched):
    return Finding(line, "status-lost", "the job ends with the status of '{}'".format(text),
                   "a failure of {} counts as COMPLETED, and jobs that wait for success start".format(launched.name),
                   "status=$? after {}, and exit \"$status\" at the end".format(launched.name))


RULES = (pipe, set_e, of_another, lost, lost_of_background)
