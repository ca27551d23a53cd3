# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The jobs of a run folder, from its own records, and which of them are queued or running. For jobs/stop and
# jobs/again; jobs/status reads the same files.

# shellcheck disable=SC2046  # names of variables
unset $(compgen -e SQUEUE_) # filters of the user's would hide jobs that run

# jobs_of FOLDER: "ID NAME FOLDER" a line, each id once, the oldest first.
jobs_of() {
  local time id name folder
  {
    [[ ! -f $1/job/jobs.txt ]] || cat "$1/job/jobs.txt"
    # Older submissions, and jobs of plans that belong to another folder.
    [[ ! -f $1/job/submitted.txt ]] || sed -n 's/^\([^ ]*\) \([^ ]*\) .*/\1 \2 ? ?/p' "$1/job/submitted.txt"
  } | while read -r time id name folder; do
    [[ $id =~ ^[0-9]+$|^(local|here)-[0-9-]+$ ]] || continue
    [[ $folder == /* ]] || folder="$1"
    printf '%s %s %s %s\n' "$time" "$id" "$name" "$folder"
  done | awk '!seen[$2]++ { print $2, $3, $4 }'
}

# Is the process that runs this job in place alive? $1 its file job/ID.txt. Prints its pid where it is on
# this machine, "elsewhere" where nobody can tell.
process_in_place() {
  local key text host="" pid="" ended="" started
  [[ -f $1 ]] || return 1
  while read -r key text; do
    case "$key" in
      host) host="$text" ;;
      pid) pid="$text" ;;
      ended) ended="$text" ;;
    esac
  done <"$1"
  [[ -z $ended && -n $pid ]] || return 1
  if [[ $host != "$(uname -n)" ]]; then
    echo elsewhere
    return
  fi
  started="$(sed -e 's/.*) //' "/proc/${pid%% *}/stat" 2>/dev/null | cut -d' ' -f20)"
  [[ -n $started && $started == "${pid#* }" ]] || return 1 # a process may have the number of an old one
  printf '%s\n' "${pid%% *}"
}

# live_jobs FOLDER: "ID NAME STATE FOLDER" of those that are queued or running; PID or "elsewhere" stands
# as STATE of jobs that run in place. Fails when Slurm cannot be asked.
live_jobs() {
  local list ids id name folder states state pid
  list="$(jobs_of "$1")"
  ids="$(awk '$1 ~ /^[0-9]+$/ { print $1 }' <<<"$list" | paste -sd,)"
  states=""
  if [[ -n $ids ]] && command -v squeue >/dev/null; then
    # Slurm forgets jobs; asked for a single one, it says so with an error.
    states="$(squeue -h -j "$ids" -o '%F %T' 2>&1)" || {
      [[ $states == *"Invalid job id"* ]] || {
        printf '%s\n' "$states" >&2
        return 1
      }
      states=""
    }
  fi
  while read -r id name folder; do
    [[ -n $id ]] || continue
    if [[ $id == [0-9]* ]]; then
      # The tasks of an array may differ: one that runs counts more.
      state="$(awk -v id="$id" '$1 == id { print $2 }' <<<"$states" | sort -u | sed -n '/^PENDING$/!p;$p' | head -n 1)"
      [[ -z $state ]] || printf '%s %s %s %s\n' "$id" "$name" "$state" "$folder"
    else
      pid="$(process_in_place "$folder/job/$id.txt")" || continue
      printf '%s %s %s %s\n' "$id" "$name" "$pid" "$folder"
    fi
  done <<<"$list"
}

# The folder of a run, absolute; fails where nothing was submitted.
find_run() {
  local folder
  folder="$(cd "$1" 2>/dev/null && pwd)" || fail "$1: there is no such folder (from $PWD)"
  [[ -d $folder/job ]] || fail "$folder: no folder of a run that was submitted (it has no job/)"
  printf '%s\n' "$folder"
}
