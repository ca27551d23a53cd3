# SPDX-License-Identifier: Apache-2.0
# What the compiler makes of QUERN_ARCH, for `quern info`: -march=native is its best guess at this
# processor, which inside a virtual machine may be an older one.
#   QUERN_FLAGS   the flags that all of Quern is compiled with: "-O3 -DNDEBUG -march=native"
#   QUERN_TARGET  "rocketlake, tuned for rocketlake, prefers vectors of 512 bits"; empty where the
#                 compiler does not tell
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(QUERN_FLAGS "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}")
if(QUERN_ARCH)
  string(APPEND QUERN_FLAGS " -march=${QUERN_ARCH}")
endif()
string(STRIP "${QUERN_FLAGS}" QUERN_FLAGS)

# Sets `result` to what the compiler prints with `options` beside the flags; empty if it fails. Every
# question has a -c: Spack's compiler adds its -march only to commands that compile, and to others flags
# for the linker, with which GCC prints nothing. Those of ours are left out for the same reason. (With
# -c GCC leaves a help-dummy.o where it runs.) Of nvcc_wrapper the compiler of the host is asked.
function(quern_ask_compiler result)
  separate_arguments(flags UNIX_COMMAND "${QUERN_FLAGS}")
  list(FILTER flags EXCLUDE REGEX "^-(Wl,|L|l)")
  set(host "")
  if(CMAKE_CXX_COMPILER MATCHES "nvcc_wrapper")
    set(host --host-only)
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${host} ${flags} -c ${ARGN}
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/CMakeFiles
                  OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(text "")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

quern_ask_compiler(macros -E -dM -x c++ /dev/null)
if(NOT macros AND QUERN_ARCH)
  set(flags_for_arch "${QUERN_FLAGS}")
  string(REPLACE " -march=${QUERN_ARCH}" "" QUERN_FLAGS " ${QUERN_FLAGS}")
  quern_ask_compiler(without_arch -E -dM -x c++ /dev/null)
  if(without_arch)
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} does not know QUERN_ARCH=${QUERN_ARCH} (expected native, nothing, or a "
                        "processor as in its -march=)")
  endif()
  set(QUERN_FLAGS "${flags_for_arch}")
endif()
if(QUERN_KOKKOS_FLAGS)
  # Rooms without Kokkos are compiled without its flags: both may be for a processor with AVX-512.
  string(APPEND QUERN_FLAGS " ${QUERN_KOKKOS_FLAGS}")
  quern_ask_compiler(with_kokkos -E -dM -x c++ /dev/null)
  string(APPEND macros "${with_kokkos}")
endif()

# With AVX-512, loops that the compiler vectorises take the whole register as well: for most processors
# it prefers half of it. Adam of `mlp-mnist` takes 82 us in place of 99 on an Intel Xeon.
if(macros MATCHES "#define __AVX512F__ 1" AND NOT QUERN_FLAGS MATCHES "-mprefer-vector-width=")
  string(APPEND QUERN_FLAGS " -mprefer-vector-width=512")
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-mprefer-vector-width=512>)
endif()

set(QUERN_TARGET "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  quern_ask_compiler(text -Q --help=target)
  if(text MATCHES "-march=[ \t]+([^ \t\n]+)")
    set(QUERN_TARGET "${CMAKE_MATCH_1}")
    if(text MATCHES "-mtune=[ \t]+([^ \t\n]+)")
      string(APPEND QUERN_TARGET ", tuned for ${CMAKE_MATCH_1}")
    endif()
    if(text MATCHES "-mprefer-vector-width=[ \t]+([0-9]+)")
      string(APPEND QUERN_TARGET ", prefers vectors of ${CMAKE_MATCH_1} bits")
    endif()
  endif()
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  quern_ask_compiler(text "-###" -x c++ /dev/null)
  if(text MATCHES "\"-target-cpu\" \"([^\"]+)\"")
    set(QUERN_TARGET "${CMAKE_MATCH_1}")
  endif()
  if(QUERN_TARGET AND text MATCHES "\"-tune-cpu\" \"([^\"]+)\"")
    string(APPEND QUERN_TARGET ", tuned for ${CMAKE_MATCH_1}")
  endif()
endif()

# GCC 12.2 with AVX-512 makes 32 equal bytes of a local array of 16 equal ones and 16 zeros, at every
# level of optimisation: it takes the 256 bits to be stored for one byte repeated. Not with stores of
# 128 bits (tests/unit/base/compiler_test.cpp).
# GCC 12 of a compiler that does not answer gets the flag as well, where it has it.
set(fills_bytes_wrongly FALSE)
if(macros MATCHES "#define __AVX512VL__ 1" AND macros MATCHES "#define __GNUC__ 12")
  set(fills_bytes_wrongly TRUE)
elseif(NOT macros AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(WARNING "${CMAKE_CXX_COMPILER} does not print its macros with '${QUERN_FLAGS} -c -E -dM' "
                  "(expected lines with #define): Quern does not know the processor it compiles for")
  if(CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\." AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    set(fills_bytes_wrongly TRUE)
  endif()
endif()
if(fills_bytes_wrongly)
  string(APPEND QUERN_FLAGS " -mstore-max=128")
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-mstore-max=128>)
endif()
