# shellcheck shell=bash disable=SC2154,SC2034  # the variables of the parameter block
# SPDX-License-Identifier: Apache-2.0

# A task must name itself: its SLURM_JOB_ID may be that of the whole array.
this_job() { echo "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"; }

trial_goes_on=185 # exit status of a trial that wants another start of its task

# A trial's folder keeps its settings, so that results of one line of the grid never pass for those of another.
claim_trial() {
  local job="$run_dir/job" kept
  mkdir -p "$job"
  if ! (set -o noclobber && printf '%s\n' "${trials[trial]}" >"$job/trial") 2>/dev/null; then
    kept="$(cat "$job/trial")"
    if [[ $kept != "${trials[trial]}" ]]; then
      say "error: it is '${trials[trial]}' in the grid, and $run_dir holds '$kept': take another RUN_DIR"
      exit 2
    fi
  fi
  if [[ ! -e $run_dir/DONE ]]; then
    printf '%s\n' "$common" >"$job/common"
  elif kept="$(cat "$job/common" 2>/dev/null)" && [[ $kept != "$common" ]]; then
    say "error: it is finished with $kept, and this sweep has $common: take another RUN_DIR"
    exit 2
  fi
}

# Those that run side by side have logs of their own. What this script says of them is in that of the task, too.
begin_log() {
  local log
  log="$sweep_dir/log/trial-$trial-$(this_job).out"
  say "log $log"
  exec 3>&1
  exec >>"$log" 2>&1 || return
  say() {
    local text="[job $said_as] $speaker$*"
    printf '%s\n' "$text"
    printf '%s\n' "$text" >&3
  }
}

# run_trial NUMBER: as a job of its own would do it, in a process of its own. Its exit status tells the task what
# became of it.
run_trial() {
  local words item status=0
  trial="$1" run_dir="$sweep_dir/trial-$1"
  speaker="trial $trial: "
  go_on_status=$trial_goes_on
  own_log="" # it has lines of the other trials, too
  ((trials_per_job == 1)) || begin_log
  claim_trial
  if [[ -e $sweep_dir/STOP && ! -e $run_dir/DONE ]]; then
    say "asked to stop: $sweep_dir/STOP is there"
    exit 85
  fi
  begin_run
  say "${trials[trial]}"
  read -r -a words <<<"${trials[trial]}"
  for item in "${words[@]}"; do settings+=(--set "$item"); done
  try_here train || status=$?
  say "exit status $status"
  [[ -e $run_dir/recipe.toml ]] || rm -f "$run_dir/job/trial" # refused, nothing trained: the line may be mended
  end_run "$status"
}

stop_of_sweep="the sweep was asked to stop"

# A file STOP in the folder of the sweep stops all of it: each trial that runs gets a STOP of its own, and the
# tasks that wait leave the queue. $@: the folders of the trials that run.
watch_for_stop() {
  local folder
  until [[ -e $sweep_dir/STOP ]]; do sleep 3 >/dev/null 2>&1; done # it may outlive this script, and must not hold its log
  say "asked to stop: $sweep_dir/STOP is there (remove it and submit again to go on)"
  for folder in "$@"; do
    [[ -e $folder/STOP || -e $folder/DONE ]] || printf '%s\n' "$stop_of_sweep" >"$folder/STOP"
  done
  [[ ${SLURM_ARRAY_JOB_ID:-} != [0-9]* ]] || scancel --state=PENDING "$SLURM_ARRAY_JOB_ID"
}

# The marks that watch_for_stop made; a user's own STOP of a trial stays.
remove_stops() {
  local folder
  for folder in "$@"; do
    [[ "$(cat "$folder/STOP" 2>/dev/null)" != "$stop_of_sweep" ]] || rm -f "$folder/STOP"
  done
}
