# SPDX-License-Identifier: Apache-2.0
# QUERN_PRECOMPILED_HEADERS: the headers of Kokkos and GoogleTest, which nearly every file takes, are
# read once, with TESTS for the files of tests/ only. scripts/test uses it. A source that forgets such an
# include compiles all the same: the preset release is without, and so are builds with a compiler cache
# (scripts/test --launcher).
set(QUERN_PRECOMPILED_HEADERS OFF CACHE STRING
    "Precompile the headers of Kokkos and GoogleTest: ON, OFF, or TESTS (those of tests only)")
set_property(CACHE QUERN_PRECOMPILED_HEADERS PROPERTY STRINGS OFF TESTS ON)

# What is tested is in src/: the tests themselves, of KIND (below), are not worth optimising much. Those with
# Kokkos have twins of kernels, which take longer to run without optimisation than it takes to compile.
function(quern_compile_quickly target kind)
  if(QUERN_ENABLE_SANITIZERS AND kind STREQUAL "test")
    target_compile_options(${target} PRIVATE -O0)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# quern_precompile(TARGET KIND): KIND is room (Kokkos), kokkos_test (Kokkos and GoogleTest) or test.
# Targets of a kind are compiled with the same flags, and share what the first of them has made.
function(quern_precompile target kind)
  if(NOT QUERN_PRECOMPILED_HEADERS)
    return()
  endif()
  set(maker quern_precompiled_${kind})
  if(NOT TARGET ${maker})
    set(source ${PROJECT_BINARY_DIR}/${maker}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Compiled for its headers.\n")
    add_library(${maker} OBJECT ${source})
    target_link_libraries(${maker} PRIVATE quern_warnings)
    target_compile_features(${maker} PRIVATE cxx_std_20)
    set(headers "")
    if(NOT kind STREQUAL "test")
      target_link_libraries(${maker} PRIVATE Kokkos::kokkos)
      list(APPEND headers <Kokkos_Core.hpp>)
    endif()
    if(kind STREQUAL "room")
      set_target_properties(${maker} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    else()
      target_link_libraries(${maker} PRIVATE GTest::gtest GTest::gmock)
      list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
    endif()
    if(NOT kind STREQUAL "room")
      quern_compile_quickly(${maker} ${kind})
    endif()
    target_precompile_headers(${maker} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${maker})
  # So read, std::string is no system header to GCC 12, which then warns of copies inside it (its bug
  # 105651).
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow>)
endfunction()

# Sets `result` to TRUE if one of the libraries brings Kokkos and its flags.
function(quern_brings_kokkos result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(library IN LISTS ARGN)
    set(has_kokkos FALSE)
    if(library STREQUAL "Kokkos::kokkos")
      set(has_kokkos TRUE)
    elseif(library MATCHES "^quern::")
      get_target_property(has_kokkos ${library} QUERN_HAS_KOKKOS)
    endif()
    if(has_kokkos)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(quern_precompile_room target)
  quern_brings_kokkos(has_kokkos ${ARGN})
  if(has_kokkos)
    set_target_properties(${target} PROPERTIES QUERN_HAS_KOKKOS TRUE)
    if(NOT QUERN_PRECOMPILED_HEADERS STREQUAL "TESTS")
      quern_precompile(${target} room)
    endif()
  endif()
endfunction()

function(quern_precompile_test target)
  quern_brings_kokkos(has_kokkos ${ARGN})
  set(kind test)
  if(has_kokkos)
    set(kind kokkos_test)
  endif()
  quern_compile_quickly(${target} ${kind})
  quern_precompile(${target} ${kind})
endfunction()
