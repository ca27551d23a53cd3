# shellcheck shell=bash disable=SC2154  # the variables of the parameter block
# SPDX-License-Identifier: Apache-2.0

# Nodes of this job that fail where its others do not, or that kill ranks: the job is requeued, and its next start leaves them out.

bad_nodes=""     # of this start, with commas between them
nodes_to_omit="" # with those of earlier starts

check_launch() {
  local status=0 said
  local check=("${launch[@]}" "$quern" preflight "$recipe" "${settings[@]}" --run-dir "$run_dir" --ranks "$ranks"
    --timeout "$preflight_timeout")
  if ! said="$(mktemp)"; then
    run_step "${check[@]}"
    return
  fi
  run_step say_into "$said" "${check[@]}" || status=$?
  cat "$said"
  if is_failure "$status" || [[ " 2 126 127 " == *" $status "* ]]; then
    find_bad_nodes "$said" "$status"
    [[ -z $bad_nodes ]] || status=1
  fi
  rm -f "$said"
  return "$status"
}

say_into() { exec "${@:2}" >"$1"; }

# find_bad_nodes FILE STATUS, of preflight: the file has its verdict, unless it could not start everywhere.
find_bad_nodes() {
  local nodes
  if grep -q 'preflight: ' "$1"; then
    nodes="$(sed -n 's/.*preflight: failed on \(.*\); good on [0-9]* other node[s()]*$/\1/p' "$1" | sort -u)"
    # Two sides of a network that is cut in two, each of which misses the other.
    [[ $nodes != *$'\n'* ]] || nodes=""
  elif [[ -n $ended_because ]] || is_untimely_stop "$2"; then
    return
  else
    nodes="$(nodes_without_program)"
  fi
  [[ -n $nodes ]] || return
  bad_nodes="$(names_in_slurm "$nodes")"
  say "only some nodes of this job fail: $nodes"
}

# Those on which the program does not start, where it does on others.
nodes_without_program() {
  local count="${SLURM_JOB_NUM_NODES:-1}" answers bad
  ((count > 1)) && [[ -z ${QUERN_IN_PLACE:-} ]] || return 0
  # shellcheck disable=SC2016  # for the shells of the nodes
  answers="$(on_each_node bash -c \
    '"$0" --version >/dev/null 2>&1 && echo "starts on $SLURMD_NODENAME" || echo "fails on $SLURMD_NODENAME"' \
    "$quern" 2>/dev/null)"
  bad="$(sed -n 's/.*fails on //p' <<<"$answers" | sort -u | paste -sd,)"
  [[ $answers != *"starts on "* ]] || printf '%s\n' "$bad"
}

# How long the log of this job is. Trials side by side have none that tells their nodes.
log_size() { [[ -f ${own_log:-} ]] && stat --dereference --format=%s "$own_log" || echo 0; }

# find_killing_node SIZE: the first line of a rank that was killed, in the log beyond that size, names its node. The
# others are killed by srun later. Once may be chance; a node that has done so twice in the life of this job is bad. A
# rank that was killed for its memory is not: the one with most of it, such as rank 0, is on the same node at each start.
find_killing_node() {
  local host count=0 file="$run_dir/job/killed-$SLURM_JOB_ID"
  [[ -f ${own_log:-} ]] || return 0
  host="$(tail -c "+$(($1 + 1))" "$own_log" |
    sed -n 's/.*error: rank [0-9]* on \([^ ]*\) .*has ended without a word.*/\1/p' | head -n 1)"
  [[ -n $host ]] || return 0
  ! tail -c "+$(($1 + 1))" "$own_log" | grep -qiE 'oom[_-]kill|out of memory' || return 0
  printf '%s\n' "$host" >>"$file"
  count="$(grep -cxF -e "$host" "$file")"
  ((count > 1)) || return 0
  bad_nodes="$(names_in_slurm "$host")"
  [[ -z $bad_nodes ]] || say "a rank was killed on $host $count times in this job"
} 2>/dev/null # where nothing can be written, bash would say so

# The hosts $1 as Slurm names the nodes of this job; those that it does not know are left out.
names_in_slurm() {
  local host nodes
  nodes="$(scontrol show hostnames "${SLURM_JOB_NODELIST:-}" 2>/dev/null)"
  for host in ${1//,/ }; do
    grep -xF -e "$host" <<<"$nodes" || grep -xF -e "${host%%.*}" <<<"$nodes"
  done | paste -sd,
}

# choose_nodes_to_omit JOB: none where Slurm then has no nodes for it, and it would wait for ever.
choose_nodes_to_omit() {
  local before answer
  nodes_to_omit=""
  [[ -n $bad_nodes && -z ${QUERN_IN_PLACE:-} ]] || return 0
  before="$(timeout 60 scontrol show job -o "$1" 2>/dev/null | sed -n 's/.* ExcNodeList=\([^ ]*\).*/\1/p')"
  [[ $before != "(null)" ]] || before=""
  nodes_to_omit="${before:+$before,}$bad_nodes"
  if ! answer="$(timeout 60 sbatch --test-only --exclude="$nodes_to_omit" "$0" 2>&1)" && [[ $answer == *" node"* ]]; then
    say "not left out, for there are no other nodes: $bad_nodes"
    nodes_to_omit=""
  fi
}

# omit_nodes JOB: once it waits again; Slurm does not take it of a job that runs.
omit_nodes() {
  local answer
  if answer="$(scontrol update JobId="$1" ExcNodeList="$nodes_to_omit" 2>&1)"; then
    say "left out from now on: $nodes_to_omit"
  else
    say "Slurm does not leave out $nodes_to_omit (${answer//$'\n'/ })"
  fi
}
