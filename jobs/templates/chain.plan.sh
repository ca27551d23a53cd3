# shellcheck shell=bash disable=SC2154  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# Several jobs of one run, one after the other, for sites where jobs cannot be requeued: each goes on
# where the one before it stopped, and ends at once when the run is finished.
#: COUNT  count 5 jobs
#: include train.sbatch
#: without REQUEUE MAX_RESTARTS RETRIES

plan() {
  local i given=() name
  pass_on_all_but COUNT JOB_NAME
  # The name is what makes a chain: two runs must not share it.
  name="${value[JOB_NAME]:-$(basename "${value[RUN_DIR]}")-$(absolute "${value[RUN_DIR]}" | cksum | cut -d' ' -f1)}"
  local count="${value[COUNT]}" after=singleton
  for ((i = 1; i <= count; ++i)); do
    job "chain-$i" train "$after" "${given[@]}" REQUEUE=no "JOB_NAME=$name"
    # For singleton alone a job is over while its ranks still write, after scancel or the time limit.
    after="singleton,afterany:${job_id[chain-$i]}"
  done
}
