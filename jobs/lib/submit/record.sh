# shellcheck shell=bash disable=SC2154  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# What jobs/status, jobs/stop and jobs/again need to know, in RUN_DIR/job:
#   jobs.txt              a line for each job of a submission: TIME ID NAME FOLDER
#   command-TEMPLATE.txt  what to submit again: lines "folder PATH", "quern PROGRAM", "word WORD"
# Nobody executes them: they are read line by line.

submission_time="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
submission_home="" # the folder of a plan; its jobs may have others

# The folder that keeps the records of this submission, from the keys of the template or plan.
find_submission_home() {
  [[ -z $home_key || -z ${value[$home_key]:-} ]] || submission_home="$(absolute "${value[$home_key]}")"
}

# record_job ID NAME FOLDER
record_job() {
  local folder="${submission_home:-$3}"
  mkdir -p "$folder/job" || fail "cannot write the folder $folder"
  printf '%s %s %s %s\n' "$submission_time" "$1" "$2" "$3" >>"$folder/job/jobs.txt"
  {
    printf 'folder %s\nquern %s\n' "$PWD" "${value[QUERN]:-}"
    printf 'word %s\n' "${given_words[@]}"
  } | keep_text "$folder/job/command-$template_name.txt"
}
