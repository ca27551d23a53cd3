# shellcheck shell=bash disable=SC2154,SC2034  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# jobs/submit --wait: until all jobs of the submission have ended. The jobs do not mind when it is interrupted.

declare -A state_of name_of
declare -A tasks_of # of each job: its tasks and their states, as they were when the ended ones were noted
declare -A end_of   # of each task that is over, ID/TASK: its exit status
# Seconds, the last one again and again: some sites forget a job a minute after its end.
kPauses=(5 5 5 5 5 5 10 10 10 15 15 20 30)

is_over() {
  case "$1" in
    COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | PREEMPTED | OUT_OF_MEMORY | BOOT_FAIL | DEADLINE | GONE) ;;
    *) return 1 ;;
  esac
}

# ask_states ID...: the state of each job in state_of; that of an array is the state of a task that is not over,
# else of one that failed; what has ended is noted. Fails when Slurm does not answer: a controller may be busy or restarting.
ask_states() {
  local ids answer id state worst tasks
  ids="$(IFS=,; echo "$*")"
  if ! answer="$(squeue -h -r -t all -j "$ids" -o '%F %K %T' 2>&1)"; then
    [[ $answer == *"Invalid job id"* ]] || return 1
    answer=""
  fi
  for id in "$@"; do
    worst=GONE
    while read -r state; do
      if ! is_over "$worst" && [[ $worst != PENDING ]]; then
        break
      elif ! is_over "$state" || [[ $worst == GONE || $worst == COMPLETED ]]; then
        worst="$state"
      fi
    done < <(awk -v id="$id" '$1 == id { print $3 }' <<<"$answer")
    # What was seen at its end has not changed since.
    [[ $worst == GONE ]] && is_over "${state_of[$id]:-}" || state_of[$id]="$worst"
    tasks="$(awk -v id="$id" '$1 == id' <<<"$answer")"
    [[ $tasks == "${tasks_of[$id]:-}" ]] || ! note_ends "$id" || tasks_of[$id]="$tasks"
  done
}

# note_ends ID: the exit status of each of its tasks that is over, in end_of. Slurm's controller forgets a job, or a
# task of an array, minutes after its end, while others of the submission go on. Fails when Slurm does not answer.
note_ends() {
  local lines line state code
  local pattern=' JobState=([A-Z_]+) .* ExitCode=([0-9]+:[0-9]+) RunTime=([^ ]+)'
  lines="$(scontrol show job -o "$1" 2>/dev/null)" || return 1
  while IFS= read -r line; do
    [[ $line =~ $pattern ]] || continue
    state="${BASH_REMATCH[1]}" code="${BASH_REMATCH[2]}"
    is_over "$state" || continue
    if [[ $state == CANCELLED && (${BASH_REMATCH[3]} == 00:00:00 || $line == *" StartTime=Unknown "*) ]]; then
      code=- # it never started
    else
      code="$(status_of_end "$state" "$code")"
    fi
    [[ $line =~ \ ArrayTaskId=([^ ]+) ]] && state="${BASH_REMATCH[1]}" || state=""
    end_of[$1/$state]="$code"
  done <<<"$lines"
}

# accounting OPTION...: sacct, which does not look at SLURM_CLUSTERS as the other commands do.
accounting() { sacct ${SLURM_CLUSTERS:+"--clusters=$SLURM_CLUSTERS"} "$@"; }

