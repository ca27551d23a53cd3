# shellcheck shell=bash disable=SC2154,SC2004  # value and site are of keys.sh and site.sh
# SPDX-License-Identifier: Apache-2.0
# What share of a node a job may take where, and what else the site wants of it.

# lines_here KEY: what the lines of this site key say about PARTITION and QOS, as LIMIT does.
lines_here() {
  local where rest pattern
  while read -r where rest; do
    [[ -n $where ]] || continue
    pattern="$where"
    [[ $pattern == *:* ]] || pattern+=":"
    # shellcheck disable=SC2053  # a pattern is meant
    [[ "${value[PARTITION]}:${value[QOS]}" != $pattern ]] || printf '%s\n' "$rest"
  done <<<"${site[$1]}"
}

# check_range KEY NUMBER WHAT: the number against the lines FIRST-LAST of the site key.
check_range() {
  local -i number="$2"
  local range known=""
  while read -r range; do
    [[ -n $range ]] || continue
    ((number < ${range%-*} || number > ${range#*-})) || return 0
    known+="${known:+ or }$range"
  done < <(lines_here "$1")
  [[ -z $known ]] || fail "$3: ${site[NAME]} allows $known in PARTITION=${value[PARTITION]:-(the default)}\
${value[QOS]:+ QOS=${value[QOS]}}"
}

# check_shares RANKS CPUS: of each node, and of the job.
check_shares() {
  local -i ranks="$1" cpus="$2" nodes="${value[NODES]:-1}" gpus="${site[GPUS_PER_NODE]}" unit="${site[CPUS_PER_GPU]:-1}"
  case "${site[CPUS_RULE]}" in
    exact) ((cpus == unit)) || fail "CPUS=$cpus per rank: ${site[NAME]} expects exactly $unit CPUs for each GPU" ;;
    multiple) ((cpus > 0 && cpus % unit == 0)) ||
      fail "CPUS=$cpus per rank: ${site[NAME]} expects $unit CPUs for each GPU, or a multiple of that" ;;
    min) ((cpus >= unit)) || fail "CPUS=$cpus per rank: ${site[NAME]} expects at least $unit CPUs for each GPU" ;;
  esac
  ((gpus == 0)) || check_range GPU_LIMIT $((nodes * ranks)) "NODES=$nodes$nodes_from x RANKS=$ranks: $((nodes * ranks)) device(s) in a job"
  check_range CPU_LIMIT $((ranks * cpus)) "RANKS=$ranks x CPUS=$cpus: $((ranks * cpus)) CPUs of a node"
}

# add_site_options: what the site wants in each job, among the options of SBATCH=.
add_site_options() {
  local option options="${site[OPTION]}"
  if [[ ${site[UENV]} == yes ]]; then
    [[ -z ${value[VIEW]} || -n ${value[UENV]} ]] || fail "VIEW=${value[VIEW]}: of which UENV?"
    [[ -z ${value[UENV]} ]] || options+=$'\n'"--uenv=${value[UENV]}"
    [[ -z ${value[VIEW]} ]] || options+=$'\n'"--view=${value[VIEW]}"
    [[ -n ${value[UENV]} ]] ||
      warn "no UENV: a program that was built in a user environment does not start outside of it"
  else
    [[ -z ${value[UENV]}${value[VIEW]} ]] || fail "UENV, VIEW: ${site[NAME]} has no user environments (uenv)"
  fi
  # What the user gives comes last, and wins.
  while IFS= read -r option; do
    [[ -z $option ]] || value[SBATCH]="$option${value[SBATCH]:+$'\n'${value[SBATCH]}}"
  done <<<"$options"
}

# Where jobs on GPU nodes are charged to an account of another name than jobs on the other nodes.
leave_gpu_account() {
  [[ -z ${site[GPU_ACCOUNT_END]} ]] || value[ACCOUNT]="${value[ACCOUNT]%"${site[GPU_ACCOUNT_END]}"}"
}
