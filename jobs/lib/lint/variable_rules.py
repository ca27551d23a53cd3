# SPDX-License-Identifier: Apache-2.0
"""Variables of a batch script: ranks, ports, devices and threads that are fixed in the wrong place, names that are wrong."""

import difflib
import re

from . import resource_rules
from .script import LAUNCHERS, Finding
from .values import number_of

RANK_VARIABLE = r"SLURM_(PROCID|LOCALID|NODEID)|OMPI_COMM_WORLD_(LOCAL_)?RANK|PMI_RANK|PMIX_RANK"
PORT = re.compile(r"\b\w*PORT=(\d{4,5})$|^--\w*[-_]?port=(\d{4,5})$|^--rdzv[-_]endpoint=.*:(\d{4,5})$|"
                  r"(?:tcp|http)://\S*:(\d{4,5})\b|\bMASTER_PORT=(\d{4,5})\b")
SPLIT_PORT = re.compile(r"^--\w*[-_]?port (\d{4,5})$|^--rdzv[-_]endpoint \S*:(\d{4,5})$")
KNOWN = """
ARRAY_JOB_ID ARRAY_TASK_COUNT ARRAY_TASK_ID ARRAY_TASK_MAX ARRAY_TASK_MIN ARRAY_TASK_STEP CLUSTER_NAME CONF CPUS_ON_NODE
CPUS_PER_GPU CPUS_PER_TASK CPU_BIND CPU_BIND_LIST CPU_BIND_TYPE CPU_BIND_VERBOSE CPU_FREQ_REQ CONTAINER DISTRIBUTION
EXPORT_ENV GPUS GPUS_ON_NODE GPUS_PER_NODE GPUS_PER_SOCKET GPUS_PER_TASK GPU_BIND GPU_FREQ GTIDS HET_SIZE HINT JOBID
JOB_ACCOUNT JOB_CPUS_PER_NODE JOB_CPUS_PER_NODE_PACK_GROUP JOB_DEPENDENCY JOB_END_TIME JOB_GID JOB_GPUS JOB_ID JOB_NAME
JOB_NODELIST JOB_NUM_NODES JOB_PARTITION JOB_QOS JOB_RESERVATION JOB_START_TIME JOB_UID JOB_USER LAUNCH_NODE_IPADDR
LAUNCH_NODE_HOSTNAME LOCALID MEM_PER_CPU MEM_PER_GPU MEM_PER_NODE MPI_TYPE NNODES NODEID NODELIST NODE_ALIASES NPROCS
NTASKS NTASKS_PER_CORE NTASKS_PER_GPU NTASKS_PER_NODE NTASKS_PER_SOCKET OOM_KILL_STEP OVERCOMMIT PMIX_FENCE PRIO_PROCESS
PROCID PROFILE RESTART_COUNT SHARDS_ON_NODE SRUN_COMM_HOST SRUN_COMM_PORT STEPID STEP_GPUS STEP_ID STEP_LAUNCHER_PORT
STEP_NODELIST STEP_NUM_NODES STEP_NUM_TASKS STEP_TASKS_PER_NODE SUBMIT_DIR SUBMIT_HOST TASKS_PER_NODE TASK_PID
THREADS_PER_CORE TIMELIMIT TMPDIR TOPOLOGY_ADDR TOPOLOGY_ADDR_PATTERN TRES_PER_TASK UMASK WAIT WORKING_CLUSTER
""".split()
SETTERS = {"export", "declare", "local", "readonly", "typeset", "env"}


def rank_at_batch_scope(script):
    if script.find(r"^export\s+-f\b"):
        return  # functions that run in the tasks
    for command in script.commands:
        launched = command.name in LAUNCHERS
        places = command.assigned if launched or command.name not in SETTERS else command.words
        for word in places:
            text = re.sub(r"'[^']*'|\\\$", "", word.raw)  # what a shell expands later
            found = re.match(r"(\w+)=.*\$\{?(?:" + RANK_VARIABLE + r")\b", text)
            if found:
                yield _rank(word.line, found.group(1))
                break


