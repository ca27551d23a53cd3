# shellcheck shell=bash disable=SC2154  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# What was submitted stays with the results, and it is that copy that Slurm and the job get.

declare -A tried_again

# keep_text FILE: standard input becomes the content of FILE, at once. A job of this run may be starting
# just now and reads FILE: it sees the old content or the new one, never a part. The same content is left
# alone.
keep_text() {
  local file="$1" part
  part="$(mktemp "$file.XXXXXX")" || fail "cannot write in $(dirname "$file")"
  if ! cat >"$part" || ! chmod "$(file_mode)" "$part"; then
    rm -f "$part"
    fail "cannot write $file"
  fi
  if cmp -s "$part" "$file"; then
    rm -f "$part"
  else
    mv -f "$part" "$file" || fail "cannot write $file"
  fi
}

# The permissions that a new file has here; mktemp's are for one user, and a run folder may be a project's.
file_mode() { printf '%o\n' "$((0666 & ~0$(umask)))"; }

# keep FOLDER NAME SCRIPT
keep() {
  local folder="$1" name="$2"
  mkdir -p "$folder/job" "$folder/log" || fail "cannot write the folder $folder"
  keep_text "$folder/job/$name.sbatch" <<<"$3"
  keep_text "$folder/job/site.env" <"${site[FILE]}"
  keep_text "$folder/job/version.txt" <<<"$quern_version"
  [[ -z ${value[RECIPE]:-} ]] || keep_text "${value[JOB_RECIPE]}" <"${value[RECIPE]}"
  [[ -z ${value[GRID]:-} ]] || keep_text "$folder/job/grid.txt" <"${value[GRID]}"
}

# Whoever submits again wants another try, of a run or of the trials of a sweep, and RESUME to count again. The
# first job of a plan clears the marks; those after it must see what the first one leaves.
try_again() {
  [[ -z ${tried_again[$1]:-} ]] || return 0
  tried_again[$1]=yes
  rm -f "$1/job/begun" "$1/job/GAVE_UP" "$1"/trial-*/job/GAVE_UP
}
