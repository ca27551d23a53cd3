# shellcheck shell=bash disable=SC2154,SC2034  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# jobs/submit --wait: until all jobs of the submission have ended. The jobs do not mind when it is interrupted.

declare -A state_of name_of
kWaitSeconds="${QUERN_WAIT_SECONDS:-5}"

is_over() {
  case "$1" in
    COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | PREEMPTED | OUT_OF_MEMORY | BOOT_FAIL | DEADLINE | GONE) ;;
    *) return 1 ;;
  esac
}

# ask_states ID...: the state of each job in state_of; that of an array is the state of a task that is not over,
# else of one that failed. Fails when Slurm does not answer: a controller may be busy or restarting.
ask_states() {
  local ids answer id state worst
  ids="$(IFS=,; echo "$*")"
  if ! answer="$(squeue -h -r -t all -j "$ids" -o '%F %T' 2>&1)"; then
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
    done < <(awk -v id="$id" '$1 == id { print $2 }' <<<"$answer")
    state_of[$id]="$worst"
  done
}

# The exit status of a job that is over, "-" of one that never started. Slurm's controller forgets it after
# minutes; what its accounting keeps is asked then.
status_of_job() {
  local id="$1" lines state code worst=0 started=no
  lines="$(scontrol show job -o "$id" 2>/dev/null |
    sed -n 's/.* JobState=\([A-Z_]*\).* ExitCode=\([0-9]*:[0-9]*\).*/\1 \2/p')"
  [[ -n $lines ]] || lines="$(sacct -n -P -X -j "$id" -o State,ExitCode 2>/dev/null | sed 's/\( by [^|]*\)\{0,1\}|/ /')"
  [[ -n $lines ]] || {
    warn "job $id: Slurm has forgotten how it ended (its log tells)"
    echo 1
    return
  }
  while read -r state code; do
    [[ $state != COMPLETED ]] || code=0:0
    if [[ $state != COMPLETED && $code == 0:0 ]]; then
      # Cancelled, or out of time: not a status of the script.
      code=1:0
    elif [[ ${code%:*} == 0 && ${code#*:} != 0 ]]; then
      code=$((128 + ${code#*:})):0
    fi
    [[ $state == CANCELLED ]] && grep -q "StartTime=Unknown\|RunTime=00:00:00" < <(scontrol show job -o "$id" 2>/dev/null) ||
      started=yes
    ((${code%:*} <= worst)) || worst="${code%:*}"
  done <<<"$lines"
  if [[ $started == yes ]]; then echo "$worst"; else echo -; fi
}

# How far those that train are: the step of the last whole line of metrics.jsonl.
step_text() {
  local step
  step="$(tail -c 4000 "${submission_home:-/none}/metrics.jsonl" 2>/dev/null | grep -o '"step":[0-9]*' | tail -n 1)" || true
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

wait_for_jobs() {
  local id name open statuses=() unanswered=0
  [[ $mode == submit ]] || return 0
  for name in "${!job_id[@]}"; do name_of[${job_id[$name]}]="$name"; done
  local ids=("${queued[@]}")
  queued=() # what is told at an early end concerns jobs that nobody waits for
  trap 'printf "\n%s\n" "the jobs go on: ${jobs_prefix}status ${submission_home:-RUN_DIR}, ${jobs_prefix}stop ends them"; exit 130' INT
  while :; do
    if ask_states "${ids[@]}"; then
      unanswered=0 open=0
      for id in "${ids[@]}"; do is_over "${state_of[$id]}" || open=1; done
      show_progress "$(progress_text "${ids[@]}")"
      ((open == 1)) || break
    elif ((unanswered++ == 0)); then
      warn "Slurm does not answer; asking on"
    fi
    sleep "$kWaitSeconds"
  done
  [[ ! -t 1 ]] || printf '\n'
  for id in "${ids[@]}"; do
    statuses+=("$(status_of_job "$id")")
    say "job $id: ${name_of[$id]} ${state_of[$id]}, status ${statuses[-1]}"
  done
  exit "$(status_of_plan "${statuses[@]}")"
}
