# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# In front of the site's SETUP; `trap - ERR` follows it.

# Shells that are no login shells may not know `module`.
find_modules() {
  local file
  [[ $(type -t module) != function ]] || return 0
  for file in "${LMOD_PKG:-/none}/init/bash" "${MODULESHOME:-/none}/init/bash" /etc/profile.d/{lmod,modules}.sh; do
    [[ -r $file ]] || continue
    # shellcheck source=/dev/null
    source "$file"
    return 0
  done
}

# Of the lines themselves, not of what is in files that they read. The job goes on, as it would without this.
# shellcheck disable=SC2034  # in the trap
setup_depth=${#BASH_SOURCE[@]}
setup_failed() {
  echo "${SLURM_JOB_ID:+[job $SLURM_JOB_ID] }SETUP line failed: $(sed -n "$1p" <<<"${BASH_EXECUTION_STRING:-$(<"$0")}")" >&2
}
trap '((${#BASH_SOURCE[@]} > setup_depth)) || setup_failed "$LINENO"' ERR
