# shellcheck shell=bash disable=SC2154,SC2034  # value is of keys.sh
# SPDX-License-Identifier: Apache-2.0
# What plans (templates of several jobs) hand on to their jobs, and what a job waits for.

# The keys that mean the same for every job of a plan.
kForEveryJob=(ACCOUNT QUERN AFTER MAIL RESERVATION COMMENT UENV VIEW SBATCH)

# pass_on KEY...: those of them that have a value or were given empty, as KEY=VALUE in the array given.
pass_on() {
  local key item
  given=()
  for key in "$@"; do
    while IFS= read -r item; do
      [[ -z $item ]] || given+=("$key=$item")
    done <<<"${value[$key]:-}"
    [[ -z ${dropped[$key]:-} ]] || given+=("$key=")
  done
}

# pass_on_all_but KEY...
pass_on_all_but() {
  local key keys=()
  for key in "${key_order[@]}"; do
    [[ " $* " == *" $key "* ]] || keys+=("$key")
  done
  pass_on "${keys[@]}"
}

# name_in_plan PLAN JOB: what the queue calls a job of the plan with this JOB_NAME; without one each has its own.
name_in_plan() { printf 'JOB_NAME=%s' "${1:+$1-$2}"; }

# merged_dependency OWN: what sbatch --dependency= takes, of the plan's own and of AFTER, where bare ids mean
# afterok. All of it must hold.
merged_dependency() {
  local part ids="" all="$1" parts
  IFS=, read -r -a parts <<<"${value[AFTER]:-}"
  for part in "${parts[@]}"; do
    if [[ $part == after* ]]; then all+="${all:+,}$part"; else ids+=":$part"; fi
  done
  [[ -z $ids ]] || all+="${all:+,}afterok$ids"
  printf '%s' "$all"
}
