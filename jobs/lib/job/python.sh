# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# The Python of key PYTHON; without it the first one that has matplotlib, else any.
choose_python() {
  local candidate
  for candidate in "$1" python3 /usr/bin/python3; do
    if [[ -n $candidate ]] && { [[ $candidate == "$1" ]] || "$candidate" -c 'import matplotlib' 2>/dev/null; }; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  echo python3
}
