# shellcheck shell=bash disable=SC2154,SC2034  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# What a submission may cost at most, said before anything is queued: nodes and devices times TIME, and that times
# all starts. Seconds of nodes, and of devices (of CPUs where none is asked for).

cost_nodes=0 cost_parts=0 worst_nodes=0 worst_parts=0 cost_restarts=0 cost_unit=GPU
cost_unknown="" # why

# add_cost: of the job whose values these are.
add_cost() {
  local -i time nodes="${value[NODES]:-1}" parts starts=1 tasks=1
  time="$(seconds_of "${value[TIME]}")" || {
    cost_unknown="${value[TIME]:+TIME=}${value[TIME]:-no TIME}"
    return 0
  }
  [[ -z ${value[ARRAY]:-} ]] || tasks="$(numbers_of "${value[ARRAY]}" | wc -l)"
  parts="${value[RANKS]:-1}"
  if ((site[GPUS_PER_NODE] == 0)); then
    cost_unit=CPU
    parts=$((parts * value[CPUS]))
  elif [[ -z ${value[GPU_REQUEST]} ]]; then
    parts=0
  fi
  if [[ ${value[MAY_REQUEUE]} != no && -n ${value[MAX_RESTARTS]:-} ]]; then
    starts=$((1 + value[MAX_RESTARTS]))
  fi
  ((starts - 1 <= cost_restarts)) || cost_restarts=$((starts - 1))
  cost_nodes=$((cost_nodes + tasks * nodes * time))
  cost_parts=$((cost_parts + tasks * nodes * parts * time))
  worst_nodes=$((worst_nodes + starts * tasks * nodes * time))
  worst_parts=$((worst_parts + starts * tasks * nodes * parts * time))
}

# spoken_cost NODES PARTS: seconds as hours, rounded up; tenths below ten.
spoken_cost() {
  local seconds words=()
  for seconds in "$@"; do
    if ((seconds < 36000)); then
      words+=("$(((seconds + 359) / 3600)).$(((seconds + 359) / 360 % 10))")
    else
      words+=("$(((seconds + 3599) / 3600))")
    fi
  done
  printf '%s node-hours, %s %s-hours' "${words[0]%.0}" "${words[1]%.0}" "$cost_unit"
}

tell_cost() {
  local text
  [[ $place == slurm ]] || return 0 # nobody charges for this machine, and an allocation is paid for already
  if [[ -n $cost_unknown ]]; then
    note "cost: unknown, $cost_unknown"
    return
  fi
  text="at most $(spoken_cost "$cost_nodes" "$cost_parts")"
  ((cost_restarts == 0)) || text+="; with all restarts (MAX_RESTARTS=$cost_restarts) $(spoken_cost "$worst_nodes" "$worst_parts")"
  note "cost: $text"
}
