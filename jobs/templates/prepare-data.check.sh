# shellcheck shell=bash disable=SC2154  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# What prepare-data must fulfil beyond the types of its keys. The job looks again.
# shellcheck source=jobs/lib/job/data_folder.sh
source "$jobs_folder/lib/job/data_folder.sh"

check_template() {
  local part reason
  for part in train test; do
    reason="$(reason_not_to_replace "${value[DATA_DIR]}" "$part")"
    [[ -z $reason ]] || fail "DATA_DIR=${value[DATA_DIR]}: $reason"
  done
}
