# shellcheck shell=bash disable=SC2154  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# What prepare-data must fulfil beyond the types of its keys. The job looks again.
# shellcheck source=jobs/lib/job/data_folder.sh
source "$jobs_folder/lib/job/data_folder.sh"

check_template() {
  local part reason missing=()
  # Another job may still have to make them.
  for part in "${idx_files[@]}"; do
    [[ -n ${value[AFTER]} ]] || find_idx "${value[IDX_DIR]}" "$part" >/dev/null || missing+=("$part")
  done
  ((${#missing[@]} == 0)) || fail "IDX_DIR=${value[IDX_DIR]}: there is no ${missing[*]} (or .gz; quern shard reads other formats)"
  for part in train test; do
    reason="$(reason_not_to_replace "${value[DATA_DIR]}" "$part")"
    [[ -z $reason ]] || fail "DATA_DIR=${value[DATA_DIR]}: $reason"
  done
}
