# shellcheck shell=bash disable=SC2154,SC2034,SC2004  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# A filled job on this machine or in this allocation. It is the same script with the same files; programs in
# lib/local/bin stand for Slurm's. Signals to jobs/submit: USR1 goes to the ranks, as Slurm's signal before the
# end does; INT, TERM and HUP do the same, and the job is not started again; a second one, or USR2, ends it at once.
#
# RUN_DIR/job/ID.txt tells jobs/status and jobs/stop what goes on, in lines "key value", of which the last counts.

declare -A in_place_status
in_place_statuses=()
in_place_count=0
in_place_folder=""
stopping=no # yes: no further start
request="" # what a signal asked for

note_fact() { printf '%s %s\n' "$2" "$3" >>"${value[HOME_DIR]}/job/$1.txt"; }
start_time_of() { sed -e 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# choose_id: in id, one that no other job of this submission or folder has.
choose_id() {
  while :; do
    ((in_place_count += 1))
    id="$place-$$"
    ((in_place_count == 1)) || id+="-$in_place_count"
    [[ -e ${value[HOME_DIR]}/job/$id.txt ]] || return 0
  done
}

# Does the dependency let the job start? "afterok:ID" and such, with ids of jobs that ran in place.
may_start() {
  local part ids id
  for part in ${1//,/ }; do
    [[ $part == afterok:* ]] || continue
    ids="${part#afterok:}"
    for id in ${ids//:/ }; do
      [[ ${in_place_status[$id]:-1} == 0 ]] || return 1
    done
  done
}

# run_in_place NAME DEPENDENCY SCRIPT: leaves its exit status in in_place_status.
run_in_place() {
  local name="$1" dependency="$2" folder="${value[HOME_DIR]}" id tasks=("") task status worst=0
  keep "$folder" "$name" "$3"
  [[ -z ${value[MAX_RESTARTS]:-} ]] || try_again "$folder"
  remove_stop "$folder"
  choose_id
  job_id[$name]="$id"
  if [[ $stopping != no ]] || ! may_start "$dependency"; then
    say "job $id: $name is not started: one before it did not succeed"
    in_place_status[$id]=-
    in_place_statuses+=(-)
    return
  fi
  keep_of_job "$folder" "$name" "$id"
  printf '%s %s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$id" "$command_line" >>"$folder/job/submitted.txt"
  note_fact "$id" name "$name"
  note_fact "$id" host "$(uname -n)"
  note_fact "$id" pid "$$ $(start_time_of $$)"
  [[ $place != here ]] || note_fact "$id" allocation "$SLURM_JOB_ID"
  note_fact "$id" started "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  record_job "$id" "$name" "$folder"
  describe_in_place "$id" "$name"
  trap 'request=USR1' USR1
  trap 'request=stop' INT TERM HUP
  trap 'request=now' USR2
  [[ -z ${value[ARRAY]:-} ]] || mapfile -t tasks < <(numbers_of "${value[ARRAY]}")
  for task in "${tasks[@]}"; do
    if [[ $stopping != no || -n $task && -e $folder/STOP ]]; then
      note_fact "$id" task "$task -"
      ((worst > 0)) || worst=85
      continue
    fi
    status=0
    run_task "$id" "$name" "$task" || status=$?
    [[ -z $task ]] || note_fact "$id" task "$task $status"
    ((status <= worst)) || worst=$status
  done
  note_fact "$id" status "$worst"
  note_fact "$id" ended "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  in_place_status[$id]=$worst
  in_place_statuses+=("$worst")
  say "job $id: $name ended with status $worst"
}

describe_in_place() {
  local id="$1" name="$2" folder="${value[HOME_DIR]}" shape="1 process" log where="at ${site[NAME]}"
  [[ -z ${value[TOTAL_RANKS]:-} ]] ||
    shape="${value[NODES]} node(s) x ${value[RANKS]} rank(s) x ${value[CPUS]} CPU(s)"
  [[ $place == local ]] || where="in allocation $SLURM_JOB_ID at ${site[NAME]}"
  log="$folder/log/$name-$id.out"
  [[ -z ${value[ARRAY]:-} ]] || log="$folder/log/$name-${id}_N.out"
  say "job $id: $name $where, $shape"
  say "  script  $folder/job/$name.sbatch"
  say "  log     $log"
  say "  stop    Ctrl-C, or ${jobs_prefix}stop ${submission_home:-$folder}"
}

# run_task ID NAME TASK: one job, or one task of an array, with all its restarts.
run_task() {
  local id="$1" name="$2" task="$3" restarts=0 status log
  log="${value[HOME_DIR]}/log/$name-$id${task:+_$task}.out"
  while :; do
    status=0
    start_script "$id" "$name" "$task" "$restarts" "$log" || status=$?
    [[ -e $in_place_folder/requeue ]] || break
    rm -rf "${in_place_folder:?}"
    status=85
    [[ $stopping == no ]] || break
    ((restarts += 1))
    note_fact "$id" restarts "$restarts"
  done
  rm -rf "${in_place_folder:?}"
  return "$status"
}

# One start of the script, in a session of its own: what the terminal sends goes to jobs/submit alone.
start_script() {
  local id="$1" name="$2" task="$3" restarts="$4" log="$5" status=0 script tee clock
  in_place_folder="$(mktemp -d)" || fail "cannot make a temporary folder"
  mkdir "$in_place_folder/steps"
  mkfifo "$in_place_folder/out"
  setsid tee -p -a "$log" <"$in_place_folder/out" &
  tee=$!
  # shellcheck disable=SC2016  # for the new shell
  in_place_environment "$id" "$task" "$restarts" setsid bash -c \
    'exec 2>&1; echo $$ >"$QUERN_IN_PLACE/script"; exec bash "$0"' "${value[HOME_DIR]}/job/$name.sbatch" \
    </dev/null >"$in_place_folder/out" 2>/dev/null & # a requeue kills the script, and bash would say so
  script=$!
  start_clock
  wait_for "$script" || status=$?
  end_group "$clock"
  end_group "$(cat "$in_place_folder/script" 2>/dev/null)" # as Slurm does when a script has ended
  wait_for "$tee" || true
  return "$status"
}

# A signal interrupts `wait`; what it asks for is done outside of the trap.
wait_for() {
  local status asked
  while :; do
    status=0
    [[ -n $request ]] || { wait "$1" || status=$?; } 2>/dev/null # bash would name the signal of its end
    asked="$request" request=""
    case "$asked" in
      "") return "$status" ;;
      USR1) signal_steps USR1 || true ;;
      stop) stop_in_place ;;
      now) stop_at_once ;;
    esac
  done
}

