# shellcheck shell=bash disable=SC2154,SC2153,SC2034  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# What a sweep must fulfil beyond the types of its keys.

check_template() {
  local -i per="${value[TRIALS_PER_JOB]}" ranks="${value[TOTAL_RANKS]}" tasks count
  local trials
  read_grid "${value[GRID]}" strict
  count=${#trials[@]}
  ((count > 0)) || fail "GRID=${value[GRID]}: there is no trial in it"
  # They stand in the script: tasks that wait in the queue keep them when the file is edited.
  value[TRIALS]="$(printf '%s\n' "${trials[@]}")" key_default[TRIALS]=+
  value[COMMON]="recipe $(sha256sum <"${value[RECIPE]}" | cut -c1-12)${value[SET]:+ SET=${value[SET]//$'\n'/ SET=}}"
  ((per <= count)) || fail "TRIALS_PER_JOB=$per: the grid has only $count trials"
  ((per == 1 || ranks % per == 0)) ||
    fail "TRIALS_PER_JOB=$per: NODES x RANKS = $ranks ranks cannot be shared out equally"
  ((per == 1 || ranks / per <= value[RANKS])) ||
    fail "TRIALS_PER_JOB=$per: a packed trial stays on one node (NODES x RANKS / TRIALS_PER_JOB = \
$((ranks / per)), RANKS = ${value[RANKS]})"
  ((per == 1 || value[RANKS] % (ranks / per) == 0)) ||
    fail "TRIALS_PER_JOB=$per: each trial has $((ranks / per)) ranks (NODES x RANKS / TRIALS_PER_JOB) and stays on one \
node, of which RANKS=${value[RANKS]} takes no whole number: $(fitting_shares "$count") would fit"
  tasks=$(((count + per - 1) / per))
  [[ -z ${site[MAX_ARRAY]} ]] || ((tasks <= site[MAX_ARRAY])) ||
    fail "$count trials make $tasks tasks: ${site[NAME]} takes at most ${site[MAX_ARRAY]} (raise TRIALS_PER_JOB)"
  check_array_size "$count" "$tasks"
  value[GPU_STEP]="${value[GPU_STEP]//@GPUS@/$((ranks / per))}"
  if [[ $pass == check ]]; then
    check_earlier_trials
    choose_tasks "$count" "$per"
  fi
  value[ARRAY]="$sweep_tasks%${value[MAX_PARALLEL]}"
  [[ ${value[FINISHED]} == skip ]] || files_of_template=("${finished_trials[@]}")
}

# fitting_shares TRIALS: the values of TRIALS_PER_JOB with which packed trials fill the nodes.
fitting_shares() {
  local -i per ranks="${value[TOTAL_RANKS]}"
  local fitting=()
  for ((per = 1; per <= ranks && per <= $1; per += 1)); do
    ((ranks % per > 0 || per > 1 && value[RANKS] % (ranks / per) > 0)) || fitting+=("$per")
  done
  printf '%s\n' "${fitting[*]}"
}

# read_grid FILE [strict]: its trials, in the array trials; single blanks between the settings of each.
read_grid() {
  local text item words
  local -i line=0
  trials=()
  while IFS= read -r text || [[ -n $text ]]; do
    line+=1
    [[ ! $text =~ ^[[:space:]]*(#|$) ]] || continue
    read -r -a words <<<"${text%$'\r'}"
    for item in "${words[@]}"; do
      [[ -z ${2:-} || $item == *=* ]] ||
        fail "$1:$line: '$item': key.path=value was expected, without blanks"
    done
    trials+=("${words[*]}")
  done <"$1"
}

# Trials of an earlier submission are continued, or left alone when they are finished. Each must be of the line
# that has its number.
check_earlier_trials() {
  local n folder kept now=("${trials[@]}") earlier=()
  if [[ -f ${value[RUN_DIR]}/job/grid.txt ]]; then
    read_grid "${value[RUN_DIR]}/job/grid.txt"
    earlier=("${trials[@]}")
  fi
  for n in "${!now[@]}"; do
    folder="${value[RUN_DIR]}/trial-$n"
    [[ -d $folder ]] || continue
    kept="$(cat "$folder/job/trial" 2>/dev/null)" || [[ ! -e $folder/recipe.toml ]] || kept="${earlier[n]:-}"
    [[ -z $kept || $kept == "${now[n]}" ]] ||
      fail "GRID=${value[GRID]}: trial $n is '${now[n]}' there, and $folder holds '$kept': append new trials at \
the end of the grid, or take another RUN_DIR"
    [[ -e $folder/DONE && -f $folder/job/common && ${value[FINISHED]} == skip ]] || continue
    kept="$(<"$folder/job/common")"
    [[ $kept == "${value[COMMON]}" ]] ||
      fail "$folder is finished with $kept, and this sweep has ${value[COMMON]}: take another RUN_DIR, or \
FINISHED=again to train the finished trials further"
  done
}

# choose_tasks TRIALS TRIALS_PER_JOB: leaves in sweep_tasks, as sbatch --array names them, those with a trial that is
# not finished, and in finished_trials the files DONE of the others. A task keeps its number.
choose_tasks() {
  local -i n begun=0
  local folder chosen=() text
  sweep_tasks="" finished_trials=()
  for ((n = 0; n < $1; n += 1)); do
    folder="${value[RUN_DIR]}/trial-$n"
    if [[ -e $folder/DONE ]]; then
      finished_trials+=("$folder/DONE")
      [[ ${value[FINISHED]} == again ]] || continue
    elif compgen -G "$folder/checkpoints/ckpt-*.h5" >/dev/null; then
      begun+=1
    fi
    chosen+=($((n / $2)))
  done
  ((${#chosen[@]} > 0)) ||
    fail "${value[RUN_DIR]}: all trials are finished: $1 of $1 (FINISHED=again trains them further)"
  sweep_tasks="$(ranges_of "${chosen[@]}")"
  n=${#finished_trials[@]}
  ((n + begun > 0)) || return 0
  text="not started again"
  [[ ${value[FINISHED]} == skip ]] || text="trained further"
  note "sweep: of $1 trials $n finished ($text), $begun resume, $(($1 - n - begun)) begin"
}

# The job looks for DONE when it starts.
keep_of_template() {
  ((${#files_of_template[@]} == 0)) || rm -f "${files_of_template[@]}"
}
