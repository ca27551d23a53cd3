# shellcheck shell=bash disable=SC2154  # scripts/setup and common.sh set what is not set here
# SPDX-License-Identifier: Apache-2.0
# Which Kokkos: one that is there, and else the ways to one, in the order in which they are tried.

# Prints the prefix of the Kokkos to use, empty when CMake finds it without help; fails when there
# is none. That of /usr is judged last, however it is named: its package may lack archives.
find_kokkos() {
  local candidate
  while read -r candidate; do
    if [[ -n $candidate && ! $candidate -ef /usr ]] && usable_kokkos "$candidate"; then
      printf '%s\n' "$candidate"
      return
    fi
  done < <(remembered_prefix; printf '%s\n' "${Kokkos_ROOT:-}"
    tr ':' '\n' <<<"${CMAKE_PREFIX_PATH:-}"; own_kokkos_prefix)
  usable_kokkos /usr/local || { usable_kokkos /usr && ! system_kokkos_lacks_archives; }
}

# The ways to a Kokkos on this system, one a line: the first is tried first. None: no line.
#   source    a source folder, or the release, that --kokkos-source names
#   archives  the package is installed; two empty archives that it leaves out are missing
#   package   the system's own package is new enough
#   release   a pinned release, downloaded and built: replaces nothing, needs no root
#   unstable  the package of Debian unstable
kokkos_ways() {
  if [[ -n $kokkos_source ]]; then
    echo source
    return
  fi
  if has_apt && may_be_root; then
    if usable_kokkos /usr; then
      echo archives
    elif [[ -n $(own_kokkos_candidate) ]]; then
      echo package
    fi
  fi
  echo release
  if has_apt && may_be_root && [[ -n $(debian_codename) ]]; then
    echo unstable
  fi
}

describe_way() {
  case "$1" in
    archives) say "installed; two empty archives that its package leaves out are made" ;;
    package) say "package libkokkos-dev of this system" ;;
    source | release)
      if [[ $1 == release || $kokkos_source == release ]]; then
        say "release $kKokkosRelease, downloaded and built into $(own_kokkos_prefix)"
      else
        say "built from $kokkos_source into $(own_kokkos_prefix)"
      fi
      ;;
    unstable) say "package libkokkos-dev of Debian unstable, from this system's own mirror" ;;
  esac
}

# One line a way, in order: what will be tried.
describe_kokkos_ways() {
  local way first=true
  for way in "$@"; do
    if $first; then
      printf '  %-24s %s\n' "Kokkos >= $kMinimumKokkos" "runs the kernels: $(describe_way "$way")"
    else
      printf '  %-24s %s\n' "" "if that cannot be had: $(describe_way "$way")"
    fi
    first=false
  done
}

other_ways() {
  cat <<WAYS
Other ways to a Kokkos $kMinimumKokkos or newer:
  scripts/setup --prefix DIR            one that is installed already (a module of your site)
  scripts/setup --kokkos-source DIR     built for you alone from a source folder you downloaded:
                                        Kokkos $kKokkosRelease, $kKokkosReleaseAddress
  spack install kokkos+openmp           then: scripts/setup --prefix "\$(spack location -i kokkos)"
WAYS
}

# install_kokkos WAY SCRATCH: status 1 when this way cannot be gone here and another may; what goes
# wrong on the way ends the script.
install_kokkos() {
  local way="$1" scratch="$2"
  case "$way" in
    source | release)
      install_kokkos_from_source "${kokkos_source:-release}" "$(own_kokkos_prefix)" "$scratch" ||
        return 1
      remember_prefix "$(own_kokkos_prefix)"
      ;;
    package) install_packages libkokkos-dev ;;
    unstable) install_kokkos_from_unstable "$(debian_codename)" "$scratch" ;;
  esac
  if [[ $way != source && $way != release ]]; then
    complete_kokkos_archives
  fi
}
