# shellcheck shell=bash disable=SC2154  # kRoot and kMinimumKokkos are of common.sh
# SPDX-License-Identifier: Apache-2.0
# What Quern needs, besides Kokkos: Debian's package, for what, how to see it without dpkg, why.
# run: a program that is built already; train: to build it as well; test: to run the tests as well.
# Probes: command NAME | cmake PACKAGE (find_package) | python MODULE | file PATH. Of a PACKAGE to
# which CMake sets an oldest version (oldest_version), no older one counts.

kPackages='
g++|train|command c++|C++20 compiler
cmake|train|command cmake|configures the build
ninja-build|train|command ninja|builds
git|train|command git|the commit goes into the binary and the checkpoints
libopenmpi-dev|train|cmake MPI|several ranks
openmpi-bin|run|command mpirun|starts them
libhdf5-dev|train|cmake HDF5|shards and checkpoints
zlib1g-dev|train|cmake ZLIB|reads .gz data sets
libpng-dev|train|cmake PNG|reads folders of .png images
libjpeg-dev|train|cmake JPEG|reads folders of .jpg images
libfmt-dev|train|cmake fmt|text formatting
nlohmann-json3-dev|train|cmake nlohmann_json|metrics and reports in JSON
libtomlplusplus-dev|train|cmake tomlplusplus|reads recipes
libcli11-dev|train|cmake CLI11|command line
libxxhash-dev|train|cmake xxHash|checksums of blocks of samples
dataset-fashion-mnist|run|file /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz|the data of the quick start
python3|run|command python3|the report
python3-h5py|run|python h5py|the pictures of the report; reads shards and checkpoints in tests
libgtest-dev|test|cmake GTest|unit tests
libgmock-dev|test|cmake GTest|unit tests
libbenchmark-dev|test|cmake benchmark|kernel benchmarks
python3-numpy|test|python numpy|reference values of tests
python3-pil|test|python PIL|writes images in tests
python3-xxhash|test|python xxhash|checksums of blocks of samples in tests
python3-yaml|test|python yaml|reads the files for Spack in tests
black|test|command black|style test of the Spack package
clang-format|test|command clang-format|style test
clang-tidy|test|command clang-tidy|style test
shellcheck|test|command shellcheck|style test
locales|test|file /usr/share/i18n/charmaps/ANSI_X3.4-1968.gz|a locale with other letters, for tests of jobs/submit
groff-base|test|command groff|test of the manual page
slurmctld|test|file /usr/sbin/slurmctld|job tests on a real Slurm
slurmd|test|file /usr/sbin/slurmd|job tests on a real Slurm
slurm-client|test|command sbatch|job tests on a real Slurm
munge|test|file /usr/sbin/munged|job tests on a real Slurm
'

# package_rows run|train|test [PACKAGE...]: the rows that are needed for it, without those packages.
package_rows() {
  local what="$1" package for probe why
  shift
  while IFS='|' read -r package for probe why; do
    [[ -n $package && " $* " != *" $package "* ]] || continue
    case "$what.$for" in
      run.run | train.run | train.train | test.*) printf '%s|%s|%s\n' "$package" "$probe" "$why" ;;
    esac
  done <<<"$kPackages"
}

# cmake_lacks PACKAGE...: prints those of them that find_package does not find, or only too old.
cmake_lacks() {
  local scratch package oldest wanted="" generator=()
  has ninja && generator=(-G Ninja)
  if ! has cmake || ! has c++; then
    printf '%s\n' "$@"
    return
  fi
  scratch="$(mktemp -d)"
  for package in "$@"; do
    oldest="$(oldest_version "$package")"
    wanted+="$package${oldest:+>=$oldest};"
  done
  if ! cmake -S "$kRoot/scripts/lib/probe" -B "$scratch" "${generator[@]}" \
    -DWANTED="${wanted%;}" -DLACKING_FILE="$scratch/lacking.txt" >/dev/null 2>&1; then
    printf '%s\n' "$@" >"$scratch/lacking.txt"
  fi
  cat "$scratch/lacking.txt"
  rm -rf "$scratch"
}

probe_finds() {
  local kind="${1%% *}" what="${1#* }"
  case "$kind" in
    command) has "$what" ;;
    file) [[ -e $what ]] ;;
    python) has python3 && "$(quern_python)" -c "import $what" >/dev/null 2>&1 ;;
    cmake) [[ $'\n'"$2"$'\n' != *$'\n'"$what"$'\n'* ]] ;;
  esac
}

# oldest_of PROBE: the oldest version that counts; nothing if all do.
oldest_of() { [[ $1 != cmake* ]] || oldest_version "${1#cmake }"; }

# with_oldest PROBE TEXT: the text, and which versions it must be.
with_oldest() {
  local oldest
  oldest="$(oldest_of "$1")"
  printf '%s\n' "$2${oldest:+ ($oldest or newer)}"
}

# missing_rows run|train|test [PACKAGE...]: the rows that neither dpkg nor a probe finds, without
# those packages. Quick when dpkg has all.
missing_rows() {
  local rows package probe why name version asked=() lacking="" candidates=()
  local -A installed=()
  rows="$(package_rows "$@")"
  if has_apt; then
    # shellcheck disable=SC2016  # dpkg-query expands ${...} itself
    while read -r name version; do
      installed[$name]="$version"
    done < <(cut -d'|' -f1 <<<"$rows" |
      xargs dpkg-query -W -f='${db:Status-Status} ${Package} ${source:Upstream-Version}\n' \
        2>/dev/null | sed -n 's/^installed //p' || true)
  fi
  while IFS='|' read -r package probe why; do
    version="${installed[$package]:-}"
    [[ -n $version ]] && version_at_least "$version" "$(oldest_of "$probe")" && continue
    candidates+=("$package|$probe|$why")
    [[ $probe == cmake* ]] && asked+=("${probe#cmake }")
  done <<<"$rows"
  if ((${#asked[@]} > 0)); then
    lacking="$(cmake_lacks "${asked[@]}")"
  fi
  local row
  for row in "${candidates[@]}"; do
    IFS='|' read -r package probe why <<<"$row"
    probe_finds "$probe" "$lacking" || printf '%s\n' "$row"
  done
}
