# shellcheck shell=bash disable=SC2154,SC2034  # value, pass, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# The program as the job will call it, and what it says it is.

quern_version=unknown
asked_for="" # program and modules that this is of

# Who names a program means that one and no other.
find_quern() {
  local candidate
  [[ -z ${value[QUERN]:-} || -f ${value[QUERN]} && -x ${value[QUERN]} ]] || fail "QUERN=${value[QUERN]}: there is no such program"
  [[ -z ${QUERN:-} || -n ${value[QUERN]:-} || -f $QUERN && -x $QUERN ]] ||
    fail "the variable QUERN=$QUERN of the environment: there is no such program"
  for candidate in "${value[QUERN]:-}" "${QUERN:-}" "$jobs_folder/../build/release/bin/quern" \
    "$jobs_folder/../../../bin/quern"; do
    [[ -n $candidate && -f $candidate && -x $candidate ]] || continue
    (cd "$(dirname "$candidate")" && printf '%s/%s\n' "$PWD" "$(basename "$candidate")")
    return
  done
  command -v quern || echo quern
}

# run_with_program COMMANDS: in a shell as that of the job, which loads the site's modules before; the program is $0.
run_with_program() {
  local parts=("{ :" "$(setup_lines)" "} >/dev/null; echo '$kEndOfSetup' >&2" "$(<"$jobs_folder/lib/job/program.sh")"
    "let_start \"\$0\"" "$1")
  cleanly bash -c "$(printf '%s\n' "${parts[@]}")" "${value[QUERN]}"
}

kEndOfSetup="-- the end of SETUP --"

# warn_of_setup TEXT: what SETUP said, before that mark. Modules also tell of what went well.
warn_of_setup() {
  local said="${1%%"$kEndOfSetup"*}"
  [[ $1 != *"$kEndOfSetup"* || $said == *"SETUP line failed"* || $said == *[Ee]rror* || $said == *ERROR* ]] || return 0
  warn "SETUP of ${site[FILE]}, here: $(head -n 5 <<<"$said" | paste -sd';' | sed 's/;*$//; s/;/; /g') (the job would go on without)"
}

# A program for devices may not start where there are none, such as here.
resolve_program() {
  local said status=0
  value[QUERN]="$(find_quern)"
  [[ $pass != test ]] || return 0
  [[ $asked_for != "${value[QUERN]} ${value[SETUP]}" ]] || return 0
  asked_for="${value[QUERN]} ${value[SETUP]}"
  said="$(run_with_program "\"\$0\" --version" 2>&1)" || status=$?
  warn_of_setup "$said"
  said="${said#*"$kEndOfSetup"}"
  if ((status == 0)); then
    quern_version="$(tail -n 1 <<<"$said")"
  elif [[ $mode == submit && ! -e ${value[QUERN]} ]]; then
    fail "there is no program: $(tail -n 1 <<<"$said") (build it with scripts/setup and cmake --preset release, or name \
it with QUERN=)"
  else
    quern_version=unknown
    warn "'${value[QUERN]} --version' does not start here: $(tail -n 1 <<<"$said") (fine if it only lacks a device's \
driver or is for the nodes' processors; else name another with QUERN=)"
  fi
}

# A report is the last job of a plan: that it cannot be written should be known before the first.
warn_of_python() {
  [[ $pass == check && -n ${key_type[PYTHON]:-} ]] || return 0
  # shellcheck disable=SC2016  # for that shell
  cleanly bash -c "$(setup_lines)
$(<"$jobs_folder/lib/job/python.sh")"'
reads_toml "$(choose_python "$0")"' "${value[PYTHON]:-}" >/dev/null 2>&1 ||
    warn "the report needs Python 3.11, or 3.9 with tomli, and here is none; name one with PYTHON="
}
