# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What scripts/setup, scripts/quickstart and scripts/test share. Sourced, never run.

kRoot="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
kRememberedFile="$kRoot/build/.quern-setup.env"

# oldest_version PACKAGE: the oldest that the build takes, by CMake's name; nothing if it takes all.
oldest_version() {
  sed -n "s/^ *find_package($1 \([0-9][0-9.]*\) .*/\1/p" "$kRoot/cmake/QuernDependencies.cmake"
}
kMinimumKokkos="$(oldest_version Kokkos)"

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
warn() { printf '%s: warning: %s\n' "$(basename "$0")" "$*" >&2; }
fail() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}
# For wrong options: same status as the program's own (2).
fail_usage() {
  printf '%s: error: %s (see --help)\n' "$(basename "$0")" "$*" >&2
  exit 2
}

has() { command -v "$1" >/dev/null 2>&1; }
has_apt() { has apt-get && has dpkg-query; }
on_terminal() { [[ -t 0 && -t 2 ]]; }
is_root() { [[ $(id -u) -eq 0 ]]; }

# version_at_least HAVE WANT
version_at_least() { [[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]; }

# Debian's modules (numpy, h5py) belong to Debian's own interpreter, and the first
# python3 on the path may be another.
quern_python() {
  local python
  for python in "${QUERN_PYTHON:-}" /usr/bin/python3 python3; do
    if [[ -n $python ]] && has "$python"; then
      printf '%s\n' "$python"
      return
    fi
  done
  fail "no python3 found (QUERN_PYTHON may name one)"
}

# The folder of KokkosConfig.cmake below the prefix $1; nothing where there is none.
kokkos_dir_below() {
  local folder
  for folder in "$1"/lib/cmake/Kokkos "$1"/lib64/cmake/Kokkos "$1"/lib/*/cmake/Kokkos; do
    if [[ -f $folder/KokkosConfig.cmake && -f $folder/KokkosConfigVersion.cmake ]]; then
      printf '%s\n' "$folder"
      return
    fi
  done
}

# The version of the Kokkos whose CMake files lie in the folder $1.
kokkos_version_in() {
  sed -n 's/^ *set(PACKAGE_VERSION "\([0-9.]*\)").*/\1/p' "$1/KokkosConfigVersion.cmake" | head -n 1
}

# usable_kokkos PREFIX: true when a Kokkos that Quern can use is installed there.
usable_kokkos() {
  local folder
  folder="$(kokkos_dir_below "$1")"
  [[ -n $folder ]] && version_at_least "$(kokkos_version_in "$folder")" "$kMinimumKokkos"
}

# The Kokkos prefix that scripts/setup chose last time; nothing when it left that to CMake.
remembered_prefix() {
  [[ -f $kRememberedFile ]] && sed -n 's/^KOKKOS_PREFIX=//p' "$kRememberedFile"
}

remember_prefix() {
  mkdir -p "$(dirname "$kRememberedFile")"
  printf 'KOKKOS_PREFIX=%s\n' "$1" >"$kRememberedFile"
}

# configure PRESET [cmake options]: with the Kokkos that scripts/setup chose. Kokkos_DIR and not
# Kokkos_ROOT, because an older choice in the CMake cache would win over the latter.
configure() {
  local preset="$1" prefix options=()
  shift
  prefix="$(remembered_prefix || true)"
  if [[ -n $prefix ]]; then
    options+=("-DKokkos_DIR=$(kokkos_dir_below "$prefix")")
  fi
  (cd "$kRoot" && cmake --preset "$preset" "${options[@]}" "$@")
}

# configure_program [cmake options]: build/release for the program, which needs no GoogleTest. What
# scripts/test has configured stays as it is.
configure_program() {
  [[ -f $kRoot/build/release/CMakeCache.txt ]] || set -- -DQUERN_ENABLE_TESTS=OFF "$@"
  configure release "$@"
}

processors() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }

# Open MPI refuses to start as root (containers) or with more ranks than cores unless told to. PRTE_: Open MPI 5.
export_mpi_environment() {
  if is_root; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
  export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
}