# status_of_end STATE STATUS:SIGNAL, as a shell would say it.
status_of_end() {
  local status="${2%:*}"
  if [[ $1 == COMPLETED ]]; then
    status=0
  elif ((status == 0)); then
    # Cancelled, or out of time: not a status of the script.
    status=$((${2#*:} > 0 ? 128 + ${2#*:} : 1))
  fi
  echo "$status"
}

# The exit status of a job that is over, the worst of an array's tasks, "-" of one that never started. What nobody saw
# at its end is asked of the accounting.
status_of_job() {
  local id="$1" task state code worst=-
  note_ends "$id" || true
  for task in "${!end_of[@]}"; do
    [[ $task == "$id/"* && ${end_of[$task]} != - ]] || continue
    [[ $worst != - ]] && ((end_of[$task] <= worst)) || worst="${end_of[$task]}"
  done
  if [[ " ${!end_of[*]}" != *" $id/"* ]]; then
    while read -r state code; do
      [[ -n $state ]] || continue
      code="$(status_of_end "$state" "$code")"
      [[ $worst != - ]] && ((code <= worst)) || worst="$code"
    done < <(accounting -n -P -X -j "$id" -o State,ExitCode 2>/dev/null | sed 's/\( by [^|]*\)\{0,1\}|/ /')
    [[ $worst != - ]] || {
      warn "job $id: Slurm no longer knows how it ended (see its log)"
      worst=1
    }
  fi
  echo "$worst"
}

# How far those that train are: the step of the last whole line of metrics.jsonl, which may hold figures of thousands
# of ranks.
step_text() {
  local step="" bytes
  for bytes in 4000 262144 16777216; do
    step="$(tail -c "$bytes" "${submission_home:-/none}/metrics.jsonl" 2>/dev/null | grep -o '"step":[0-9]*' | tail -n 1)" || true
    [[ -z $step ]] || break
  done
  [[ -z $step ]] || printf ', step %s' "${step#*:}"
}

progress_text() {
  local id text=""
  for id in "$@"; do text+="${text:+, }$id ${name_of[$id]} ${state_of[$id]}"; done
  printf '%s%s' "$text" "$(step_text)"
}

# show_progress TEXT: a line that is written over on a terminal, else one for each change of states.
last_states=""
show_progress() {
  if [[ -t 1 ]]; then
    printf '\r\033[K%s %.*s' "$(date +%H:%M:%S)" "$((${COLUMNS:-$(tput cols 2>/dev/null || echo 80)} - 10))" "$1"
  elif [[ ${1%, step *} != "$last_states" ]]; then
    last_states="${1%, step *}"
    say "$(date +%H:%M:%S) $1"
  fi
}

# rest LOOKS: after so many in a row that found nothing new. Slurm's controller serves everybody.
rest() {
  sleep "${QUERN_WAIT_SECONDS:-${kPauses[$1 < ${#kPauses[@]} ? $1 : -1]}}"
}

wait_for_jobs() {
  local id name open states before="" looks=0 statuses=() unanswered=0
  [[ $mode == submit ]] || return 0
  for name in "${!job_id[@]}"; do name_of[${job_id[$name]}]="$name"; done
  # shellcheck disable=SC2046  # names of variables
  unset $(compgen -e SQUEUE_) # filters of the user's would hide jobs
  local ids=("${queued[@]}")
  queued=() # what is told at an early end concerns jobs that nobody waits for
  trap 'printf "\n%s\n" "the jobs go on: ${jobs_prefix}status ${submission_home:-RUN_DIR}, ${jobs_prefix}stop ends them"; exit 130' INT
  while :; do
    if ask_states "${ids[@]}"; then
      unanswered=0 open=0
      for id in "${ids[@]}"; do is_over "${state_of[$id]}" || open=1; done
      show_progress "$(progress_text "${ids[@]}")"
      ((open == 1)) || break
      states="${state_of[*]} ${tasks_of[*]}"
      [[ $states == "$before" ]] || looks=0
      before="$states"
    elif ((unanswered++ == 0)); then
      warn "Slurm does not answer; asking on"
    fi
    rest $((looks++))
  done
  [[ ! -t 1 ]] || printf '\n'
  for id in "${ids[@]}"; do
    statuses+=("$(status_of_job "$id")")
    say "job $id: ${name_of[$id]} ${state_of[$id]}, status ${statuses[-1]}"
  done
  exit "$(status_of_plan "${statuses[@]}")"
}
