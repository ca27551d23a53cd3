# shellcheck shell=bash disable=SC2154  # kRoot and kMinimumKokkos are of common.sh
# SPDX-License-Identifier: Apache-2.0
# Kokkos built from source into this clone's build folder: no root, any system, nothing replaced.

kKokkosRelease=4.6.01
kKokkosReleaseSha256=b9d70e4653b87a06dbb48d63291bf248058c7c7db4bd91979676ad5609bb1a3a
kKokkosReleaseAddress="https://github.com/kokkos/kokkos/releases/download/$kKokkosRelease/kokkos-$kKokkosRelease.tar.gz"

own_kokkos_prefix() { printf '%s\n' "$kRoot/build/deps/kokkos"; }

# Kokkos' CMake files say 4.6.1 where the release is called 4.6.01.
plain_version() { sed -E 's/\.0+([0-9])/.\1/g' <<<"$1"; }

# The version of the Kokkos source tree in folder $1.
kokkos_source_version() {
  sed -nE 's/^ *set\(Kokkos_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)\).*/\2/Ip' "$1/CMakeLists.txt" |
    head -n 3 | paste -sd.
}

# download ADDRESS FILE: fails within seconds when the host cannot be reached or stops sending.
download() {
  if has curl; then
    curl --fail --location --silent --show-error --connect-timeout 8 --max-time 600 \
      --speed-limit 1000 --speed-time 15 --output "$2" "$1"
  else
    wget --no-verbose --connect-timeout=8 --read-timeout=15 --tries=1 --output-document="$2" "$1"
  fi
}

# fetch_kokkos_release FOLDER: leaves the unpacked source tree in FOLDER/source. Status 1 when it
# cannot be downloaded; another file than the release ends the script.
fetch_kokkos_release() {
  local found
  if ! has curl && ! has wget; then
    warn "cannot download Kokkos: neither curl nor wget is installed"
    return 1
  fi
  say "downloading $kKokkosReleaseAddress"
  download "$kKokkosReleaseAddress" "$1/kokkos.tar.gz" || {
    warn "cannot download Kokkos $kKokkosRelease (the reason is above)"
    return 1
  }
  found="$(sha256sum "$1/kokkos.tar.gz" | cut -d' ' -f1)"
  [[ $found == "$kKokkosReleaseSha256" ]] ||
    fail "$kKokkosReleaseAddress was refused: its SHA-256 is $found, expected
$kKokkosReleaseSha256. Something between here and there changed it. $(other_ways)"
  mkdir -p "$1/source"
  tar -xzf "$1/kokkos.tar.gz" -C "$1/source" --strip-components=1 ||
    fail "cannot unpack Kokkos $kKokkosRelease into $1/source (is there space?)"
}

# GCC 12.2 to 12.5 drop a constructor of Kokkos' newer View, so that every copy of an empty View
# crashes (issue 7464 of Kokkos). Sources that do not avoid that yet get the older View.
needs_legacy_view() {
  local gcc
  gcc="$(c++ -dumpfullversion 2>/dev/null)"
  [[ $gcc == 12.[2-5].* ]] && grep -q IMPL_VIEW_LEGACY "$1/cmake/kokkos_enable_options.cmake" &&
    ! grep -q 'KOKKOS_COMPILER_GNU < 1220' "$1/core/src/impl/Kokkos_SharedAlloc.hpp"
}

# build_kokkos SOURCE SCRATCH PREFIX
build_kokkos() {
  local source="$1" scratch="$2" prefix="$3" version options=()
  [[ -f $source/CMakeLists.txt && -d $source/core/src ]] ||
    fail "'$source' is not a Kokkos source folder (CMakeLists.txt and core/src expected)"
  version="$(kokkos_source_version "$source")"
  version_at_least "${version:-0}" "$kMinimumKokkos" ||
    fail "'$source' holds Kokkos ${version:-of unknown version}; $kMinimumKokkos or newer is needed"
  has ninja && options+=(-G Ninja)
  needs_legacy_view "$source" && options+=(-DKokkos_ENABLE_IMPL_VIEW_LEGACY=ON)
  say "building Kokkos $version into $prefix (OpenMP and Serial; about two minutes on two cores)"
  if ! { cmake -S "$source" -B "$scratch/build" "${options[@]}" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_CXX_STANDARD=20 -DCMAKE_CXX_EXTENSIONS=OFF -DKokkos_ENABLE_OPENMP=ON \
    -DKokkos_ENABLE_SERIAL=ON &&
    cmake --build "$scratch/build" --parallel "$(processors)" --target install; } \
    >"$scratch/log" 2>&1; then
    tail -n 30 "$scratch/log" >&2
    fail "Kokkos did not build (its last lines are above). $(other_ways)"
  fi
}

# install_kokkos_from_source DIR|release PREFIX SCRATCH: status 1 when the release cannot be
# downloaded; everything else that goes wrong ends the script.
install_kokkos_from_source() {
  local source="$1" prefix="$2" scratch="$3" wanted tool
  wanted="$kKokkosRelease"
  [[ $source == release ]] || wanted="$(kokkos_source_version "$source" 2>/dev/null || true)"
  if usable_kokkos "$prefix" &&
    [[ $(kokkos_version_in "$(kokkos_dir_below "$prefix")") == "$(plain_version "$wanted")" ]]; then
    say "Kokkos $wanted is in $prefix already."
    return
  fi
  for tool in cmake c++; do
    has "$tool" || fail "building Kokkos needs $tool, which is not installed"
  done
  if [[ $source == release ]]; then
    fetch_kokkos_release "$scratch" || return 1
    source="$scratch/source"
  fi
  build_kokkos "$source" "$scratch" "$prefix"
  usable_kokkos "$prefix" || fail "no usable Kokkos in $prefix after the build"
}
