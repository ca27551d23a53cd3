# shellcheck shell=bash disable=SC2154,SC2034  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# A scaling study: the jobs of one array would all get the same nodes, so one job for each node count,
# and a report when all have ended, however they ended.
#: NODE_LIST counts -     the node counts (default: 1,2,4, and 1 where the site has one node)
#: include scaling-point.sbatch
#: without NODES
#: PYTHON    word   - Python 3.11, or 3.9 with tomli, for the report

plan() {
  local given=() point report nodes study ids="" name="${value[JOB_NAME]}"
  choose_node_list
  pass_on_all_but NODE_LIST PYTHON JOB_NAME
  point=("${given[@]}")
  pass_on "${kForEveryJob[@]}" RUN_DIR PYTHON
  report=("${given[@]}" "NODE_LIST=${value[NODE_LIST]}")
  nodes_from=" (of NODE_LIST=${value[NODE_LIST]})"
  for nodes in ${value[NODE_LIST]//,/ }; do
    job "scaling-$nodes" scaling-point "" "${point[@]}" "NODES=$nodes" "$(name_in_plan "$name" "$nodes")"
    ids+=":${job_id[scaling-$nodes]}" study="${value[STUDY]}"
  done
  nodes_from=""
  job scaling-report scaling-report "afterany$ids" "${report[@]}" "STUDY=$study" \
    "$(name_in_plan "$name" report)"
}
