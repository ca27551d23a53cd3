# shellcheck shell=bash disable=SC2154,SC2034  # the variables of the parameter block
# SPDX-License-Identifier: Apache-2.0

# The ranks run beside this script, which hears Slurm's signal meanwhile, hands it on, and ends ranks that
# do not answer: no run waits for the end of its TIME, and then for somebody to submit it again.

stop_told=no      # has the step been told
ended_because=""  # why this script ended the step, if it did
end_at=""         # in this shell's SECONDS: the end of the job's time
remind_at=0       # when to tell it again
still_for=0       # seconds without a sign of life
last_look=0
last_signs=""

# run_step COMMAND...: its exit status. Ranks that are told to stop get the signal again until they end,
# because those that start just now may have missed it.
run_step() {
  local status=0
  kill_lead=$((signal_lead / 4)) # seconds before the end of the time at which ranks that do not answer are ended
  ((kill_lead >= 15)) || kill_lead=$((signal_lead < 30 ? signal_lead / 2 : 15))
  ((kill_lead <= 120)) || kill_lead=120
  "$@" &
  step=$!
  stop_told=no remind_at=0 still_for=0 last_look=$SECONDS last_signs="$(signs_of_life)"
  ask_for_end
  while step_runs; do
    rest_a_little
    look_after_step
  done
  wait "$step" || status=$?
  return "$status"
}

step_runs() { kill -0 "$step" 2>/dev/null; }

# Ends early when a signal comes: bash runs traps only between commands, and during wait.
rest_a_little() {
  sleep $((SECONDS < 60 ? 1 : 5)) &
  wait $!
}

look_after_step() {
  step_runs || return 0
  if [[ $stop_asked == no && -n $end_at ]] && ((end_at - SECONDS < signal_lead * 3 / 4)); then
    ask_for_end # it may have been moved
    ((end_at - SECONDS >= signal_lead * 3 / 4)) || stop_asked=yes
  fi
  [[ $stop_asked == no ]] || tell_step
  if [[ $stop_told == yes ]] && ((end_at - SECONDS <= kill_lead)); then
    end_step "told to stop, and the time is nearly over"
  elif is_still; then
    end_step "nothing was written for $watchdog minutes (WATCHDOG)"
  fi
}

# Tells the ranks, directly: srun hands the signal on.
tell_step() {
  if ((SECONDS >= remind_at)); then
    kill -USR1 "$step" 2>/dev/null
    remind_at=$((SECONDS + 10))
  fi
  [[ $stop_told == no ]] || return 0
  stop_told=yes
  ask_for_end
  # Told by somebody, and not by the clock: there is as much time to stop.
  [[ -n $end_at ]] && ((end_at - SECONDS <= signal_lead + 120)) || end_at=$((SECONDS + signal_lead))
}

# What a running training changes: its figures, its checkpoints, its log.
own_log="/proc/$$/fd/1"
signs_of_life() {
  stat --dereference --format='%s %Y' "$run_dir/metrics.jsonl" "$run_dir/checkpoints" ${own_log:+"$own_log"} 2>/dev/null
}

is_still() {
  local since=$((SECONDS - last_look)) signs
  ((watchdog > 0 && since >= 10)) || return 1
  last_look=$SECONDS
  signs="$(signs_of_life)"
  if [[ $signs != "$last_signs" ]]; then
    still_for=0
  else
    # More means that this script was suspended, and the ranks with it.
    still_for=$((still_for + (since < 60 ? since : 0)))
  fi
  last_signs="$signs"
  ((still_for >= watchdog * 60))
}

# Once more by a signal that lets ranks write a checkpoint. Ranks that hang do not hear it; srun, told to end, kills
# them itself, also while Slurm's controller does not answer.
end_step() {
  ended_because="$1"
  say "ending the step: $1"
  kill -USR1 "$step" 2>/dev/null
  step_ends_within $((kill_lead / 3)) && return
  kill -TERM "$step" 2>/dev/null
  step_ends_within $((kill_lead / 3)) || kill -KILL "$step" 2>/dev/null
}

step_ends_within() {
  local end=$((SECONDS + $1))
  while step_runs; do
    ((SECONDS < end)) || return 1
    sleep 1
  done
}

# The end of the job's time as Slurm has it; without an answer what was known before.
ask_for_end() {
  local left days=0 parts
  # shellcheck disable=SC2046  # names of variables; such filters of the user's would hide this job
  left="$(unset $(compgen -e SQUEUE_); timeout 20 squeue --noheader --jobs="$(this_job)" --format=%L 2>/dev/null)" || return 0
  if [[ $left == *-* ]]; then
    days="${left%%-*}"
    left="${left#*-}"
  fi
  IFS=: read -r -a parts <<<"$left"
  ((${#parts[@]} == 2)) && parts=(0 "${parts[@]}")
  ((${#parts[@]} == 3)) || return 0
  end_at=$((SECONDS + ((10#$days * 24 + 10#${parts[0]}) * 60 + 10#${parts[1]}) * 60 + 10#${parts[2]}))
}
