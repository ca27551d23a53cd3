# shellcheck shell=bash disable=SC2154,SC2153  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# What was submitted stays with the results, and it is that copy that Slurm and the job get.

declare -A tried_again without_stop
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
  [[ $(type -t keep_of_template) != function ]] || keep_of_template
}

# What was there before a job was kept, to be put back where Slurm refuses it.
before=""            # folder of copies, named by their numbers in before_files
before_files=()      # all that may change
new_folders=()       # not there before, the innermost first
files_of_template=() # what keep_of_template changes

# remember FOLDER NAME
remember() {
  local folder="$1" i
  before_files=("$folder"/job/{"$2".sbatch,site.env,version.txt,grid.txt,GAVE_UP} "$folder"/trial-*/job/GAVE_UP
    "$folder/STOP" "${files_of_template[@]}")
  [[ -z ${value[JOB_RECIPE]:-} ]] || before_files+=("${value[JOB_RECIPE]}")
  before="$(mktemp -d)" || fail "cannot make a temporary folder"
  for i in "${!before_files[@]}"; do
    [[ ! -f ${before_files[i]} ]] || cp -p "${before_files[i]}" "$before/$i" || fail "cannot copy ${before_files[i]}"
  done
  new_folders=()
  for i in job log earlier; do [[ -e $folder/$i ]] || new_folders+=("$folder/$i"); done
  while [[ ! -e $folder ]]; do
    new_folders+=("$folder")
    folder="$(dirname "$folder")"
  done
}

put_back() {
  local i file
  for i in "${!before_files[@]}"; do
    file="${before_files[i]}"
    if [[ -f $before/$i ]]; then
      cmp -s "$before/$i" "$file" || { cp -p "$before/$i" "$file.$$" && mv -f "$file.$$" "$file"; } || warn "cannot write $file"
    elif [[ $file != */GAVE_UP && $file != */STOP ]]; then # that would be of a job that runs, or the user's
      rm -f "$file"
    fi
  done
  for file in "${new_folders[@]}"; do rmdir "$file" 2>/dev/null || true; done
}

forget() {
  [[ -z $before ]] || rm -rf "$before"
  before=""
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

# Of --go-on. The job looks for it when it starts.
remove_stop() {
  [[ $go_on == yes && -z ${without_stop[$1]:-} ]] || return 0
  without_stop[$1]=yes
  rm -f "$1/STOP"
}
