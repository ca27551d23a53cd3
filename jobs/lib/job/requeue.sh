# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# The step of the newest checkpoint of the run folder $1, -1 without any.
newest_step() {
  local file name newest=-1
  for file in "$1"/checkpoints/ckpt-*.h5; do
    name="${file##*/ckpt-}"
    name="${name%.h5}"
    [[ $name =~ ^[0-9]+$ ]] && ((10#$name > newest)) && newest=$((10#$name))
  done
  printf '%d\n' "$newest"
}

# Why the run in folder $1 must not be started (again); nothing when it may.
reason_not_to_start() {
  if [[ -e $1/DONE ]]; then
    echo "finished: $1/DONE is there"
  elif [[ -e $1/job/GAVE_UP ]]; then
    echo "given up: $(cat "$1/job/GAVE_UP")"
  elif [[ -e $1/STOP ]]; then
    echo "asked to stop: $1/STOP is there"
  fi
}

# Why a run that stopped with a good checkpoint must not be requeued; nothing when it may.
# $1 run folder, $2 step of its newest checkpoint when this job started, $3 restarts allowed.
reason_not_to_requeue() {
  if [[ -e $1/STOP ]]; then
    echo "asked to stop: $1/STOP is there (remove it and submit again to go on)"
  elif ((${SLURM_RESTART_COUNT:-0} >= $3)); then
    echo "this job was restarted ${SLURM_RESTART_COUNT:-0} times, MAX_RESTARTS is $3"
  elif (($(newest_step "$1") <= $2)); then
    echo "no progress: the newest checkpoint is still that of step $2"
  fi
}

# Exit status 93 of the program: a restart cannot help. Chained jobs and restarts see the file.
give_up() { printf '%s\n' "$2" >"$1/job/GAVE_UP"; }

# A task of an array must name itself: its SLURM_JOB_ID may be that of the whole array.
requeue_this_job() {
  local id="$SLURM_JOB_ID"
  [[ -z ${SLURM_ARRAY_JOB_ID:-} ]] || id="${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  say "requeueing $id"
  scontrol requeue "$id" || return 1
  sleep 120 # Slurm ends this script meanwhile
}
