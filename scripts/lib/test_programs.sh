# shellcheck shell=bash disable=SC2034,SC2154  # scripts/test uses test_path; kRoot is of common.sh
# SPDX-License-Identifier: Apache-2.0
# Tests run with the programs that scripts/setup puts there: with others, a newcomer sees failures
# that nobody else sees.

listed=()
test_path="$PATH"

# restrict_programs LAUNCHER: makes a PATH for the tests, $test_path; LAUNCHER was asked for by name.
restrict_programs() {
  local said status=0
  mapfile -t listed < <(package_rows test | cut -d'|' -f1)
  [[ -z $1 ]] || listed+=("program:$(basename "$1")")
  listed_programs="$(mktemp -d)"
  chmod 755 "$listed_programs"
  trap 'rm -rf "$listed_programs"' EXIT
  said="$("$(quern_python)" "$kRoot/scripts/lib/listed_programs.py" path "$listed_programs" "${listed[@]}")" ||
    status=$?
  case "$status" in
    0)
      test_path="$listed_programs"
      [[ -z $said ]] || say "Programs beside setup's that tests use because they are here: $said"
      ;;
    77) say "Tests may use any program of this system: $said." ;;
    *) fail "cannot tell which programs scripts/setup installs" ;;
  esac
}

# check_listed CACHE: false, with a list, when a build names programs or libraries that scripts/setup
# does not install.
check_listed() {
  local said status=0
  said="$("$(quern_python)" "$kRoot/scripts/lib/listed_programs.py" check "$1" "${listed[@]}")" || status=$?
  ((status == 0 || status == 77)) && return
  warn "$1 names what scripts/setup does not install (see scripts/lib/listed_programs.py):"
  printf '%s\n' "$said" >&2
  return 1
}
