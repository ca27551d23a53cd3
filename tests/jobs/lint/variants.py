# SPDX-License-Identifier: Apache-2.0
"""One good script, and small changes of it that each make one fault, or none. A change: what is replaced, by what, and
what jobs/lint must find then, as "LINE RULE, LINE RULE"."""

GOOD = """#!/bin/bash
#SBATCH --job-name=good
#SBATCH --nodes=2 --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=4 --gpu-bind=none
#SBATCH --time=02:00:00
#SBATCH --signal=USR1@300
#SBATCH --requeue --open-mode=append
#SBATCH --output=log-%j.out
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
srun program train
[[ $? != 85 ]] || scontrol requeue "$SLURM_JOB_ID"
"""
CORES = "SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK "
RUN = "srun program train\n"
LAST = '[[ $? != 85 ]] || scontrol requeue "$SLURM_JOB_ID"\n'
TIME = "--time=02:00:00"
OUTPUT = "--output=log-%j.out"
NODES = "--nodes=2 --ntasks-per-node=4"

# How a line is written.
WRITTEN = [
    ("--nodes=2 --", "--nodes = 2 --", "3 stray-word"),
    ("--nodes=2 --", "nodes=2 --", "3 stray-word"),
    ("--nodes=2 --", "-nodes=2 --", "3 bad-value, 3 one-dash"),
    ("--nodes=2 --", "\u2013nodes=2 --", "3 typographic"),
    ("--nodes=2 --", "\u2014nodes=2 --", "3 typographic"),
    ("--job-name=good", "--job-name=\u201cgood\u201d", "2 typographic"),
    ("--job-name=good", "--job-name='good", "2 unmatched-quote"),
    ("--job-name=good", '--job-name="two words"', ""),
    ("--job-name=good", "--job-name=good\u00a0", "2 typographic"),
    ("--job-name=good", "--job-name=good # a comment, 'with a quote", ""),
    ("#SBATCH --job-name", "#sbatch --job-name", "2 not-a-directive"),
    ("#SBATCH --job-name", "#SBACTH --job-name", "2 not-a-directive"),
    ("#SBATCH --job-name", "##SBATCH --job-name", ""),
    ("--ntasks-per-node=4\n", "--ntask-per-node=4\n", "3 unknown-option, 5 tasks-and-gpus"),
    ("--job-name=good", "--job=good", ""),
    ("--ntasks-per-node=4\n", "--tasks-per-node=4\n", ""),
    ("--job-name=good", "--walltime=02:00:00", "2 unknown-option"),
    ("--job-name=good", "--uenv=prgenv-gnu/25.6:v2 --view=default", ""),
    ("--ntasks-per-node=4\n", "--ntasks-per-node=4 --ntasks-per-node=8\n", "3 option-twice, 5 tasks-and-gpus"),
    (NODES, "-N 2 --ntasks-per-node 4", ""),
    (TIME, "-t=02:00:00", "6 bad-value"),
    ("USR1@300", "USR1 @300", "7 stray-word"),
    ("USR1@300", "USR1:300", "7 bad-value"),
    ("--requeue ", "--requeue=yes ", "8 bad-value"),
    ("--job-name=good", "--account=project_4650XXXXX", "2 placeholder"),
    ("--job-name=good", "--account=<your account>", "2 placeholder"),
    ("--job-name=good", "--partition=CHANGEME", "2 placeholder"),
    ("--job-name=good", "--gres=gpus:4", "2 bad-value"),
    ("program train", "program train <config> --data /path/to/data", "11 placeholder"),
    ("program train", "program train --name <run>", "11 placeholder"),
    ("program train", "program train <in.txt >out.txt", ""),
    ("program train", "program train \u2013\u2013epochs 3", "11 typographic"),
    ("program train", "program train --title 'a \u2013 b'", ""),
    ('"$SLURM_JOB_ID"', '"$SLURM_JOB_ID', "12 unmatched-quote"),
    (LAST, LAST + "cat <<END\n", "13 never-closed"),
]
# What is asked for.
ASKED = [
    (TIME, "--time=1:00:00:00", "6 bad-value"),
    (TIME, "--time=24h", "6 bad-value"),
    (TIME, "--time=24:00", "6 time-of-minutes"),
    (TIME, "--time=90:00", ""),
    (TIME, "--time=1-12", ""),
    (TIME, "--time=UNLIMITED", ""),
    ("#SBATCH --time=02:00:00\n#SBATCH --signal=USR1@300\n", "#SBATCH --no-kill\n", "2 no-signal, 2 no-time"),
    ("--job-name=good", "--mem=64", "2 memory-unit"),
    ("--job-name=good", "--mem=64GB", ""),
    ("--job-name=good", "--mem=0", ""),
    ("--job-name=good", "--mem=1000", ""),
    ("--job-name=good", "--mem-per-cpu=100", ""),
    ("--job-name=good", "--workdir=/tmp", "2 unknown-option"),
    ("--job-name=good", "--mem-per-cpu=4", "2 memory-unit"),
    ("--job-name=good", "--mem-per-cpu=2000", ""),
    ("--job-name=good", "--mem=64G --mem-per-gpu=16G", "2 memory-twice"),
    ("--job-name=good", "--mem=64-GB", "2 bad-value"),
    (NODES, "--nodes=2 --ntasks=16 --ntasks-per-node=4", "3 tasks-and-nodes"),
    (NODES, "--nodes=2 --ntasks=8 --ntasks-per-node=4", ""),
    (NODES, "--nodes=2 --ntasks=4 --ntasks-per-node=4", "3 tasks-and-nodes"),
    ("--gpu-bind=none", "--gres=gpu:2", "5 gpus-twice"),
    ("--gpu-bind=none", "--gpus=4", "5 gpus-twice"),
    ("--gpu-bind=none", "--gpus=8", ""),
    (OUTPUT, "--output=log-%j.out --error=err.txt", "9 shared-log"),
    (OUTPUT, "--output=log-%j.out --error=~/err-%j.txt", "9 tilde-in-path"),
    (OUTPUT, "--output=no-such-folder/%j.out", "9 no-folder"),
    (OUTPUT, "--output=%x/%j.out", ""),
]
# How it is started.
STARTED = [
    (CORES + "OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\n" + RUN, "OMP_NUM_THREADS=8\ntime srun program\n",
     "11 srun-without-cores"),
    (CORES + "OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\n" + RUN + LAST,
     "OMP_NUM_THREADS=8\nif ! srun program; then sbatch next.sbatch; exit 1; fi\n", "11 srun-without-cores"),
    (CORES + "OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\n" + RUN + LAST,
     "OMP_NUM_THREADS=8\nsbatch -d singleton next.sbatch\nexec srun program\n", "12 srun-without-cores"),
    (CORES, "", "11 srun-without-cores"),
    (CORES, "h=$(srun -N1 -n1 hostname) " + CORES, ""),
    (RUN, "srun -n 64 program\n", "11 step-and-job"),
    (RUN, "srun -n 4 program\n", "11 step-and-job"),
    (RUN, "srun -N 4 program\n", "11 step-and-job"),
    (RUN, "srun -c 32 program\n", "11 step-and-job"),
    ("--nodes=2 --ntasks-per-node=4\n#SBATCH --cpus-per-task=8\n#SBATCH --gpus-per-node=4 --gpu-bind=none", "--nodes=2",
     "8 unset-variable"),
    ("--nodes=2 --ntasks-per-node=4\n#SBATCH --cpus-per-task=8\n#SBATCH --gpus-per-node=4 --gpu-bind=none\n#SBATCH "
     "--time=02:00:00\n#SBATCH --signal=USR1@300\n#SBATCH --requeue --open-mode=append\n#SBATCH --output=log-%j.out\n"
     "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nsrun program",
     "--nodes=2 --time=2:00:00\n#SBATCH --signal=USR1@300 --requeue --open-mode=append\nsrun -n 128 program", ""),
    (RUN, "srun --nodes=1 --ntasks=1 -c 32 program\n", ""),
    (RUN, "mpirun -np 16 program\n", "7 signal-not-forwarded, 11 step-and-job"),
    (RUN, "srun mpirun program\n", "11 launcher-in-launcher"),
    (RUN, "srun bash -c 'cd work && mpiexec -n 8 program'\n", "11 launcher-in-launcher"),
    (RUN, "srun program --master_port 29500\n", "11 fixed-port"),
    (RUN, "srun program \\\n  --init-method=tcp://$h:23456\n", "12 fixed-port"),
    ("export ", "export CUDA_VISIBLE_DEVICES=0 ", "10 fixed-devices"),
    ("OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS=64", "10 threads-and-cores"),
    ("#SBATCH --cpus-per-task=8\n#SBATCH --gpus-per-node=4 --gpu-bind=none\n#SBATCH --time=02:00:00\n#SBATCH "
     "--signal=USR1@300\n#SBATCH --requeue --open-mode=append\n#SBATCH --output=log-%j.out\nexport SRUN_CPUS_PER_TASK="
     "$SLURM_CPUS_PER_TASK OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK", "#SBATCH --time=2:00:00 --signal=USR1@300\n#SBATCH "
     "--requeue --open-mode=append\nexport OMP_NUM_THREADS=4", "6 threads-and-cores"),
    (RUN, "srun program --deepspeed deepspeed.json\n", ""),
    (RUN, "nvidia-cuda-mps-control -d\n" + RUN, ""),
    ("export ", "cd $SLURM_SUBMITDIR\nexport ", "10 unknown-variable"),
    ("export ", "cd $SLURM_SUBMIT_DIR\nexport ", ""),
    (NODES + "\n#SBATCH --cpus-per-task=8\n#SBATCH --gpus-per-node=4 --gpu-bind=none", "--ntasks=1", "8 unset-variable"),
    (RUN, "RANK=$SLURM_PROCID srun program\n", "11 rank-in-batch-scope"),
    (RUN, "srun bash -c \"export RANK=\\$SLURM_PROCID; exec program\"\n", ""),
    (RUN, "srun program\nstatus=$?\nmodule load gcc\n", "13 environment-too-late, 14 status-lost"),
]
# What becomes of its status, and of the job.
ENDED = [
    (RUN, "srun program | tee log\n", "11 status-of-a-pipe"),
    (RUN, "srun program 2>&1 |& tee log\n", "11 status-of-a-pipe"),
    (RUN, "{ srun program; } | tee log\n", "11 status-of-a-pipe"),
    (RUN, "set -o pipefail\nsrun program | tee log\n", ""),
    (RUN, "srun program > >(tee log)\n", ""),
    ("[[ $?", "status=${PIPESTATUS[0]}\n[[ $status", ""),
    (RUN, "set -e\n" + RUN, "13 status-after-set-e"),
    (RUN, "set -euo pipefail\n" + RUN, "13 status-after-set-e"),
    ("#!/bin/bash\n", "#!/bin/bash -e\n", "12 status-after-set-e"),
    (RUN, "set -e\nset +e\n" + RUN, ""),
    (RUN, RUN + "echo ended\n", "13 status-of-another"),
    (RUN, RUN + "sleep 10; rm -f part\n", "13 status-of-another"),
    (RUN + LAST, "status=0\nsrun program || status=$?\necho ended\n((status != 85)) || scontrol requeue $SLURM_JOB_ID\n"
     "exit $status\n", ""),
    (LAST, "status=$?\n[[ $status != 85 ]] || scontrol requeue $SLURM_JOB_ID\nexit 0\n", "14 status-lost"),
    (RUN + LAST, "srun program || true\nsbatch next.sbatch\n", "11 status-lost"),
    (LAST, "sbatch next.sbatch\ncp results /archive\n", "13 status-lost"),
    (LAST, 'echo "status $?"\nsbatch next.sbatch\n', "13 status-lost"),
    (LAST, "scontrol requeue $SLURM_JOB_ID\n", "12 requeues-for-ever, 12 status-lost"),
    (RUN + LAST, "srun program || scontrol requeue $SLURM_JOB_ID\n", "11 requeues-for-ever"),
    (RUN + LAST, "if ! srun program; then\n  scontrol requeue $SLURM_JOB_ID\nfi\n", "12 requeues-for-ever"),
    (LAST, "if [ $? -ne 0 ]; then scontrol requeue $SLURM_JOB_ID; fi\n", "12 requeues-for-ever"),
    (LAST, "status=$?\nif ((status == 0)); then echo well; else scontrol requeue $SLURM_JOB_ID; fi\n",
     "13 requeues-for-ever"),
    (LAST, "status=$?\n[[ $status == 85 ]] || exit $status\nscontrol requeue $SLURM_JOB_ID\n", ""),
    (RUN + LAST, "srun program || ((${SLURM_RESTART_COUNT:-0} > 3)) || scontrol requeue $SLURM_JOB_ID\n", ""),
    ("USR1@300", "B:USR1@300", "7 signal-not-forwarded"),
    ("--signal=USR1@300\n", "--signal=B:USR1@300\ntrap 'touch STOP' TERM\n",
     "2 no-append, 2 no-requeue, 7 signal-not-forwarded, 9 directive-after-command, 10 directive-after-command"),
    (RUN, "trap 'touch STOP' USR1\n" + RUN, "11 trap-not-called"),
    (RUN, "trap '' USR1\n" + RUN, ""),
    # mpirun in the batch script is no step: --signal reaches it through the script alone.
    (RUN, "mpirun program train\n", "7 signal-not-forwarded"),
    (RUN, "mpiexec program train\n", "7 signal-not-forwarded"),
    (RUN, "trap 'kill -USR1 $!' USR1\nmpirun program train &\nwait $!\n", "7 signal-not-forwarded"),
    (RUN, "mpirun hostname\n" + RUN, ""),
    (RUN, "mpirun prepare-data\n" + RUN, ""),
    ("USR1@300\n#SBATCH --requeue --open-mode=append\n#SBATCH --output=log-%j.out\n",
     "B:10@300\n#SBATCH --requeue --open-mode=append\ntrap 'touch STOP' SIGUSR1\n", "11 trap-waits"),
]

