# shellcheck shell=bash disable=SC2154,SC2153,SC2034  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# A folder holds one study: points that differ in more than the number of nodes must not meet in its report.

declare -A sum_of_program

describe_study() {
  local program
  program="$(find_quern)"
  if [[ -z ${sum_of_program[$program]:-} ]]; then
    sum_of_program[$program]="$(sha256sum "$program" 2>/dev/null | cut -c1-12)"
  fi
  printf '%s\n' "recipe $(sha256sum <"${value[RECIPE]}" | cut -c1-12)" "settings ${value[SET]//$'\n'/ }" \
    "mode ${value[MODE]}" "batch ${value[BATCH]}" "ranks ${value[RANKS]} a node" "CPUs ${value[CPUS]} a rank" \
    "site ${site[NAME]} ${value[PARTITION]} ${value[CONSTRAINT]}" "program ${sum_of_program[$program]:-unknown}"
}

check_template() {
  local folder="${value[RUN_DIR]}" study kept="" differences file
  study="$(describe_study)"
  value[STUDY]="$(sha256sum <<<"$study" | cut -c1-12)"
  [[ ! -f $folder/job/study.txt ]] || kept="$(<"$folder/job/study.txt")"
  if [[ $pass == check && $kept != "$study" ]]; then
    for file in "$folder"/nodes-*.json; do
      [[ -e $file ]] || continue
      differences="$(comm -13 <(sort <<<"$study") <(sort <<<"$kept") | paste -sd, | sed 's/,/, /g')"
      fail "$folder holds points of another study${kept:+ ($differences)}: $(basename "$file"), ...: take another RUN_DIR"
    done
  fi
  file="nodes-${value[NODES]}.json"
  files_of_template=("$folder/job/study.txt" "$folder/$file" "$folder/earlier/$file")
}

# What this job does not measure must not be filled up with an earlier figure.
keep_of_template() {
  local folder="${value[RUN_DIR]}" file="nodes-${value[NODES]}.json"
  describe_study | keep_text "$folder/job/study.txt"
  [[ ! -e $folder/$file ]] || { mkdir -p "$folder/earlier" && mv -f "$folder/$file" "$folder/earlier/"; } ||
    fail "cannot move $folder/$file"
}
