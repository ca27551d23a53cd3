# SPDX-License-Identifier: Apache-2.0
"""The jobs of a run folder, as jobs/submit recorded them, and the state of those that ran in place."""

import collections
import os
import re

from . import files
from .slurm import Task

# time: of the submission that it belongs to; folder: that of its script and log
Job = collections.namedtuple("Job", "id name folder time")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
IN_PLACE = re.compile(r"(local|here)-[0-9-]+$")


def jobs_of(folder):
    """The jobs of the newest submissions of a folder, oldest first, and the ids of those before."""
    found = collections.OrderedDict()
    for line in files.read(os.path.join(folder, "job", "jobs.txt"), end=True).split("\n"):
        words = line.split(" ", 3)
        if len(words) == 4 and TIME.match(words[0]) and is_id(words[1]) and words[3].startswith("/"):
            # A job that starts at once notes itself, too, and a little later.
            if words[1] not in found or words[0] < found[words[1]].time:
                found[words[1]] = Job(words[1], files.printable(words[2]), words[3], words[0])
    for line in files.read(os.path.join(folder, "job", "submitted.txt"), end=True).split("\n"):
        words = line.split(" ", 2)
        if len(words) == 3 and TIME.match(words[0]) and is_id(words[1]) and words[1] not in found:
            found[words[1]] = Job(words[1], name_by_log(folder, words[1]), folder, words[0])
    listed = sorted(found.values(), key=lambda job: job.time)  # stable: the order of a plan stays
    newest = listed[-1].time if listed else None
    return [job for job in listed if job.time == newest], [job for job in listed if job.time != newest]


def is_id(text):
    return bool(re.match(r"\d{1,12}$", text) or IN_PLACE.match(text))


def name_by_log(folder, job):
    for name in files.names(os.path.join(folder, "log"), r".*-{}(_\d+)?\.out$".format(re.escape(job))):
        return files.printable(name[:name.rindex("-" + job)])
    return "job"


def logs_of(job):
    """The logs of a job, the one that was written last at the end: [(task or None, path)]."""
    folder = os.path.join(job.folder, "log")
    found = []
    for name in files.names(folder, r"{}-{}(_\d+)?\.out$".format(re.escape(job.name), re.escape(job.id))):
        path = os.path.join(folder, name)
        task = re.search(r"_(\d+)\.out$", name)
        try:
            written = os.stat(path).st_mtime
        except OSError:
            continue
        found.append((written, int(task.group(1)) if task else None, path))
    return [(task, path) for _, task, path in sorted(found, key=lambda one: one[0])]


def logs_of_trials(job):
    """Those that run side by side have one each: {number of the trial: path}."""
    folder = os.path.join(job.folder, "log")
    found = {}
    for name in files.names(folder, r"trial-\d{1,9}-%s_\d+\.out$" % re.escape(job.id)):
        found[int(name.split("-", 2)[1])] = os.path.join(folder, name)
    return found


def tasks_in_place(job):
    """What a job that runs in place wrote about itself: RUN_DIR/job/ID.txt."""
    facts, ended_tasks = {}, []
    for line in files.read(os.path.join(job.folder, "job", job.id + ".txt"), end=True).split("\n"):
        key, _, text = line.partition(" ")
        if key == "task":
            ended_tasks.append(text.split())
        elif key:
            facts[key] = text
    if not facts:
        return []
    restarts = int(facts["restarts"]) if facts.get("restarts", "").isdigit() else 0
    status = int(facts["status"]) if facts.get("status", "").isdigit() else None
    if "ended" in facts:
        state = "COMPLETED" if status == 0 else "FAILED"
    else:
        state = state_of_process(facts)
    tasks = [Task(job.id, job.id, state, status if "ended" in facts else None, None, facts.get("started"), None, None,
                  files.printable(facts.get("host", "")) or None, restarts)]
    for words in ended_tasks:
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
            tasks.append(tasks[0]._replace(id="{}_{}".format(job.id, words[0]), exit=int(words[1]),
                                           state="COMPLETED" if words[1] == "0" else "FAILED"))
    return tasks


def state_of_process(facts):
    """Does the process that runs it live? Its number may have gone to another one since."""
    if facts.get("host") != os.uname().nodename:
        return "RUNNING"  # elsewhere: nobody can look
    pid, _, started = facts.get("pid", "").partition(" ")
    found = files.read("/proc/{}/stat".format(pid)).rpartition(") ")[2].split() if pid.isdigit() else []
    return "RUNNING" if len(found) > 19 and found[19] == started else "LOST"
