# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# note_this_job ID NAME FOLDER: a script that somebody gave to sbatch stands in no list yet. jobs/status, jobs/stop and
# jobs/submit look into that of the run folder.
note_this_job() {
  local list="$3/job/jobs.txt"
  [[ -z ${QUERN_IN_PLACE:-} ]] && ! grep -q " $1 " "$list" || return 0
  mkdir -p "$3/job" && printf '%s %s %s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" "$2" "$3" >>"$list"
} 2>/dev/null