# Ways to treat the status of srun in which nothing is lost.
HEAD = """#!/bin/bash
#SBATCH --ntasks=8 --time=2:00:00 --signal=USR1@300 --requeue --open-mode=append -o x-%j
"""
TAIL = """[[ $status != 85 ]] || scontrol requeue "$SLURM_JOB_ID"
exit $status
"""
KEPT = [
    "srun a &> log-$SLURM_JOB_ID; status=$?\n" + TAIL,
    "set -euo pipefail\nset +e\nsrun a\nstatus=$?\nset -e\n" + TAIL,
    "srun a && status=0 || status=$?\n" + TAIL,
    "status=0\nif srun a; then :; else status=$?; fi\n" + TAIL,
    "trap 'rm -rf $TMP' EXIT\nsrun a\nstatus=$?\n" + TAIL,
    'run() { srun "$@"; }\nrun a\nstatus=$?\n' + TAIL,
    "main() {\n  srun a\n  local status=$?\n  [[ $status == 85 ]] && scontrol requeue $SLURM_JOB_ID\n"
    '  return $status\n}\nmain "$@"\n',
    "until srun a; do sleep 5; done\nsbatch next.sh\n",
    "for i in 1 2; do srun a $i || exit 1; done\nsbatch next.sh\n",
    "srun a\nrc=$?\nif [ $rc -eq 85 ]; then scontrol requeue $SLURM_JOB_ID\nelif [ $rc -ne 0 ]; then exit $rc; fi\n",
    "srun a 2>&1 | tee log; status=${PIPESTATUS[0]}\n" + TAIL,
    "srun a > >(tee log) 2> >(tee err >&2)\nstatus=$?\n" + TAIL,
    "srun --multi-prog conf &\npid=$!\nwait $pid\nstatus=$?\n" + TAIL,
    'srun a\nstatus=$?\necho "ended with $status"\n' + TAIL,
    "srun bash -c './a | tee \"log-$SLURM_PROCID\"'\nstatus=$?\n" + TAIL,
    "srun -l hostname\nsrun a; status=$?; " + TAIL,
    "srun a; test $? -eq 85 && scontrol requeue $SLURM_JOB_ID\n",
    "srun a || { s=$?; if [ $s = 85 ]; then scontrol requeue $SLURM_JOB_ID; fi; exit $s; }\n",
]
