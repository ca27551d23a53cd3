# shellcheck shell=bash disable=SC2154  # the variables of the parameter block
# SPDX-License-Identifier: Apache-2.0

# A trial's folder keeps its settings, so that results of one line of the grid never pass for those of another.
claim_trial() {
  local trial="$1" job="$2/job" kept
  mkdir -p "$job"
  if ! (set -o noclobber && printf '%s\n' "${trials[trial]}" >"$job/trial") 2>/dev/null; then
    kept="$(cat "$job/trial")"
    if [[ $kept != "${trials[trial]}" ]]; then
      say "error: trial $trial is '${trials[trial]}' in the grid, and $2 holds '$kept': take another RUN_DIR"
      return 2
    fi
  fi
  if [[ ! -e $2/DONE ]]; then
    printf '%s\n' "$common" >"$job/common"
  elif kept="$(cat "$job/common" 2>/dev/null)" && [[ $kept != "$common" ]]; then
    say "error: trial $trial is finished with $kept, and this sweep has $common: take another RUN_DIR"
    return 2
  fi
}

# run_trial NUMBER: trains it where it stands; its exit status is kept for the decision of the task.
run_trial() {
  local trial="$1" run_dir="$sweep_dir/trial-$1" trial_settings=() words item reason status
  claim_trial "$trial" "$run_dir" || return
  reason="$(reason_not_to_start "$run_dir")"
  [[ ! -e $sweep_dir/STOP || $reason == finished* ]] || reason="asked to stop: $sweep_dir/STOP is there"
  if [[ -n $reason ]]; then
    say "trial $trial: $reason"
    case "$reason" in
      finished*) return 0 ;;
      given*) return 93 ;;
      *) return 85 ;;
    esac
  fi
  read -r -a words <<<"${trials[trial]}"
  for item in "${words[@]}"; do trial_settings+=(--set "$item"); done
  say "trial $trial: ${trials[trial]}"
  "${launch[@]}" --ntasks="$ranks_per_trial" "$quern" train "$recipe" "${settings[@]}" "${trial_settings[@]}" \
    --run-dir "$run_dir" --resume auto
  status=$?
  say "trial $trial: exit status $status"
  [[ -e $run_dir/recipe.toml ]] || rm -f "$run_dir/job/trial" # refused, nothing trained: the line may be mended
  [[ $status != 93 ]] || give_up "$run_dir" "exit status 93 of job $SLURM_JOB_ID; its log tells why"
  return "$status"
}

stop_of_sweep="the sweep was asked to stop"

# A file STOP in the folder of the sweep stops all of it: each trial that runs gets a STOP of its own, and the
# tasks that wait leave the queue. $@: the folders of the trials that run.
watch_for_stop() {
  local folder
  until [[ -e $sweep_dir/STOP ]]; do sleep 3 >/dev/null 2>&1; done # it may outlive this script, and must not hold its log
  say "asked to stop: $sweep_dir/STOP is there"
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
