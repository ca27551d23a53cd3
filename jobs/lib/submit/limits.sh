# shellcheck shell=bash disable=SC2154,SC2153  # value and site are of keys.sh and site.sh
# SPDX-License-Identifier: Apache-2.0
# Fills in what the site decides, and refuses what it would refuse.

nodes_from="" # where a plan has NODES from, for messages

# site_default KEY: the site's value where the user gave none, also not an empty one.
site_default() { [[ -n ${value[$1]:-}${dropped[$1]:-} ]] || value[$1]="${site[${2:-$1}]:-}"; }

known_queues() { cut -d' ' -f1 <<<"${site[LIMIT]}" | sort -u | paste -sd' '; }

# queues_for NODES [TIME]: "; QOS=large takes ..." of those that would take the job.
queues_for() {
  local where range time found=""
  while read -r where range time; do
    (($1 >= ${range%-*} && $1 <= ${range#*-})) || continue
    [[ -z ${2:-${given_time:-}} ]] || ! is_longer "${2:-${given_time:-}}" "$time" || continue
    found+="${found:+, }$(queue_words "$where") takes $range nodes for at most $time"
  done <<<"${site[LIMIT]}"
  printf '%s' "${found:+; $found}"
}

# queue_words PARTITION[:QOS]: as keys.
queue_words() {
  local words=()
  [[ ${1%%:*} == "" || ${1%%:*} == "*" ]] || words+=("PARTITION=${1%%:*}")
  [[ $1 != *:?* || ${1#*:} == "*" ]] || words+=("QOS=${1#*:}")
  printf '%s' "${words[*]:-the default queue}"
}

check_queue() {
  local limits range time first last queue name known=""
  local -i nodes="${value[NODES]:-1}"
  name="${value[PARTITION]}${value[QOS]:+:${value[QOS]}}"
  queue="PARTITION=${value[PARTITION]:-(the default)}${value[QOS]:+ QOS=${value[QOS]}}"
  limits="$(lines_here LIMIT)"
  [[ -n $limits ]] ||
    fail "$queue: not among what is known of ${site[NAME]} (PARTITION or PARTITION:QOS): $(known_queues); if you \
may use it, add a line such as LIMIT=${name:-:} 1-${value[NODES]:-1} 1-00:00:00 \
to ${site[FILE]} (or to a copy in ${config_folder:-a folder of QUERN_SITES}${config_folder:+/sites})"
  while read -r range time; do
    first="${range%-*}" last="${range#*-}"
    known+="${known:+, }$range nodes for at most $time"
    ((nodes >= first && nodes <= last)) || continue
    [[ -z ${dropped[TIME]:-} ]] || return 0
    if [[ -z ${value[TIME]} || ${value[TIME]} == "${key_default[TIME]}" ]]; then
      : "${value[TIME]:=${site[TIME]:-$time}}"
      ! is_longer "${value[TIME]}" "$time" || value[TIME]="$time"
    fi
    ! is_longer "${value[TIME]}" "$time" ||
      fail "TIME=${value[TIME]} for $nodes node(s): ${site[NAME]} allows $time there ($queue: \
$(paste -sd';' <<<"$limits" | sed 's/;/, /g'))$(queues_for "$nodes" "${value[TIME]}")"
    return 0
  done <<<"$limits"
  fail "NODES=$nodes$nodes_from: ${site[NAME]} allows in $queue: $known$(queues_for "$nodes")"
}

check_account() {
  # Centres tell their users to export it.
  if [[ -z ${value[ACCOUNT]}${dropped[ACCOUNT]:-} && -n ${SBATCH_ACCOUNT:-} ]]; then
    check_value SBATCH_ACCOUNT word "$SBATCH_ACCOUNT"
    value[ACCOUNT]="$SBATCH_ACCOUNT"
  fi
  [[ ${site[ACCOUNT]} != required || -n ${value[ACCOUNT]} ]] ||
    fail "ACCOUNT is missing: ${site[NAME]} wants one${site[ACCOUNT_HINT]:+ (${site[ACCOUNT_HINT]})}; \
known keys: $(known_keys)"
}

# For hours of training, a few minutes are more often a mistake: 12:00 is twelve minutes.
warn_of_short_time() {
  [[ -z ${value[SIGNAL]:-} || -z ${given_time:-} ]] || (($(seconds_of "$given_time") >= 1800)) ||
    warn "TIME=$given_time is $(spoken_time "$given_time") (HH:MM:SS are hours)"
}

# Slurm takes a number without a unit for megabytes; 0 is all of a node.
warn_of_little_memory() {
  [[ ${value[MEM]:-} =~ ^[0-9]+$ ]] || return 0
  ((10#${value[MEM]} == 0 || 10#${value[MEM]} >= 4096)) || warn "MEM=${value[MEM]} is ${value[MEM]} MB a node (MEM=${value[MEM]}G: GB)"
}

check_signal() {
  local -i lead time
  [[ -n ${value[SIGNAL]:-} && -n ${value[TIME]} && ${value[TIME]} != UNLIMITED ]] || return 0
  lead="${value[SIGNAL]}"
  time="$(seconds_of "${value[TIME]}")"
  ((lead * 2 <= time)) ||
    fail "SIGNAL=$lead s before the end of TIME=${value[TIME]} leaves too little time to train \
(expected at most half of it)"
  ((lead >= 120)) || warn "SIGNAL=$lead: Slurm looks every 30 to 60 s; take 60 + twice the time of a \
checkpoint, at least 120"
}

# Many nodes meet more that is slow: files that all of them open, a network that all of them join.
choose_preflight_timeout() {
  [[ -n ${key_type[PREFLIGHT_TIMEOUT]:-} ]] || return 0
  : "${value[PREFLIGHT_TIMEOUT]:=$((60 + value[NODES] / 4))}"
  ((value[PREFLIGHT_TIMEOUT] <= 86400)) ||
    fail "PREFLIGHT_TIMEOUT=${value[PREFLIGHT_TIMEOUT]}: at most 86400 s were expected"
}

# A thousand ranks that read one program and its libraries at once are slow to start, and slow down everybody else.
warn_of_no_copies() {
  local -i many=64
  [[ $place == slurm && -n ${key_type[BCAST]:-} && -z ${value[BCAST]}${dropped[BCAST]:-} ]] || return 0
  ((value[NODES] < many)) || warn "no BCAST: on ${value[NODES]} nodes every rank reads the program from the file system where it \
lies; BCAST=/tmp, or another local disk, copies it to each node first; BCAST= silences this"
}

# choose_node_list: of a scaling study, where the user gave none. Some sites have a single node.
choose_node_list() {
  local range
  [[ -n ${key_type[NODE_LIST]:-} && -z ${value[NODE_LIST]:-} ]] || return 0
  value[NODE_LIST]=1
  while read -r _ range _; do
    ((${range#*-} == 1)) || value[NODE_LIST]=1,2,4
  done <<<"${site[LIMIT]}"
}

# Ranks and CPUs of a job that runs on the site's compute nodes.
resolve_parallel() {
  local -i ranks cpus gpus="${site[GPUS_PER_NODE]}" per_node="${site[CPUS_PER_NODE]:-0}"
  site_default PARTITION
  site_default QOS
  site_default CONSTRAINT
  [[ $place != slurm ]] || site_default BCAST
  : "${value[NODES]:=1}"
  choose_node_list
  choose_preflight_timeout
  warn_of_no_copies
  : "${value[RANKS]:=${site[RANKS_PER_NODE]:-$((gpus > 0 ? gpus : 1))}}"
  ranks="${value[RANKS]}"
  if ((gpus > 0 && ranks > gpus)); then
    fail "RANKS=$ranks per node: ${site[NAME]} has $gpus devices a node, and ranks do not share one"
  fi
  if [[ -z ${value[CPUS]} ]]; then
    if [[ -n ${site[CPUS_PER_GPU]} ]]; then
      value[CPUS]="${site[CPUS_PER_GPU]}"
    else
      value[CPUS]=$((per_node >= ranks ? per_node / ranks : 1))
    fi
  fi
  cpus="${value[CPUS]}"
  ((per_node == 0 || ranks * cpus <= per_node)) ||
    fail "RANKS=$ranks x CPUS=$cpus: ${site[NAME]} has $per_node CPUs a node"
  check_shares "$ranks" "$cpus"
  check_split
  value[TOTAL_RANKS]=$((value[NODES] * ranks))
  value[THREADS]=$((cpus / site[THREADS_PER_CORE] > 0 ? cpus / site[THREADS_PER_CORE] : 1))
  value[GPUS]=$((gpus > 0 ? ranks : 0))
  value[GPU_REQUEST]=""
  ((gpus == 0)) || value[GPU_REQUEST]="${site[GPU_REQUEST]//@GPUS@/$ranks}"
  value[EXCLUSIVE]=""
  if ((gpus > 0 && ranks == gpus)) || ((per_node > 0 && ranks * cpus == per_node)); then
    site_default MEM MEM_FULL_NODE
    [[ ${site[EXCLUSIVE]} == yes ]] && value[EXCLUSIVE]=--exclusive
  fi
  value[HINT]="${site[HINT]}"
  value[SRUN]="${site[SRUN]}"
  value[SETUP]="${site[SETUP]}"
  add_site_options
}

# One process, for minutes: on the site's nodes for small jobs, where it has some; with a device only where the queue
# takes no other jobs, or on request.
resolve_serial() {
  local -i gpus="${site[SERIAL_GPUS]:-0}"
  if [[ -n ${site[SERIAL_PARTITION]}${site[SERIAL_QOS]} && ${value[GPU]} == no ]]; then
    site_default PARTITION SERIAL_PARTITION
    site_default QOS SERIAL_QOS
    site_default CONSTRAINT SERIAL_CONSTRAINT
    value[SETUP]="${site[SERIAL_SETUP]:-${site[SETUP]}}"
    leave_gpu_account
  else
    site_default PARTITION
    site_default QOS
    site_default CONSTRAINT
    value[SETUP]="${site[SETUP]}"
  fi
  [[ ${value[GPU]} == no ]] || gpus=1
  ((gpus == 0 || site[GPUS_PER_NODE] > 0)) || fail "GPU=yes: ${site[NAME]} has no devices"
  value[GPU_REQUEST]=""
  if ((gpus > 0)); then
    value[GPU_REQUEST]="${site[GPU_REQUEST]//@GPUS@/$gpus}"
    [[ ${site[CPUS_RULE]} == free ]] || : "${value[CPUS]:=$((site[CPUS_PER_GPU] * gpus))}"
  fi
  : "${value[CPUS]:=${site[SERIAL_CPUS]:-1}}"
  value[NODES]=1
  value[THREADS]="${value[CPUS]}"
  value[HINT]="${site[HINT]}"
  value[SRUN]="${site[SRUN]}"
  ((gpus > 0)) || check_range CPU_LIMIT "${value[CPUS]}" "CPUS=${value[CPUS]}"
  add_site_options
}
