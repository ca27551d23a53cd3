# shellcheck shell=bash disable=SC2154,SC2034,SC2004  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# One job from its keys to Slurm's queue.

declare -A job_id
queued=()

resolve_folders() {
  local key text
  value[WORK_DIR]="$PWD"
  for key in "${key_order[@]}"; do
    case "${key_type[$key]}" in
      file | folder | path)
        text="${value[$key]}"
        [[ -z $text || $key == QUERN ]] || value[$key]="$(absolute "$text")"
        ;;
      folders) value[$key]="$(while IFS= read -r text; do absolute "$text"; done <<<"${value[$key]}")" ;;
    esac
  done
  value[HOME_DIR]="${value[$home_key]}"
  check_value "the working folder" path "$PWD"
}

resolve() {
  local given_time="${value[TIME]:-}"
  check_account
  check_place
  "resolve_$job_kind"
  check_allocation
  resolve_folders
  check_queue
  warn_of_short_time
  warn_of_little_memory
  check_signal
  : "${value[JOB_NAME]:=$(basename "${value[HOME_DIR]}")}"
  value[SITE]="${site[NAME]}"
  value[MAIL_TYPE]="${value[MAIL]:+END,FAIL}"
  value[OMP_BIND]="${site[OMP_BIND]}"
  value[THREADS_PER_CORE]="${site[THREADS_PER_CORE]}"
  value[GPU_STEP]="${site[GPU_STEP]}"
  value[ANALYSIS]="$(cd "$jobs_folder/../analysis" && pwd)"
  value[MAY_REQUEUE]="${value[REQUEUE]:-${site[REQUEUE]}}"
  value[REQUEUE_FLAG]=--no-requeue
  [[ ${value[MAY_REQUEUE]} == no ]] || value[REQUEUE_FLAG]=--requeue
  name_copies
  [[ $(type -t check_template) != function ]] || check_template
  # The first jobs of a plan may be done while the last ones are submitted.
  if [[ $pass == check && -e ${value[HOME_DIR]}/DONE && -n ${value[MAX_RESTARTS]:-} ]]; then
    fail "${value[HOME_DIR]}/DONE is there: this run is finished (remove the file to train more epochs)"
  fi
  if [[ $pass == check && $go_on == no && -e ${value[HOME_DIR]}/STOP && -n ${value[MAX_RESTARTS]:-} ]]; then
    warn "${value[HOME_DIR]}/STOP is there: the job will not start (${jobs_prefix}again removes it)"
  fi
  check_resume
  resolve_program
  warn_of_python
  check_recipe
}

check_resume() {
  case "${value[RESUME]:-auto}" in
    auto | never) ;;
    *) [[ -e ${value[RESUME]} ]] || fail "RESUME=${value[RESUME]}: auto, never, a checkpoint file or a run folder was expected" ;;
  esac
}

# job NAME TEMPLATE DEPENDENCY KEY=VALUE...: NAME is that of its script and log; DEPENDENCY as after
# sbatch --dependency=, or empty. Leaves Slurm's id in job_id[NAME].
job() {
  local name="$1" file="$jobs_folder/templates/$2.sbatch" dependency="$3" text
  shift 3
  unset -f check_template keep_of_template
  files_of_template=()
  declare_keys "$file"
  take_values "$@"
  add_split_settings
  # shellcheck source=/dev/null
  [[ ! -f ${file%.sbatch}.check.sh ]] || source "${file%.sbatch}.check.sh"
  value[LOG_NAME]="$name"
  resolve
  dependency="$(merged_dependency "$dependency")"
  check_after
  check_association
  check_mpi_type
  check_other_jobs "$dependency"
  text="$(render "$file")"
  case "$pass" in
    check)
      add_cost
      job_id[$name]="$name"
      ;;
    print)
      [[ -z $dependency ]] || say "# sbatch --dependency=$dependency"
      say "$text"
      ;;
    test) [[ $place != slurm ]] || cleanly sbatch --test-only <<<"$text" || fail "Slurm would not take $name (the reason is above)" ;;
    submit) if [[ $place == slurm ]]; then queue "$name" "$dependency" "$text"; else
      run_in_place "$name" "$dependency" "$text"
    fi ;;
  esac
}

# id_in TEXT, of sbatch --parsable: ID or ID;CLUSTER. Some sites put a program in its place that says more before.
id_in() {
  local line found=""
  while IFS= read -r line; do
    [[ ! $line =~ ^([0-9]+)(;[^ ]*)?$ ]] || found="${BASH_REMATCH[1]}"
  done <<<"$1"
  [[ -n $found ]] && printf '%s\n' "$found"
}

queue() {
  local name="$1" dependency="$2" folder="${value[HOME_DIR]}" options=(--parsable) id said
  [[ -z $dependency ]] || options+=("--dependency=$dependency" --kill-on-invalid-dep=yes)
  # All of it has to be there before sbatch: the job may start at once.
  remember "$folder" "$name"
  keep "$folder" "$name" "$3"
  [[ -z ${value[MAX_RESTARTS]:-} ]] || try_again "$folder" # of those that train
  remove_stop "$folder"
  said="$(cleanly sbatch "${options[@]}" "$folder/job/$name.sbatch")" || {
    [[ -z $said ]] || printf '%s\n' "$said" >&2
    put_back
    fail "Slurm refused the job $name (the reason is above); the files of $folder are as before"
  }
  forget
  id="$(id_in "$said")" || {
    [[ -z $said ]] || printf '%s\n' "$said" >&2
    fail "sbatch ended well, and what it printed${said:+ (above)} has no line with a job id alone; $name may be in the \
queue: squeue -u $(id -un)"
  }
  job_id[$name]="$id"
  queued+=("$id")
  record_job "$id" "$name" "$folder" # first: what it says no other file does
  printf '%s %s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$id" "$command_line" >>"$folder/job/submitted.txt"
  keep_of_job "$folder" "$name" "$id"
  describe_job "$name" "$id" "$dependency"
}

describe_job() {
  local name="$1" id="$2" folder="${value[HOME_DIR]}" shape="1 process" log
  [[ -z ${value[TOTAL_RANKS]:-} ]] ||
    shape="${value[NODES]} node(s) x ${value[RANKS]} rank(s) x ${value[CPUS]} CPU(s)"
  log="$folder/log/$name-$id.out"
  [[ -z ${value[ARRAY]:-} ]] || log="$folder/log/$name-${id}_N.out"
  say "job $id: $name at ${site[NAME]}, $shape, at most $(spoken_time "${value[TIME]}")${3:+, after $3}"
  say "  script  $folder/job/$name.sbatch"
  say "  log     $log"
  if [[ -n ${value[MAX_RESTARTS]:-} ]]; then
    say "  stop    ${jobs_prefix}stop $folder   (writes a checkpoint; not requeued), or scancel $id"
  else
    say "  stop    scancel $id"
  fi
}

# What ends in the middle of a plan leaves jobs that wait for others.
tell_what_is_queued() {
  local status=$?
  forget
  ((status == 0 || ${#queued[@]} == 0)) ||
    printf 'submit: queued before that: %s\n  remove     scancel %s\n' "${queued[*]}" "${queued[*]}" >&2
}
trap tell_what_is_queued EXIT

summarise_plan() {
  [[ $mode == submit && $place == slurm ]] || return 0
  say "all of them: squeue -j $(IFS=,; echo "${queued[*]}")"
  say "stop all:    scancel ${queued[*]}"
}
