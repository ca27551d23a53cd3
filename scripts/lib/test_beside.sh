# shellcheck shell=bash disable=SC2154  # of test_parts.sh and scripts/test
# SPDX-License-Identifier: Apache-2.0
# Tests on a virtual Slurm cluster: they wait for clocks and daemons most of their time. So they run beside
# the other tests of the part release, and beside the parts that follow.

slurm_tests=""   # build folder; empty unless they run
slurm_ctest=""   # process group
kSlurmAlone='^slurm[.]scale$' # 64 ranks that look for each other

# begin_slurm PART: those of build/PART. What ctest prints goes to build/slurm.log.
begin_slurm() {
  slurm_tests="$kRoot/build/$1/tests/slurm"
  step "Testing slurm beside what follows: see build/slurm.log (${SECONDS} s)"
  trap stop_slurm EXIT
  set -m # a process group of its own, which an interrupt does not reach: stop_slurm does
  run_ctest "$slurm_tests" "$kRoot/build/slurm.junit.xml" --parallel "$(processors)" \
    --exclude-regex "$kSlurmAlone" >"$kRoot/build/slurm.log" 2>&1 </dev/null &
  slurm_ctest=$!
  set +m
}

stop_slurm() {
  [[ -z $slurm_ctest ]] || kill -- "-$slurm_ctest" 2>/dev/null || true
}

# Waits for them, and runs those that nothing may run beside.
finish_slurm() {
  [[ -n $slurm_tests ]] || return 0
  step "Waiting for the tests on Slurm (${SECONDS} s)"
  results+=("slurm=$kRoot/build/slurm.junit.xml")
  local status=0
  wait "$slurm_ctest" || status=$?
  slurm_ctest=""
  cat "$kRoot/build/slurm.log"
  if ((status != 0)); then
    results+=(--ended-badly slurm)
    run_again slurm "$slurm_tests"
  fi
  run_tests slurm-alone "${slurm_tests#"$kRoot/build/"}" --tests-regex "$kSlurmAlone"
}
