# SPDX-License-Identifier: Apache-2.0
# QUERN_PORTABLE: one installation for many processors. libexec/quern gets a program for each level
# of src/cpu/level.hpp, and bin/quern starts the best that the processor runs.
#
# They are whole programs, each from a build folder of its own, and not kernels in one program: an
# inline function of a header that two of its objects compile for different processors exists once in
# a program, and the linker may keep the one that the processor does not run.
#
# Sets QUERN_PROGRAM_NAME and QUERN_PROGRAM_FOLDER (below the prefix), and QUERN_ARCH.

# Sets `file` to a script for cmake -C with what the user and the search for libraries have put into the
# cache, so that the other levels are built alike. Its name changes with its content: then they are
# configured again.
function(quern_write_cache_of_levels file)
  set(text "")
  get_cmake_property(names CACHE_VARIABLES)
  list(REMOVE_ITEM names QUERN_ARCH QUERN_CPU_LEVEL QUERN_CPU_LEVEL_OF QUERN_PORTABLE
                         QUERN_ENABLE_TESTS QUERN_ENABLE_BENCHMARKS)
  foreach(name IN LISTS names)
    get_property(type CACHE ${name} PROPERTY TYPE)
    if(type STREQUAL "UNINITIALIZED")
      set(type STRING)
    endif()
    if(NOT type MATCHES "^(INTERNAL|STATIC)$")
      string(APPEND text "set([==[${name}]==] [==[$CACHE{${name}}]==] CACHE ${type} \"\" FORCE)\n")
    endif()
  endforeach()
  string(MD5 hash "${text}")
  set(folder ${PROJECT_BINARY_DIR}/levels/cache)
  file(GLOB old ${folder}/*.cmake)
  list(REMOVE_ITEM old ${folder}/${hash}.cmake)
  if(old)
    file(REMOVE ${old})
  endif()
  file(WRITE ${folder}/${hash}.cmake "${text}")
  set(${file} ${folder}/${hash}.cmake PARENT_SCOPE)
endfunction()

# The programs of the other levels: targets quern_avx2 and so on, part of `all` and of the
# installation.
function(quern_other_levels)
  if(NOT QUERN_PORTABLE OR QUERN_CPU_LEVEL_OF)
    return()
  endif()
  quern_write_cache_of_levels(cache)
  include(ExternalProject)
  foreach(level IN LISTS QUERN_CPU_LEVELS)
    if(level STREQUAL QUERN_CPU_LEVEL)
      continue()
    endif()
    set(folder ${PROJECT_BINARY_DIR}/levels/${level})
    ExternalProject_Add(quern_${level} SOURCE_DIR ${PROJECT_SOURCE_DIR} BINARY_DIR ${folder}
      PREFIX ${folder}/external BUILD_ALWAYS ON USES_TERMINAL_BUILD ON STEP_TARGETS configure
      CMAKE_ARGS -C ${cache} -DQUERN_PORTABLE=ON -DQUERN_CPU_LEVEL=${level}
                 -DQUERN_CPU_LEVEL_OF=${PROJECT_BINARY_DIR} -DQUERN_ENABLE_TESTS=OFF
      BUILD_COMMAND ${CMAKE_COMMAND} --build ${folder} --target quern
      INSTALL_COMMAND "")
    install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --install \"${folder}\"
      --component program --prefix \"\${CMAKE_INSTALL_PREFIX}\" COMMAND_ERROR_IS_FATAL ANY)"
      COMPONENT program)
  endforeach()
endfunction()

include(GNUInstallDirs)
set(QUERN_CPU_LEVEL_OF "" CACHE STRING "The build of another level that this one belongs to")
mark_as_advanced(QUERN_CPU_LEVEL_OF)
set(QUERN_CPU_LEVELS "")
set(QUERN_PROGRAM_NAME quern)
set(QUERN_PROGRAM_FOLDER ${CMAKE_INSTALL_BINDIR})
if(NOT QUERN_PORTABLE)
  return()
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(QUERN_CPU_LEVELS x86-64 avx2 avx512)
  set(march_x86-64 x86-64)
  set(march_avx2 x86-64-v3)
  set(march_avx512 x86-64-v4)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(QUERN_CPU_LEVELS neon)
  set(march_neon armv8-a)
else()
  message(FATAL_ERROR "QUERN_PORTABLE: no levels are known for '${CMAKE_SYSTEM_PROCESSOR}' "
                      "(expected x86_64 or aarch64; QUERN_ARCH names one processor)")
endif()
set(QUERN_CPU_LEVEL "" CACHE STRING "With QUERN_PORTABLE: the level of this build folder (default: the first)")
if(NOT QUERN_CPU_LEVEL)
  list(GET QUERN_CPU_LEVELS 0 QUERN_CPU_LEVEL)
endif()
if(NOT QUERN_CPU_LEVEL IN_LIST QUERN_CPU_LEVELS)
  message(FATAL_ERROR "QUERN_CPU_LEVEL is '${QUERN_CPU_LEVEL}' (expected one of ${QUERN_CPU_LEVELS})")
endif()
if(NOT QUERN_ARCH MATCHES "^(native)?$")
  message(FATAL_ERROR "QUERN_PORTABLE is for any processor, and QUERN_ARCH=${QUERN_ARCH} for one (expected one of the "
                      "two; -UQUERN_ARCH forgets the latter)")
endif()
set(QUERN_ARCH ${march_${QUERN_CPU_LEVEL}})
set(QUERN_PROGRAM_NAME quern-${QUERN_CPU_LEVEL})
set(QUERN_PROGRAM_FOLDER ${CMAKE_INSTALL_LIBEXECDIR}/quern)
