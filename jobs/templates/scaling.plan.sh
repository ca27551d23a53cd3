# shellcheck shell=bash disable=SC2154  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# A scaling study: the jobs of one array would all get the same nodes, so one job for each node count,
# and a report when all have ended, however they ended.
#: NODE_LIST counts 1,2,4 the node counts
#: include scaling-point.sbatch
#: PYTHON    word   - a Python with matplotlib, for the report

plan() {
  local key item given=() nodes ids="" all=() list="${value[NODE_LIST]//,/ }"
  for key in "${key_order[@]}"; do
    [[ " NODE_LIST PYTHON NODES JOB_NAME " != *" $key "* ]] || continue
    while IFS= read -r item; do
      [[ -z $item ]] || given+=("$key=$item")
    done <<<"${value[$key]}"
  done
  [[ -z ${value[JOB_NAME]} ]] || all+=("JOB_NAME=${value[JOB_NAME]}")
  [[ -z ${value[PYTHON]} ]] || all+=("PYTHON=${value[PYTHON]}")
  [[ -z ${value[ACCOUNT]} ]] || all+=("ACCOUNT=${value[ACCOUNT]}")
  local run_dir="RUN_DIR=${value[RUN_DIR]}"
  for nodes in $list; do
    job "scaling-$nodes" scaling-point "" "${given[@]}" "NODES=$nodes"
    ids+=":${job_id[scaling-$nodes]}"
  done
  job scaling-report scaling-report "afterany$ids" "$run_dir" "${all[@]}"
}
