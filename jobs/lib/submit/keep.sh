# shellcheck shell=bash disable=SC2154,SC2153  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# What was submitted stays with the results, and it is that copy that Slurm and the job get.

declare -A tried_again
# One call of jobs/submit: the jobs of a plan know by it what the first of them began.
submission="$(date -u +%Y%m%dT%H%M%SZ)-$$"

# name_copies: jobs of one folder may have recipes of different contents, and each restart must find its own:
# the copy's name has the content's checksum.
name_copies() {
  local name sum
  value[SUBMISSION]="$submission"
  [[ -n ${value[RECIPE]:-} ]] || return 0
  name="$(basename "${value[RECIPE]}")"
  sum="$(sha256sum <"${value[RECIPE]}")" || fail "cannot read ${value[RECIPE]}"
  value[JOB_RECIPE]="${value[HOME_DIR]}/job/${name%.toml}-${sum:0:8}.toml"
}

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

# keep FOLDER NAME SCRIPT: what a job needs before it is queued. site.env, version.txt and NAME.sbatch are those of
# the newest job.
keep() {
  local folder="$1" name="$2"
  mkdir -p "$folder/job" "$folder/log" || fail "cannot write the folder $folder"
  keep_text "$folder/job/$name.sbatch" <<<"$3"
  keep_text "$folder/job/site.env" <"${site[FILE]}"
  keep_text "$folder/job/version.txt" <<<"$quern_version"
  [[ -z ${value[RECIPE]:-} ]] || keep_text "${value[JOB_RECIPE]}" <"${value[RECIPE]}"
  [[ -z ${value[GRID]:-} ]] || keep_text "$folder/job/grid.txt" <"${value[GRID]}"
}

# keep_of_job FOLDER NAME ID: the script of this very job, beside its log of the same name.
keep_of_job() { keep_text "$1/job/$2-$3.sbatch" <"$1/job/$2.sbatch"; }

# Whoever submits again wants another try, of a run or of the trials of a sweep. The first job of a plan clears
# the marks; those after it must see what the first one leaves.
try_again() {
  [[ -z ${tried_again[$1]:-} ]] || return 0
  tried_again[$1]=yes
  rm -f "$1/job/GAVE_UP" "$1"/trial-*/job/GAVE_UP
}
