# shellcheck shell=bash disable=SC2154  # the variables of the parameter block
# SPDX-License-Identifier: Apache-2.0

# RESUME is for the first start. Those after it, of this job or of a chain, go on from what was written
# since; with nothing written they begin as the first one did.
choose_resume() {
  local begun="$run_dir/job/begun" written
  [[ $resume != auto ]] || return 0
  if [[ ! -e $begun ]]; then
    : >"$begun"
    return
  fi
  if [[ $resume == never ]]; then
    [[ ! $run_dir/recipe.toml -nt $begun ]] || resume=auto # the program took the folder for a new one
  else
    written="$(find "$run_dir/checkpoints" -name 'ckpt-*.h5' -newer "$begun" 2>/dev/null)"
    [[ -z $written ]] || resume=auto
  fi
}

begin_run() {
  local reason
  start_step="$(newest_step "$run_dir")"
  local newest="newest checkpoint: step $start_step"
  ((start_step >= 0)) || newest="no checkpoint yet"
  say "start $((${SLURM_RESTART_COUNT:-0} + 1)) on ${SLURM_JOB_NODELIST:-?}, $newest"
  reason="$(reason_not_to_start "$run_dir")"
  if [[ -n $reason ]]; then
    say "$reason"
    case "$reason" in
      finished*) exit 0 ;;
      given*) exit 93 ;;
      *) exit 85 ;;
    esac
  fi
  choose_resume
}

# end_run STATUS: 0 done, 85 requeue if it makes sense, 93 never, else an error of its own.
end_run() {
  local status="$1" reason
  case "$status" in
    0) say "done" ;;
    85)
      reason="$(reason_not_to_requeue "$run_dir" "$start_step" "$max_restarts")"
      if [[ -n $reason ]]; then
        say "not requeued: $reason"
      elif [[ $may_requeue == no ]]; then
        say "stopped with a good checkpoint; the next job of the chain goes on, or submit again"
      elif ! requeue_this_job; then
        say "Slurm did not requeue this job; submit again to go on"
      fi
      ;;
    93)
      say "not requeued: the program says that a restart cannot help (exit status 93)"
      give_up "$run_dir" "exit status 93 of job $SLURM_JOB_ID; its log tells why"
      ;;
    *) say "failed: exit status $status" ;;
  esac
  exit "$status"
}
