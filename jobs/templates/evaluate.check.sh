# shellcheck shell=bash disable=SC2154  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# What evaluate must fulfil beyond the types of its keys.

has_shards() { compgen -G "${value[DATA]}/*-$1-[0-9]*-of-[0-9]*.h5" >/dev/null; }

check_template() {
  local run="${value[RUN_DIR]}"
  [[ -d $run/checkpoints || ! -e $run/job/grid.txt || -n ${value[CHECKPOINT]} ]] ||
    fail "RUN_DIR=$run: it is the folder of a sweep: name one of its trials, such as $run/trial-0"
  # A job that was submitted before will make it.
  [[ -d $run/checkpoints || -e $run/job/submitted.txt || -n ${value[CHECKPOINT]}${value[AFTER]} || $'\n'$future_folders$'\n' == *$'\n'"$run"$'\n'* ]] ||
    fail "RUN_DIR=$run: there is no run (a folder with checkpoints/ was expected)"
  [[ -n ${value[SPLIT]} ]] || ! has_shards train || ! has_shards test ||
    fail "DATA=${value[DATA]}: it holds shards of both splits; SPLIT=train or SPLIT=test says which is meant"
  [[ -n ${value[AFTER]} || $'\n'$future_folders$'\n' == *$'\n'"${value[DATA]}"$'\n'* ]] ||
    has_shards "${value[SPLIT]:-train}" || { [[ -z ${value[SPLIT]} ]] && has_shards test; } ||
    fail "DATA=${value[DATA]}: there are no shards${value[SPLIT]:+ of ${value[SPLIT]}} (files such as NAME-${value[SPLIT]:-test}-00000-of-00004.h5)"
}