# The signal before the end of TIME, and its end.
start_clock() {
  local -i seconds lead="${value[SIGNAL]:-0}"
  clock=""
  [[ $place == local && -n ${value[TIME]} && ${value[TIME]} != UNLIMITED ]] || return 0
  seconds="$(seconds_of "${value[TIME]}")"
  # shellcheck disable=SC2016  # for the clock's shell
  setsid bash -c 'sleep "$1"; kill -USR1 "$0"; sleep "$2"; kill -USR2 "$0"' "$$" "$((seconds - lead))" "$lead" \
    </dev/null >/dev/null 2>&1 &
  clock=$!
  disown "$clock"
}

end_group() { [[ -z $1 ]] || kill -KILL -- "-$1" 2>/dev/null || true; }

catches_usr1() { (((16#$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null || echo 0) >> 9) & 1)); }

# The signal for those steps that run, and for the script where it waits for one; fails when there is nobody.
signal_steps() {
  local file pid started found=1
  pid="$(cat "$in_place_folder/script" 2>/dev/null)" || pid=""
  [[ $1 != USR1 || -z $pid ]] || ! catches_usr1 "$pid" || { kill -USR1 "$pid" 2>/dev/null && found=0; }
  for file in "$in_place_folder"/steps/*; do
    pid="${file##*/}"
    [[ $pid =~ ^[0-9]+$ && -s $file ]] || continue
    started="$(<"$file")"
    if [[ $started == "$(start_time_of "$pid")" ]]; then
      kill "-$1" "$pid" 2>/dev/null && found=0
    else
      rm -f "$file" # the step has ended, and its number may be another process's
    fi
  done
  return "$found"
}

# With a checkpoint where there is something to save, else at once.
stop_in_place() {
  : >"$in_place_folder/stopping" # the script looks for it before it says what comes next
  if [[ $stopping == no && -n ${value[MAX_RESTARTS]:-} ]] && signal_steps USR1; then
    stopping=yes
    say "stopping: a checkpoint is written (once more: at once)"
  else
    stop_at_once
  fi
}

# The script first: it would start the step once more. Launchers get the time to end their ranks.
stop_at_once() {
  local script end=$((SECONDS + 10))
  stopping=now
  script="$(cat "$in_place_folder/script" 2>/dev/null)" || return 0
  kill -KILL "$script" 2>/dev/null || true
  while signal_steps TERM && ((SECONDS < end)); do sleep 0.5; done
  end_group "$script"
}

# in_place_environment ID TASK RESTARTS COMMAND...: what the job would find in Slurm.
in_place_environment() {
  local id="$1" task="$2" restarts="$3" facts
  shift 3
  facts=("QUERN_IN_PLACE=$in_place_folder" "QUERN_IN_PLACE_HOW=$place" "PATH=$jobs_folder/lib/local/bin:$PATH"
    "SLURM_CPUS_PER_TASK=${value[CPUS]:-1}" "SLURM_RESTART_COUNT=$restarts")
  [[ -z $task ]] || facts+=("SLURM_ARRAY_JOB_ID=$id" "SLURM_ARRAY_TASK_ID=$task")
  if [[ $place == local ]]; then
    cleanly env "${facts[@]}" "SLURM_JOB_ID=$id" "SLURM_JOB_NODELIST=$(uname -n)" SLURM_JOB_NUM_NODES=1 "$@"
    return
  fi
  facts+=("SLURM_NNODES=${value[NODES]:-1}" "SLURM_NTASKS_PER_NODE=${value[RANKS]:-1}")
  # In an interactive step its own share must not become that of the job's steps.
  [[ -z ${SLURM_STEP_ID:-} || $SLURM_STEP_ID == 4294967290 ]] || facts+=(SLURM_OVERLAP=1)
  env "${in_place_dropped[@]}" "${facts[@]}" "$@"
}
in_place_dropped=(-u SLURM_CPU_BIND -u SLURM_CPU_BIND_LIST -u SLURM_CPU_BIND_TYPE -u SLURM_CPU_BIND_VERBOSE
  -u SLURM_NTASKS -u SLURM_NPROCS -u SLURM_STEP_ID -u SLURM_STEPID -u SLURM_PROCID -u SLURM_LOCALID
  -u SLURM_DISTRIBUTION -u SLURM_NTASKS_PER_SOCKET -u SLURM_NTASKS_PER_CORE
  # What salloc was asked with: each step gets all devices of its nodes, and all of them stay visible.
  -u SLURM_GPUS -u SLURM_GPUS_PER_NODE -u SLURM_GPUS_PER_TASK -u SLURM_GPUS_PER_SOCKET -u SLURM_NTASKS_PER_GPU
  -u SLURM_CPUS_PER_GPU -u SLURM_GPU_BIND -u SLURM_TRES_BIND -u SLURM_TRES_PER_TASK -u SLURM_GRES)

# Whatever ran in place decides the exit status.
end_in_place() {
  local status
  [[ $place != slurm && $mode == submit ]] || return 0
  status="$(status_of_plan "${in_place_statuses[@]}")"
  exit "$status"
}
