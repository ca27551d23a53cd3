# shellcheck shell=bash disable=SC2154,SC2034  # jobs_folder is of jobs/submit
# SPDX-License-Identifier: Apache-2.0
# How jobs/submit speaks, and what there is to choose from.

jobs_prefix="${QUERN_JOBS_PREFIX:-jobs/}" # installed, the commands are quern-submit and so on
# The user's own files.
config_folder="${XDG_CONFIG_HOME:-${HOME:+$HOME/.config}}"
config_folder="${config_folder:+$config_folder/quern}"
say() { printf '%s\n' "$*"; }
# Once: what is checked before a plan is queued is checked for each of its jobs again.
declare -A warned
# Beside the filled job, which may go into a file.
note() { if [[ $mode == print ]]; then say "$*" >&2; else say "$*"; fi; }
warn() {
  [[ -z ${warned[$*]:-} ]] || return 0
  warned[$*]=yes
  printf 'submit: warning: %s\n' "$*" >&2
}
reading="" # FILE:LINE of a site's file while it is read
# Wrong usage: the same exit status as the program's own. Nothing was written or queued.
fail() {
  printf 'submit: error: %s%s\n' "${reading:+$reading: }" "$*" >&2
  exit 2
}

# names_in FOLDER SUFFIX...: file names without the suffix, on one line.
names_in() {
  local folder="$1" suffix file names=()
  shift
  for suffix in "$@"; do
    for file in "$folder"/*"$suffix"; do
      [[ -e $file ]] && names+=("$(basename "$file" "$suffix")")
    done
  done
  printf '%s\n' "${names[@]}" | sort | paste -sd' '
}

list_templates() {
  # Those of "scaling-..." are parts of a plan.
  names_in "$jobs_folder/templates" .sbatch .plan.sh | tr ' ' '\n' | grep -v '^scaling-' | paste -sd' '
}

find_template() {
  local suffix
  for suffix in .plan.sh .sbatch; do
    if [[ $1 != */* && -f $jobs_folder/templates/$1$suffix ]]; then
      printf '%s\n' "$jobs_folder/templates/$1$suffix"
      return
    fi
  done
  fail "there is no template '$1' (known: $(list_templates))"
}

absolute() {
  case "$1" in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$PWD" "${1#./}" ;;
  esac
}
