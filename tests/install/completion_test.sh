#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What bash offers on the tab key: completion_test.sh COMPLETION_FILE
set -uo pipefail
# shellcheck source=scripts/quern-completion.bash
source "$1"

failures=0
# offers WORD... : the words that complete the last one
offers() {
  COMP_WORDS=(quern "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _quern
  printf '%s ' "${COMPREPLY[@]:-}"
}
# expect "WORDS OFFERED" WORD...
expect() {
  local expected="$1" found
  shift
  found="$(offers "$@")"
  [[ ${found% } == "$expected" ]] && return
  printf 'quern %s: expected "%s", found "%s"\n' "$*" "$expected" "${found% }"
  ((failures += 1))
}

expect "train" tr
expect "predict preflight" pr
expect "verify" checkpoint v
expect "kernels" bench ker
expect "--run-dir --resume --ranks" train recipe.toml --r
expect "--filter" bench kernels --json x --f
expect "train.epochs=" train recipe.toml --set train.ep
expect "optimizer.schedule.type=" preflight r.toml --set optimizer.schedule.t
expect "optimizer.lr=" train recipe.toml --change optimizer.lr
expect "auto" train recipe.toml --resume a
expect "test" evaluate run --split te
expect "" train recipe.to # bash itself then offers files

[[ $(complete -p quern) == *"-F _quern"* ]] || { echo "quern has no completion"; failures=1; }
exit "$((failures > 0))"
