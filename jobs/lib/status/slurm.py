# SPDX-License-Identifier: Apache-2.0
"""What Slurm knows of jobs: its queue, and for those that have left it the accounting, where there is one."""

import collections
import os
import re
import shutil
import subprocess
import time

# A job, or a task of an array. Times are Slurm's texts; reason: why it waits, or ended.
Task = collections.namedtuple("Task", "id array state exit reason start elapsed limit nodes restarts")

# What squeue and sacct call the states of a task.
WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "EXPEDITING", "RESV_DEL_HOLD", "SPECIAL_EXIT")
RUNNING = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL",
         "DEADLINE")

QUEUE_FORMAT = "%i|%F|%T|%S|%M|%l|%N|%r"
NO_REASON = ("", "None", "NonZeroExitCode")
NOT_LAUNCHED = "0:53"  # the script was not started
TIMEOUT_S = 30
ACCOUNTING_EVERY_S = 60


class Memory:
    """Between the looks of one --watch: what has ended is not asked again and again of those who serve everybody."""

    def __init__(self):
        self.gone = {}  # id of a job that has ended and left the queue -> [Task]
        self.ended = {}  # id of one that has ended and is still listed -> its lines in the queue, [Task]
        self.asked = {}  # id -> when the accounting was asked
        self.told = {}  # id -> what it said then, [Task] or None

    def is_to_ask(self, job):
        """...the accounting, about a job that it could not tell the end of."""
        return job not in self.asked or time.monotonic() >= self.asked[job] + ACCOUNTING_EVERY_S


class Slurm:
    """The answers for a set of job ids. `problem` says why there are none, if so; `silent`: another look may tell."""

    def __init__(self, ids, memory=None):
        memory = memory or Memory()
        self.tasks = {job: memory.gone[job] for job in ids if job in memory.gone}  # id of a job -> [Task]
        self.problem = None
        self.silent = False
        ids = sorted(set(ids) - set(self.tasks), key=int)
        if not ids:
            return
        if not shutil.which("squeue"):
            self.problem = "no Slurm on this machine (squeue is not on the PATH)"
            return
        self._ask_queue(ids)
        for job in ids:
            if job in self.tasks:
                self._complete(job, memory)
        missing = [job for job in ids if job not in self.tasks]
        if any(memory.is_to_ask(job) for job in missing) and shutil.which("sacct"):
            self._ask_accounting(missing)
            for job in missing:
                memory.asked[job] = time.monotonic()
                memory.told[job] = self.tasks.get(job)
                # A controller that did not answer may know more of it.
                if not self.silent and has_ended(self.tasks.get(job)):
                    memory.gone[job] = self.tasks[job]
        else:
            self.tasks.update((job, memory.told[job]) for job in missing if memory.told.get(job))

    def _complete(self, job, memory):
        """With what squeue does not tell."""
        listed = list(self.tasks[job])
        before = memory.ended.get(job)
        if before and before[0] == listed:
            self.tasks[job] = before[1]
            return
        if self._ask_controller(job) and has_ended(listed):
            memory.ended[job] = listed, self.tasks[job]

    def _ask_queue(self, ids):
        status, out, said = run("squeue", "-h", "-r", "-t", "all", "-j", ",".join(ids), "-o", QUEUE_FORMAT)
        if status != 0 and "Invalid job id" not in said:
            self.silent = True
            self.problem = "Slurm does not answer: " + (said.strip().split("\n")[-1] or "squeue failed")
            return
        for line in out.split("\n"):
            fields = line.split("|", 7)
            if len(fields) != 8 or not fields[1].isdigit():
                continue
            task, array, state, start, elapsed, limit, nodes, reason = fields
            self.tasks.setdefault(array, []).append(
                Task(task, array, state, None, reason if reason not in NO_REASON else None, start, elapsed,
                     limit, nodes or None, None))

    def _ask_controller(self, job):
        """Restarts and exit status, which squeue does not tell. -> whether it has answered."""
        status, out, _ = run("scontrol", "show", "job", "-o", job)
        facts = {}
        for line in out.split("\n"):
            found = dict(re.findall(r"(?:^|\s)(JobId|ArrayTaskId|Restarts|ExitCode)=(\S+)", line))
            if found:
                facts[found.get("ArrayTaskId", "")] = found
        for place, task in enumerate(self.tasks[job]):
            found = facts.get(task.id.partition("_")[2], {})
            restarts = found.get("Restarts", "")
            self.tasks[job][place] = task._replace(
                restarts=int(restarts) if restarts.isdigit() else None,
                reason=why_not_launched(task.reason, found.get("ExitCode")),
                exit=exit_status(task.state, found.get("ExitCode")))
        return status == 0

    def _ask_accounting(self, ids):
        clusters = os.environ.get("SLURM_CLUSTERS")  # sacct does not look at it, the other commands do
        status, out, _ = run("sacct", *(["--clusters=" + clusters] if clusters else []), "-n", "-P", "-X", "-D", "-j", ",".join(ids),
                             "-o", "JobID,State,ExitCode,Start,Elapsed,Timelimit,NodeList")
        if status != 0:
            return  # no accounting: the files tell the rest
        latest = collections.OrderedDict()  # -D lists each start of a requeued job
        starts = collections.Counter()
        for line in out.split("\n"):
            fields = line.split("|")
            if len(fields) == 7 and fields[0].split("_")[0].isdigit():
                latest[fields[0]] = fields
                starts[fields[0]] += 1
        for task, fields in latest.items():
            array, state = task.split("_")[0], (fields[1].split() or ["?"])[0]
            self.tasks.setdefault(array, []).append(
                Task(task, array, state, exit_status(state, fields[2]), why_not_launched(None, fields[2]), fields[3], fields[4], fields[5],
                     fields[6] or None, starts[task] - 1))


def has_ended(tasks):
    return bool(tasks) and all(task.state in ENDED for task in tasks)


def exit_status(state, code):
    """Slurm's STATUS:SIGNAL as a shell would say it; None while it runs, and where there is none."""
    found = re.match(r"(\d+):(\d+)$", code or "")
    if state not in ENDED or not found or code == NOT_LAUNCHED:
        return None
    status, signal = int(found.group(1)), int(found.group(2))
    if state == "COMPLETED":
        return 0
    if status == 0:
        return 128 + signal if signal else None
    return status


def why_not_launched(reason, code):
    if code != NOT_LAUNCHED:
        return reason
    return (reason or "JobLaunchFailure") + (": Slurm could not open the job's log or enter its working folder: "
                                             "were they removed, is the quota used up?")


def run(*command):
    """Exit status and output of a command of Slurm's; status 1 where it hangs or cannot start."""
    # Filters of the user's would hide jobs.
    env = {name: text for name, text in os.environ.items() if not name.startswith("SQUEUE_")}
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, env=env)
    except subprocess.TimeoutExpired:
        return 1, "", "{} did not end within {} s".format(command[0], TIMEOUT_S)
    except OSError as error:
        return 1, "", "{}: {}".format(command[0], error.strerror)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
