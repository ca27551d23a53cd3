# shellcheck shell=bash disable=SC2154  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# What report must fulfil beyond the types of its keys.

check_template() {
  local run
  while IFS= read -r run; do
    if [[ -e $run/job/grid.txt && ! -e $run/recipe.toml ]]; then
      [[ ${value[PAGE]} == sweep ]] ||
        fail "RUN=$run: it is the folder of a sweep: PAGE=sweep shows its trials, RUN=$run/trial-0 one of them"
      continue
    fi
    # A job that was submitted before will make it.
    [[ -e $run/recipe.toml || -e $run/job/submitted.txt || -n ${value[AFTER]} || $'\n'$future_folders$'\n' == *$'\n'"$run"$'\n'* ]] ||
      fail "RUN=$run: there is no run (a folder with recipe.toml was expected)"
  done <<<"${value[RUN]}"
}
