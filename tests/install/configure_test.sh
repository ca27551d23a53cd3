#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/quickstart configures a fresh copy of the sources without what only tests need:
# configure_test.sh SOURCE_FOLDER
set -euo pipefail
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
(cd "$1" && tar --exclude=./build --exclude=./data --exclude=./.git --exclude=./runs -cf - .) |
  tar -xf - -C "$copy"
mkdir -p "$copy/build"
if [[ -f $1/build/.quern-setup.env ]]; then
  cp "$1/build/.quern-setup.env" "$copy/build/" # which Kokkos
fi
# shellcheck source=scripts/lib/common.sh
source "$copy/scripts/lib/common.sh"
configure_program -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON
grep -q '^QUERN_ENABLE_TESTS:BOOL=OFF' "$copy/build/release/CMakeCache.txt"
# A second time it is left alone: developers keep their tests.
cmake -DQUERN_ENABLE_TESTS=ON -N "$copy/build/release" >/dev/null
(
  unset PRTE_MCA_rmaps_default_mapping_policy
  export_mpi_environment
  [[ $PRTE_MCA_rmaps_default_mapping_policy == :oversubscribe ]] # Open MPI 5 does not read OMPI_MCA_rmaps_*
)
configure() { printf '%s\n' "$@"; }
[[ "$(configure_program)" == release ]]
