# shellcheck shell=bash disable=SC2154  # the variables of the parameter block
# SPDX-License-Identifier: Apache-2.0

starts_without_progress=5 # so many of them in a row, and the job is not requeued

# RESUME is for the first attempt. Those after it, in the same allocation, after a restart or in the next job of a chain,
# go on from what was written since; with nothing written they begin as the first one did. No clocks are compared.
choose_resume() {
  local begun="$run_dir/job/begun-$submission"
  [[ $resume != auto ]] || return 0
  if [[ ! -e $begun ]]; then
    files_to_go_on_from >"$begun.part" && mv "$begun.part" "$begun"
  elif lists_more_than "$(cat "$begun")" < <(files_to_go_on_from); then
    resume=auto
  fi
}

# Once there is a recipe, the program takes the folder for a run's, and refuses it for a new one.
files_to_go_on_from() {
  if [[ $resume == never ]]; then
    files_like recipe.toml "$run_dir" -maxdepth 1
  else
    checkpoints_of "$run_dir"
  fi
}

begin_run() {
  local reason
  start_checkpoints="$(checkpoints_of "$run_dir")"
  say "start $((${SLURM_RESTART_COUNT:-0} + 1)) on ${SLURM_JOB_NODELIST:-?}, $(newest_text "$run_dir")"
  reason="$(reason_not_to_start "$run_dir")"
  if [[ -n $reason ]]; then
    say "$reason"
    case "$reason" in
      finished*) exit 0 ;;
      *"exit status "[0-9]*) reason="${reason##*exit status }" && exit "${reason%% *}" ;; # that of the one that gave up
      given*) exit 93 ;;
      *) exit 85 ;;
    esac
  fi
}

# What srun says of options that it will refuse each time; a program that does nothing shows it.
reason_not_to_launch() {
  [[ ${QUERN_IN_PLACE_HOW:-} != local ]] || return 0
  timeout 60 "${launch[@]}" true 2>&1 |
    grep -m 1 -E 'Invalid MPI type|unrecognized option|More processors requested than permitted|mutually exclusive'
}

has_progressed() { has_new_checkpoint "$run_dir" "$start_checkpoints"; }

# try_here FUNCTION...: runs it, up to three times in this allocation while its step fails at once. A lost daemon of
# Slurm leaves behind what hinders the next step of its number on that node, and each start of a job counts from 0.
try_here() {
  local status begin attempt reason
  for attempt in 1 2 3; do
    begin=$SECONDS
    status=0
    "$@" || status=$?
    if ((attempt == 3)) || ! is_failure "$status" || is_untimely_stop "$status" || [[ -n $ended_because$bad_nodes ]] ||
      ((SECONDS - begin >= 60)) || has_progressed; then
      return "$status"
    fi
    reason="$(reason_not_to_launch)"
    if [[ -n $reason ]]; then
      say "no step ever starts here ($reason): srun is called as $(printf '%s ' "${launch[@]}")(SRUN= of the site's file)"
      return 2
    fi
    say "exit status $status after $((SECONDS - begin)) s: once more in the same allocation"
  done
}

train() {
  local status=0 logged
  choose_resume
  logged="$(log_size)"
  run_step "${launch[@]}" "$quern" train "$recipe" "${settings[@]}" "${changes[@]}" --run-dir "$run_dir" --resume "$resume" || status=$?
  # srun's exit status is 0 also when it has lost a step that did not start on all nodes.
  if ((status == 0)) && [[ ! -e $run_dir/DONE ]]; then
    say "exit status 0, but there is no $run_dir/DONE"
    status=1
  fi
  ! is_failure "$status" || [[ -n $ended_because ]] || find_killing_node "$logged"
  return "$status"
}

# Something that may pass, as far as the exit status can tell.
is_failure() { [[ ! " 0 2 85 93 126 127 " == *" $1 "* ]]; }

# count_up NAME: how often this was counted for this job, kept beside the run.
count_up() {
  local file="$run_dir/job/$1-$SLURM_JOB_ID" count=0
  [[ ! -e $file ]] || read -r count <"$file"
  count=$((count + 1))
  { printf '%d\n' "$count" >"$file.part" && mv "$file.part" "$file"; } || count="$(count_of_starts)"
  printf '%d\n' "$count"
} 2>/dev/null # where nothing can be written, bash would say so

# What takes the place of a count that cannot be kept.
count_of_starts() {
  has_progressed && echo 1 || echo $((${SLURM_RESTART_COUNT:-0} + 1))
}

