# SPDX-License-Identifier: Apache-2.0
# The one file that is compiled with the source tree's place.
add_library(quern_test_source_folder STATIC
  ${PROJECT_SOURCE_DIR}/tests/support/source_folder.cpp)
target_include_directories(quern_test_source_folder PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(quern_test_source_folder PRIVATE quern_warnings)
target_compile_definitions(quern_test_source_folder PRIVATE
  QUERN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# quern_skip_without_mpi(NAME): in a build without MPI the rest of the folder's file is left out, and the
# entry NAME says so.
macro(quern_skip_without_mpi name)
  if(NOT QUERN_ENABLE_MPI)
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: built without MPI")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
    return()
  endif()
endmacro()

# The main of many tests, compiled once: an object library, made by the first test that wants it.
function(quern_test_main kind)
  set(main quern_test_${kind}_main)
  if(NOT TARGET ${main})
    add_library(${main} OBJECT ${PROJECT_SOURCE_DIR}/tests/support/${kind}_main.cpp)
    target_include_directories(${main} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${main} PRIVATE GTest::gtest GTest::gmock Kokkos::kokkos quern_warnings
                                          ${ARGN})
    quern_precompile_test(${main} Kokkos::kokkos)
  endif()
endfunction()

# quern_test(NAME unit.room.thing SOURCES a_test.cpp ... LIBRARIES quern::room ...
#            [RANKS 1 2 3 4] [LABELS ...] [KOKKOS] [TIMEOUT seconds])
# Without RANKS: one ctest entry, one process, GoogleTest's own main.
# With RANKS: tests/support/mpi_main.cpp is the main and each rank count is its own entry, "NAME/2".
# KOKKOS: the main initialises Kokkos (tests/support/kokkos_main.cpp).
function(quern_test)
  cmake_parse_arguments(ARG "KOKKOS" "NAME;TIMEOUT" "SOURCES;LIBRARIES;RANKS;LABELS" ${ARGN})
  string(REPLACE "." "_" target "${ARG_NAME}")
  string(REGEX REPLACE "\\..*$" "" first "${ARG_NAME}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES} quern_test_source_folder
                                          GTest::gtest GTest::gmock quern_warnings)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(ARG_RANKS OR ARG_KOKKOS)
    list(APPEND ARG_LIBRARIES Kokkos::kokkos)
  endif()
  quern_precompile_test(${target} ${ARG_LIBRARIES})
  if(ARG_RANKS)
    quern_test_main(mpi quern::comm)
    target_link_libraries(${target} PRIVATE quern_test_mpi_main quern::comm Kokkos::kokkos)
    if(NOT QUERN_ENABLE_MPI)
      list(FILTER ARG_RANKS INCLUDE REGEX "^1$")
    endif()
    # MPI unloads its plug-ins before leaks are looked for: nothing tells theirs from ours any more. The
    # tests without MPI look for ours.
    set(environment ${QUERN_TEST_ENVIRONMENT})
    if(QUERN_ENABLE_SANITIZERS AND QUERN_ENABLE_MPI)
      list(APPEND environment ASAN_OPTIONS=detect_leaks=0:${QUERN_ASAN_OPTIONS})
    endif()
    foreach(ranks IN LISTS ARG_RANKS)
      if(QUERN_ENABLE_MPI)
        add_test(NAME ${ARG_NAME}/${ranks} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}
          ${ranks} ${MPIEXEC_PREFLAGS} $<TARGET_FILE:${target}> ${MPIEXEC_POSTFLAGS})
      else()
        add_test(NAME ${ARG_NAME}/${ranks} COMMAND ${target})
      endif()
      math(EXPR processors "${ranks}")
      set_tests_properties(${ARG_NAME}/${ranks} PROPERTIES LABELS "${first};${ARG_LABELS}"
        PROCESSORS ${processors} TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
    endforeach()
  else()
    if(ARG_KOKKOS)
      quern_test_main(kokkos quern::base)
      target_link_libraries(${target} PRIVATE quern_test_kokkos_main Kokkos::kokkos)
    else()
      target_link_libraries(${target} PRIVATE GTest::gtest_main)
    endif()
    add_test(NAME ${ARG_NAME} COMMAND ${target})
    set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${first};${ARG_LABELS}"
      TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${QUERN_TEST_ENVIRONMENT}")
  endif()
endfunction()

# quern_test_threads(NAME): runs the test once more, as NAME.threads2, on two threads: for tests that
# compare bits with a serial run. Numerical derivatives (thousands of tiny kernels) are left out. Under
# sanitizers threads mostly wait for each other: other tests may run meanwhile.
function(quern_test_threads name)
  string(REPLACE "." "_" target "${name}")
  string(REPLACE "OMP_NUM_THREADS=1" "OMP_NUM_THREADS=2" environment "${QUERN_TEST_ENVIRONMENT}")
  add_test(NAME ${name}.threads2 COMMAND ${target} --gtest_filter=-*Differences)
  set(processors 2)
  if(QUERN_ENABLE_SANITIZERS)
    set(processors 1)
  endif()
  set_tests_properties(${name}.threads2 PROPERTIES LABELS unit PROCESSORS ${processors} TIMEOUT 300
    ENVIRONMENT "OMP_WAIT_POLICY=passive;${environment}")
endfunction()

# quern_test_device_kernels(NAME): runs the test once more, as NAME.device_kernels, with the kernels
# for devices in place of the CPU's. On a device they are the only ones.
function(quern_test_device_kernels name)
  if(QUERN_DEVICE_EXECUTION)
    return()
  endif()
  string(REPLACE "." "_" target "${name}")
  add_test(NAME ${name}.device_kernels COMMAND ${target} ${ARGN})
  set_tests_properties(${name}.device_kernels PROPERTIES LABELS unit TIMEOUT 300
    ENVIRONMENT "QUERN_DEVICE_KERNELS=1;${QUERN_TEST_ENVIRONMENT}")
endfunction()
