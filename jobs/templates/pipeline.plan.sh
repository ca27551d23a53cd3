# shellcheck shell=bash disable=SC2154,SC2034  # value is of jobs/lib/submit
# SPDX-License-Identifier: Apache-2.0
# Prepare the data, train, evaluate, report: four jobs, each started when the one before it succeeded;
# what can no longer start is removed from the queue.
#: home RUN_DIR
#: IDX_DIR      folder ! folder of the data set's four IDX files
#: DATA_DIR     path   ! folder for the shards: DATA_DIR/train and DATA_DIR/test
#: NAME         word   data name of the data set
#: SHARDS       count  4 files to cut each part into
#: CHECKSUMS    file   - their checksums as sha256sum prints them
#: include train.sbatch
#: PYTHON       word   - Python 3.11, or 3.9 with tomli, for the report
#: PREPARE_TIME  time   - TIME of prepare-data (default: its own)
#: PREPARE_GPU   yes/no - prepare the data on a node with a device
#: EVALUATE_TIME time   - TIME of evaluate (default: its own)
#: EVALUATE_NODES count 1 NODES of evaluate
#: REPORT_TIME   time   - TIME of the report (default: its own)

# pass_as KEY OTHER: the value of OTHER, if it has one or was given empty, as that of KEY.
pass_as() { [[ -z ${value[$2]}${dropped[$2]:-} ]] || given+=("$1=${value[$2]}"); }

plan() {
  local given=() data run out name="${value[JOB_NAME]}" shape=(PARTITION QOS CONSTRAINT RANKS CPUS MEM BCAST)
  local prepare_keys train_keys evaluate_keys report_keys
  data="$(absolute "${value[DATA_DIR]}")"
  run="$(absolute "${value[RUN_DIR]}")"
  out="$run/report"
  pass_on "${kForEveryJob[@]}" IDX_DIR DATA_DIR NAME SHARDS CHECKSUMS
  pass_as TIME PREPARE_TIME
  pass_as GPU PREPARE_GPU
  prepare_keys=("${given[@]}" "$(name_in_plan "$name" prepare-data)")
  pass_on_all_but IDX_DIR DATA_DIR NAME SHARDS CHECKSUMS PYTHON PREPARE_TIME PREPARE_GPU EVALUATE_TIME EVALUATE_NODES REPORT_TIME JOB_NAME
  train_keys=("${given[@]}" "SET=data.train=$data/train" "SET=data.test=$data/test" "$(name_in_plan "$name" train)")
  pass_on "${kForEveryJob[@]}" "${shape[@]}" RUN_DIR
  pass_as TIME EVALUATE_TIME
  pass_as NODES EVALUATE_NODES
  evaluate_keys=("${given[@]}" "DATA=$data/test" "$(name_in_plan "$name" evaluate)")
  pass_on "${kForEveryJob[@]}" PYTHON
  pass_as TIME REPORT_TIME
  report_keys=("${given[@]}" "RUN=$run" "OUT=$out" "$(name_in_plan "$name" report)")

  # The folders of later jobs do not exist yet.
  future_folders="$data/test"$'\n'"$run"
  job prepare-data prepare-data "" "${prepare_keys[@]}"
  job train train "afterok:${job_id[prepare-data]}" "${train_keys[@]}"
  job evaluate evaluate "afterok:${job_id[train]}" "${evaluate_keys[@]}"
  job report report "afterok:${job_id[evaluate]}" "${report_keys[@]}"
}
