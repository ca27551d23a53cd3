# shellcheck shell=bash disable=SC2154,SC2153,SC2034  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# What a sweep must fulfil beyond the types of its keys.

check_template() {
  local -i trials per="${value[TRIALS_PER_JOB]}" ranks="${value[TOTAL_RANKS]}" tasks line=0
  local text item
  # They stand in the script: tasks that wait in the queue keep them when the file is edited.
  value[TRIALS]="" key_default[TRIALS]=+
  while IFS= read -r text || [[ -n $text ]]; do
    line+=1
    [[ $text =~ ^[[:space:]]*(#|$) ]] && continue
    value[TRIALS]+="$text"$'\n'
    for item in $text; do
      [[ $item == *=* ]] || fail "${value[GRID]}:$line: '$item': key.path=value was expected, without blanks"
    done
  done <"${value[GRID]}"
  trials="$(grep -c -v -e '^[[:space:]]*#' -e '^[[:space:]]*$' "${value[GRID]}" || true)"
  ((trials > 0)) || fail "GRID=${value[GRID]}: there is no trial in it"
  ((per <= trials)) || fail "TRIALS_PER_JOB=$per: the grid has only $trials trials"
  ((per == 1 || ranks % per == 0)) ||
    fail "TRIALS_PER_JOB=$per: NODES x RANKS = $ranks ranks cannot be shared out equally"
  ((per == 1 || ranks / per <= value[RANKS])) ||
    fail "TRIALS_PER_JOB=$per: a packed trial stays on one node (NODES x RANKS / TRIALS_PER_JOB = \
$((ranks / per)), RANKS = ${value[RANKS]})"
  tasks=$(((trials + per - 1) / per))
  [[ -z ${site[MAX_ARRAY]} ]] || ((tasks <= site[MAX_ARRAY])) ||
    fail "$trials trials make $tasks tasks: ${site[NAME]} takes at most ${site[MAX_ARRAY]} (raise TRIALS_PER_JOB)"
  value[ARRAY]="0-$((tasks - 1))%${value[MAX_PARALLEL]}"
  value[GPU_STEP]="${value[GPU_STEP]//@GPUS@/$((ranks / per))}"
}