def _rank(line, name):
    return Finding(line, "rank-in-batch-scope", "{} is set once, in the batch script".format(name),
                   "the script runs on the first node only: all ranks get its value, 0",
                   "inside the task: srun bash -c 'export {}=$SLURM_PROCID; exec program'".format(name))


def fixed_network(script):
    for command in script.find(r"\bNCCL_NET="):
        yield Finding(command.line, "fixed-network", "NCCL_NET is fixed here",
                      "its name differs by site and plugin version, and on one node forcing it fails",
                      "load the site's module for NCCL's plugin and leave NCCL_NET alone")


def fixed_port(script):
    for command in script.commands:
        texts = [word.text for word in command.words]
        for word, text, following in zip(command.words, texts, texts[1:] + [""]):
            found = PORT.search(text) or SPLIT_PORT.search(text + " " + following)
            if found:
                port = next(part for part in found.groups() if part)
                yield Finding(word.line, "fixed-port", "the port {} is a fixed number".format(port),
                              "two jobs on one node want the same port, and one fails or joins the other",
                              "a port of the job: $((20000 + SLURM_JOB_ID % 20000)); or a program that needs none")
                break


def threads(script):
    cpus = script.count("--cpus-per-task") or 1
    if cpus > 1 and not re.search(r"\bOMP_NUM_THREADS=", script.text):
        yield Finding(script.line_of("--cpus-per-task"), "no-threads", "OMP_NUM_THREADS is not set",
                      "libraries start a thread for each core they see, of the whole node where ranks are "
                      "not bound", "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK")
    for command in script.commands:
        for word in command.words:
            found = re.match(r"OMP_NUM_THREADS=(\d+)$", word.text)
            known = script.option("--cpus-per-task") or script.tasks() > 1 and not (
                script.option("--cpus-per-gpu", "--exclusive") or resource_rules.steps_choose_cores(script))
            if found and known and int(found.group(1)) > cpus:
                yield Finding(word.line, "threads-and-cores", "{} threads on {} core(s)".format(found.group(1), cpus),
                              "threads that share a core take turns", "OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK")


def fixed_devices(script):
    gpus = script.gpus_per_node()
    for command in script.commands:
        for word in command.words:
            found = re.match(r"(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES=([\d,]+)$", word.text)
            if found and gpus and len(found.group(1).split(",")) < gpus:
                yield Finding(word.line, "fixed-devices", "{} for {} GPUs a node".format(word.text, gpus),
                              "the others idle, and are paid for", "leave it to Slurm, which sets it")


def wrong_names(script):
    set_here = set(re.findall(r"\b(SLURM_\w+)=", script.text))
    seen = set()
    for command in script.commands:
        for word in command.words:
            for name in re.findall(r"\$\{?(SLURM_\w+)", word.raw):
                short = name[len("SLURM_"):]
                if short in KNOWN or name in set_here or name in seen or "_GROUP_" in name:
                    continue
                near = difflib.get_close_matches(short, KNOWN, 1, 0.85)
                if near:
                    seen.add(name)
                    yield Finding(word.line, "unknown-variable", "Slurm sets no ${}".format(name),
                                  "it is empty, without any message", "$SLURM_" + near[0])


def not_set_by_slurm(script):
    if script.option("--cpus-per-task", "--cpus-per-gpu") or list(resource_rules.cores(script)):
        return
    for command in script.find(r"\$(SLURM_CPUS_PER_TASK\b|\{SLURM_CPUS_PER_TASK\})"):
        if number_of(script.value("--cpus-per-task")) is None:
            yield Finding(command.line, "unset-variable", "$SLURM_CPUS_PER_TASK without --cpus-per-task",
                          "Slurm sets it only when the job asks for it: it is empty here",
                          "--cpus-per-task=N, or ${SLURM_CPUS_PER_TASK:-1}")
            return


RULES = (rank_at_batch_scope, fixed_network, fixed_port, threads, fixed_devices, wrong_names, not_set_by_slurm)
