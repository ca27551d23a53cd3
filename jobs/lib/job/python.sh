# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# Python 3.11 reads TOML; before, it takes tomli.
reads_toml() {
  "$1" -c 'import importlib.util as u, sys; sys.exit(not (u.find_spec("tomllib") or u.find_spec("tomli")))' 2>/dev/null
}

# The Python of key PYTHON; without it the first one that reads TOML, else any.
choose_python() {
  local candidate
  for candidate in "$1" python3 /usr/bin/python3; do
    if [[ -n $candidate ]] && { [[ $candidate == "$1" ]] || reads_toml "$candidate"; }; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  echo python3
}
