# shellcheck shell=bash disable=SC2154  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# What Slurm is asked before anything is written: other jobs of the run, the jobs of AFTER, how large an array may be.
# A Slurm that does not answer refuses nothing: sbatch, which needs it, will say so.

declare -A asked # questions of this submission that were answered

# first_time QUESTION: is it asked for the first time, and before anything is written?
first_time() {
  [[ $pass == check && -z ${asked[$1]:-} ]] || return 1
  asked[$1]=yes
}

# unfiltered COMMAND...: without the user's SQUEUE_*, which hide jobs.
unfiltered() (
  # shellcheck disable=SC2046  # names of variables
  unset $(compgen -e SQUEUE_)
  "$@"
)

# waits_for_end DEPENDENCY ID: does a job with this dependency start after the end of that one?
waits_for_end() {
  local part
  for part in ${1//,/ }; do
    case "$part" in
      afterok:* | afterany:* | afternotok:* | aftercorr:*) [[ ":${part#*:}:" != *":$2:"* ]] || return 0 ;;
    esac
  done
  return 1
}

# training_jobs FOLDER: "ID NAME" of those that are queued or running and train there, the oldest first.
training_jobs() {
  local live id name state folder
  # shellcheck source=/dev/null
  live="$(source "$jobs_folder/lib/run/jobs_of.sh" && live_jobs "$1" 2>/dev/null)" || {
    warn "$1: whether a job of this run is queued or running is not known: Slurm does not answer"
    return 0
  }
  while read -r id name state folder; do
    [[ -n $id && $folder -ef $1 ]] || continue
    case "$name" in evaluate | report | prepare-data) continue ;; esac # they leave the run as it is
    if [[ $state == elsewhere ]]; then
      warn "$1: job $id ($name) was started on another machine and may still run"
    else
      printf '%s %s\n' "$id" "$name"
    fi
  done <<<"$live"
}

# check_other_jobs DEPENDENCY: two jobs cannot train in one folder at the same time. Who waits for the newest job of
# the run waits for all; those of a chain wait for each other by their name.
check_other_jobs() {
  local folder="${value[HOME_DIR]}" others same="" left="" newest="" id name advice
  [[ -n ${value[MAX_RESTARTS]:-} ]] && first_time "jobs of $folder" || return 0
  others="$(training_jobs "$folder")"
  [[ -n $others ]] || return 0
  [[ ,$1, != *,singleton,* ]] ||
    same="$(unfiltered squeue -h -j "$(cut -d' ' -f1 <<<"$others" | paste -sd,)" -n "${value[JOB_NAME]}" -u "$(id -un)" -o ' %F ' 2>/dev/null)" || same=""
  while read -r id name; do
    [[ $same != *" $id "* ]] || continue
    left+="${left:+, }$id ($name)" newest="$id"
  done <<<"$others"
  [[ -n $newest ]] && ! waits_for_end "$1" "$newest" || return 0
  advice="wait for its end, or end it with ${jobs_prefix}stop $folder"
  [[ $place != slurm || $newest != [0-9]* ]] || advice+=", or give AFTER=afterany:$newest to start after it"
  left="$folder: job $left is queued or running, and one job at a time trains there: $advice"
  [[ $mode == print ]] || fail "$left"
  warn "$left"
}

# states_of_job ID: of the job or of its tasks, a line each. Returns 1 where nobody knows it, 2 where Slurm does not answer.
states_of_job() {
  local answer states
  answer="$(scontrol show job -o "$1" 2>&1)" || [[ $answer == *"nvalid job id"* || $answer == *"not found"* ]] || return 2
  states="$(grep -o '\bJobState=[A-Z_]*' <<<"$answer" | cut -d= -f2)" || # Slurm's controller forgets, its accounting does not
    states="$(accounting -n -P -X -j "$1" -o State 2>/dev/null | cut -d' ' -f1)" || states=""
  [[ -n $states ]] || return 1
  printf '%s\n' "$states"
}

# check_earlier_job KIND ID: of AFTER. Slurm takes a job that it does not know for one that has succeeded.
check_earlier_job() {
  local states state status=0 failed="" open=""
  states="$(states_of_job "$2")" || status=$?
  case "$status" in
    1) fail "AFTER=${value[AFTER]}: Slurm knows no job $2: the id of a job of this cluster was expected (squeue lists \
those that are queued or running); leave out a job that has ended long ago" ;;
    2)
      warn "AFTER=${value[AFTER]}: whether job $2 is there is not known: Slurm does not answer"
      return
      ;;
  esac
  while read -r state; do
    if ! is_over "$state"; then open=yes; elif [[ $state != COMPLETED ]]; then failed="$state"; fi
  done <<<"$states"
  case "$1" in
    afterok) [[ -z $failed ]] || fail "AFTER=${value[AFTER]}: job $2 has ended as $failed, and this one would wait \
for its success: submit that one again, or AFTER=afterany:$2 if its end is enough" ;;
    afternotok) [[ -n $failed$open ]] || fail "AFTER=${value[AFTER]}: job $2 has succeeded, and this one would wait \
for its failure: AFTER=$2 starts after its success" ;;
  esac
}

check_after() {
  local parts part kind id
  [[ -n ${value[AFTER]:-} && $place == slurm ]] && command -v scontrol >/dev/null && first_time "AFTER=${value[AFTER]}" || return 0
  IFS=, read -r -a parts <<<"${value[AFTER]}"
  for part in "${parts[@]}"; do
    kind=afterok
    [[ $part != after* ]] || kind="${part%%:*}" part="${part#*:}"
    for id in ${part//:/ }; do
      [[ $kind != after ]] || id="${id%+*}" # minutes
      check_earlier_job "$kind" "$id"
    done
  done
}

# check_mpi_type: that of srun --mpi= in the site's SRUN.
check_mpi_type() {
  local type known
  [[ $place != local && " ${value[SRUN]:-}" =~ \ --mpi=([A-Za-z0-9_]+) ]] || return 0
  type="${BASH_REMATCH[1]}"
  command -v srun >/dev/null && first_time "srun --mpi=$type" || return 0
  # A line each, behind tabs or "srun: "; of some the versions, in one line.
  known="$(cleanly timeout 20 srun --mpi=list 2>&1 | tr -s '[:blank:],:' '\n' | grep -E '^(none|openmpi|pmi[a-z0-9_]*|cray_[a-z]+)$' | sort -u | paste -sd' ')" || known=""
  [[ " $known " != *" none "* || " $known " == *" $type "* ]] ||
    warn "SRUN=--mpi=$type of ${site[FILE]}: srun knows $known here, and would start no rank (a copy of the file with \
another SRUN is a site of your own)"
}

# check_array_size TRIALS TASKS: against the limit of the Slurm that is here.
check_array_size() {
  local limit
  [[ $place == slurm ]] && command -v scontrol >/dev/null && first_time "array of $2" || return 0
  limit="$(scontrol show config 2>/dev/null | sed -n 's/^MaxArraySize *= *\([0-9]*\).*/\1/p')" || return 0
  [[ -n $limit ]] || return 0
  ((limit > 0)) || fail "a sweep is an array, and Slurm takes none here (MaxArraySize=0)"
  (($2 <= limit)) || fail "$1 trials make $2 tasks, and Slurm takes arrays of at most $limit tasks here (MaxArraySize): \
TRIALS_PER_JOB=$((($1 + limit - 1) / limit)) or more bundles them (NODES x RANKS has to be a multiple of it)"
}
