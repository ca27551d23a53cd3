# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The numbers of an array's tasks, as sbatch --array names them: FIRST-LAST and single ones, with commas between them.

# ranges_of NUMBER...: of rising numbers; the same one may come again.
ranges_of() {
  local first="$1" last="$1" number text=""
  for number in "${@:2}" ""; do
    if [[ -n $number ]] && ((number <= last + 1)); then
      last="$number"
      continue
    fi
    text+="${text:+,}$first"
    ((first == last)) || text+="-$last"
    first="$number" last="$number"
  done
  printf '%s\n' "$text"
}

# numbers_of ARRAY: RANGES%AT_ONCE as numbers, a line each.
numbers_of() {
  local range
  for range in $(tr ',' ' ' <<<"${1%%%*}"); do seq "${range%-*}" "${range#*-}"; done
}
