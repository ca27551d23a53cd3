# shellcheck shell=bash disable=SC2154,SC2034  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# Where jobs run: in Slurm's queue; on this machine without Slurm (a site with SCHEDULER=none); or in the
# allocation that the shell is in (--here). In the last two the filled job runs in place: jobs/submit starts
# it, starts it again when it asks for that, and ends with its status.

place=slurm

# choose_place yes|no: --here or not
choose_place() {
  if [[ $1 == no ]]; then
    [[ ${site[SCHEDULER]} == slurm ]] || place=local
    [[ $place == local || ($mode != submit && $mode != test) ]] || command -v sbatch >/dev/null ||
      fail "there is no sbatch on the PATH, so no Slurm on this machine: the site local runs jobs without one, and -n prints them"
    return 0
  fi
  [[ ${site[SCHEDULER]} == slurm ]] || fail "--here is for allocations of Slurm: ${site[NAME]} runs jobs without it"
  [[ -n ${SLURM_JOB_ID:-} ]] ||
    fail "--here: this shell is in no allocation (SLURM_JOB_ID is not set; salloc makes one)"
  place=here
  site[REQUEUE]=no # an allocation ends with its shell
}

# What a job that runs in place takes when nobody says it, and what it cannot have.
check_place() {
  local -i nodes="${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:-1}}" ranks
  local key
  [[ $place != slurm ]] || return 0
  for key in AFTER RESERVATION SBATCH BCAST; do
    [[ -z ${value[$key]:-} ]] || fail "$key is for Slurm's queue, and this job runs in place"
  done
  [[ -z ${value[MAIL]:-} ]] || warn "MAIL: no mail is sent for a job that runs in place"
  case "$place" in
    here)
      [[ ${value[REQUEUE]:-no} == no ]] || fail "REQUEUE=yes: an allocation cannot be requeued (--here)"
      ((${value[NODES]:-1} <= nodes)) || fail "NODES=${value[NODES]}$nodes_from: the allocation $SLURM_JOB_ID has $nodes node(s)"
      ;;
    local)
      # The cores of this machine, divided among the ranks.
      ranks="${value[RANKS]:-$((site[GPUS_PER_NODE] > 0 ? site[GPUS_PER_NODE] : 1))}"
      [[ $job_kind != parallel || -n ${value[CPUS]:-} ]] ||
        value[CPUS]=$(($(nproc) / ranks > 0 ? $(nproc) / ranks : 1))
      ((${value[TRIALS_PER_JOB]:-1} == 1 || site[GPUS_PER_NODE] == 0)) ||
        fail "TRIALS_PER_JOB=${value[TRIALS_PER_JOB]}: without Slurm all trials would take the same devices"
      ;;
  esac
}

# Has the allocation of --here so many CPUs on so many nodes? Slurm counts them as 4(x2),2.
check_allocation() {
  local -i wanted=$((${value[RANKS]:-1} * ${value[CPUS]:-1})) fitting=0
  local part
  [[ $place == here && ${SLURM_JOB_CPUS_PER_NODE:-} =~ ^[0-9]+(\(x[0-9]+\))?(,[0-9]+(\(x[0-9]+\))?)*$ ]] || return 0
  for part in ${SLURM_JOB_CPUS_PER_NODE//,/ }; do
    [[ $part =~ ^([0-9]+)(\(x([0-9]+)\))?$ ]]
    ((BASH_REMATCH[1] < wanted)) || fitting+=${BASH_REMATCH[3]:-1}
  done
  ((fitting >= ${value[NODES]:-1})) ||
    fail "RANKS=${value[RANKS]:-1} x CPUS=${value[CPUS]:-1} on NODES=${value[NODES]:-1}$nodes_from: the allocation $SLURM_JOB_ID has \
$SLURM_JOB_CPUS_PER_NODE CPU(s) a node (salloc --nodes=${value[NODES]:-1} --ntasks-per-node=${value[RANKS]:-1} \
--cpus-per-task=${value[CPUS]:-1})"
}

# The exit status of a submission, from those of its jobs in order: "0 85 0". The jobs of a chain are one run,
# and the last one tells; of other plans the first that failed. A job that never started has "-".
status_of_plan() {
  local status last=0 failed=0
  for status in "$@"; do
    [[ $status != - ]] || continue
    last="$status"
    ((failed != 0)) || failed="$status"
  done
  if [[ $template_name == chain ]]; then printf '%s\n' "$last"; else printf '%s\n' "$failed"; fi
}
