# SPDX-License-Identifier: Apache-2.0
"""What the commands of a batch script get wrong. Each rule takes a Script and yields Findings."""

import re

from .script import Finding

RANK_VARIABLE = r"SLURM_(PROCID|LOCALID|NODEID)|OMPI_COMM_WORLD_(LOCAL_)?RANK|PMI_RANK|PMIX_RANK"
LAUNCHERS = r"\b(srun|mpirun|mpiexec|orterun|torchrun|accelerate|deepspeed|prun|jsrun)\b"


def rank_at_batch_scope(script):
    for command in script.commands:
        text = re.sub(r"'[^']*'", "", command.text)  # what a shell in single quotes will expand later
        if re.search(LAUNCHERS, text):
            continue
        found = re.search(r"\b(?:export\s+)?(\w+)=[\"']?\$\{?(?:" + RANK_VARIABLE + r")\b", text)
        if found:
            yield Finding(command.line, "rank-in-batch-scope",
                          "{} is set once, in the batch script".format(found.group(1)),
                          "the script runs on the first node only: all ranks get its value, 0",
                          "inside the task: srun bash -c 'export {}=$SLURM_PROCID; exec program'".format(
                              found.group(1)))


def srun_without_cores(script):
    if not script.option("--cpus-per-task") or script.find(r"\bSRUN_CPUS_PER_TASK="):
        return
    for command in script.find(r"(^|[;&|(=]\s*)srun\b"):
        if not re.search(r"\s(-c\s*\S|--cpus-per-task\b)", command.text):
            yield Finding(command.line, "srun-without-cores", "srun without -c",
                          "since Slurm 22.05 srun does not take --cpus-per-task from sbatch: each rank "
                          "may get one core",
                          "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK, or srun -c "
                          "$SLURM_CPUS_PER_TASK")
            return


def nothing_launched(script):
    if script.tasks() <= 1 or not script.commands or script.find(LAUNCHERS):
        return
    yield Finding(script.commands[-1].line, "nothing-launched",
                  "{} tasks, but nothing is started with srun".format(script.tasks()),
                  "a batch script runs once, on the first node", "srun program")


def requeue_of_an_array(script):
    if not script.is_array():
        return
    for command in script.find(r"scontrol\s+requeue"):
        if "SLURM_ARRAY_JOB_ID" not in script.text:
            yield Finding(command.line, "requeues-whole-array", "requeues by SLURM_JOB_ID in an array",
                          "the id of one of the tasks is that of the array: all tasks would start again",
                          "scontrol requeue \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\"")


def background_without_wait(script):
    background = script.find(r"(^|\s)srun\b.*[^&]&\s*$")
    if background and not script.find(r"(^|[;&\s])wait\b"):
        yield Finding(background[-1].line, "no-wait", "srun in the background, and no wait",
                      "the job ends with its script and takes the steps along", "wait")


def fixed_network(script):
    for command in script.find(r"\bNCCL_NET="):
        yield Finding(command.line, "fixed-network", "NCCL_NET is fixed here",
                      "its name differs by site and plugin version, and on one node forcing it fails",
                      "load the site's module for NCCL's plugin and leave NCCL_NET alone")
    for command in script.find(r"\bMASTER_PORT=\d+"):
        yield Finding(command.line, "fixed-port", "MASTER_PORT is a fixed number",
                      "two jobs on one node want the same port, and one fails or joins the other",
                      "MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000)), or a program that needs none")


def threads(script):
    cpus = script.count("--cpus-per-task") or 1
    if cpus > 1 and not re.search(r"\bOMP_NUM_THREADS=|\bset_environment\b", script.text):
        yield Finding(script.line_of("--cpus-per-task"), "no-threads", "OMP_NUM_THREADS is not set",
                      "libraries start a thread for each core they see, of the whole node where ranks are "
                      "not bound", "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK")


RULES = (rank_at_batch_scope, srun_without_cores, nothing_launched, requeue_of_an_array,
         background_without_wait, fixed_network, threads)