# count_failure: how many failures of this job had no new checkpoint between them.
# Below the count, the file lists the checkpoints at the last failure: a start whose node died has counted nothing.
count_failure() {
  local file="$run_dir/job/retries-$SLURM_JOB_ID" count=0 known=""
  if [[ -e $file ]]; then
    { read -r count && known="$(cat)"; } <"$file"
    ! has_new_checkpoint "$run_dir" "$known" || count=0
  fi
  count=$((count + 1))
  { printf '%d\n%s\n' "$count" "$(checkpoints_of "$run_dir")" >"$file.part" && mv "$file.part" "$file"; } ||
    count="$(count_of_starts)"
  printf '%d\n' "$count"
} 2>/dev/null

# end_run STATUS of a step: what becomes of the job.
end_run() {
  local status="$1" reason
  # In a row: a start that got on begins the count anew.
  ! has_progressed || rm -f "$run_dir/job/idle-starts-$SLURM_JOB_ID" 2>/dev/null
  # STOP that came after this script had looked for it: the program refuses it as wrong input.
  if ((status == 2)) && [[ -e $run_dir/STOP ]]; then status=85; fi
  case "$status" in
    0) say "done" ;;
    2 | 126 | 127) # wrong input, or no such program
      say "failed: exit status $status"
      [[ $job_name != chain-* ]] || is_locked "$run_dir" || give_up "$run_dir" "exit status $status of job $SLURM_JOB_ID; its log says why"
      ;;
    93)
      say "not requeued: the program says that a restart cannot help (exit status 93)"
      give_up "$run_dir" "exit status 93 of job $SLURM_JOB_ID; its log says why"
      ;;
    85) go_on "$(reason_not_to_requeue "$run_dir" "$start_checkpoints" "$max_restarts")" ;;
    *)
      if [[ -n $ended_because ]]; then
        status=85
        go_on "$(reason_not_to_interrupt)"
      elif is_untimely_stop "$status"; then
        say "stopped before the training had begun"
        status=85
        go_on "$(reason_not_to_interrupt)"
      else
        say "failed: exit status $status"
        case "$status" in
          125 | 137 | 253) # by SIGKILL; 125 or 253 where Slurm tells of its memory
            say "a rank was killed; if for its memory (oom_kill above): more MEM=, fewer RANKS= or a smaller train.micro_block"
            ;;
        esac
        go_on "$(reason_not_to_retry)"
      fi
      ;;
  esac
  exit "$status"
}

# Was a rank told to stop before it could listen, or this script before there was a rank? SIGTERM is what
# preemption sends; where there was progress, the ranks listened, and it is something else.
is_untimely_stop() {
  [[ $stop_asked == yes ]] || (($1 == 128 + 10)) ||
    { (($1 == 128 + 15)) && ! has_progressed; }
}

# Why a start that was ended from outside must be the last one. One without a checkpoint may have had bad luck.
reason_not_to_interrupt() {
  local reason count
  reason="$(reason_against_restarts "$run_dir" "$max_restarts")"
  if [[ -n $reason ]]; then
    echo "$reason"
  elif ! has_progressed && count="$(count_up idle-starts)" && ((count >= starts_without_progress)); then
    echo "no progress in $count starts: none wrote a checkpoint ($(newest_text "$run_dir"))"
  fi
}

# Why a failure must be the last one. A killed rank or a lost node may pass; wrong input never does.
reason_not_to_retry() {
  local reason count
  reason="$(reason_against_restarts "$run_dir" "$max_restarts")"
  if [[ -n $reason ]]; then
    echo "$reason"
  elif ((retries == 0)); then
    echo "RETRIES is 0"
  elif count="$(count_failure)" && ((count > retries)); then
    echo "this job was tried again $retries times without a new checkpoint (RETRIES)"
  fi
}

# go_on REASON: requeues this job, unless there is a reason not to.
go_on() {
  if stopped_in_place && [[ ! -e $run_dir/STOP ]]; then
    say "not started again: stopped on request"
  elif [[ -n $1 ]]; then
    say "not requeued: $1"
  elif [[ $may_requeue == no ]]; then
    say "not requeued here: $([[ $job_name == chain-* ]] && echo "the next job of the chain continues, or ")submit again to go on"
  elif ! requeue_this_job; then
    say "Slurm did not requeue this job; submit again to go on"
  fi
}
