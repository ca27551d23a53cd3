# shellcheck shell=bash disable=SC2154  # value is of keys.sh
# SPDX-License-Identifier: Apache-2.0
# How a training is split over the ranks: keys of jobs/keys/split.keys become settings of the recipe.

# add_split_settings: before those of SET, which win.
add_split_settings() {
  local key settings=()
  for key in STRATEGY PIPELINE TENSOR MICRO_BATCHES; do
    [[ -z ${value[$key]:-} ]] || settings+=("parallel.${key,,}=${value[$key]}")
  done
  ((${#settings[@]} > 0)) || return 0
  [[ -z ${value[SET]} ]] || settings+=("${value[SET]}")
  value[SET]="$(printf '%s\n' "${settings[@]}")"
}

# check_split: of ranks on nodes. The program checks that the ranks can be divided so (check_recipe).
check_split() {
  local -i ranks="${value[RANKS]:-1}" shared="${value[TENSOR]:-1}"
  # Packed trials stay on a node each.
  [[ ${value[NODES]:-1} != 1 && ${value[TRIALS_PER_JOB]:-1} == 1 ]] || return 0
  if [[ ${value[STRATEGY]:-} == tensor && -z ${value[TENSOR]:-} ]]; then
    fail "STRATEGY=tensor on NODES=${value[NODES]}$nodes_from: the ranks that share a layer have to be on one node; \
TENSOR=$ranks would share each among the RANKS=$ranks of a node"
  fi
  ((ranks % shared == 0)) || fail "TENSOR=$shared does not divide the RANKS=$ranks of a node: the ranks that share a \
layer have to be on one node"
}
