# SPDX-License-Identifier: Apache-2.0
# What a Kokkos that was found must be like.
#   QUERN_KOKKOS_FLAGS  flags for a processor that Kokkos was built for: it hands them to all that uses
#                       it, behind those of Quern, and so they count
# CMake goes on to the next place if there is none that fits in the one that was asked for.
function(quern_check_kokkos_place severity name value advice)
  file(REAL_PATH "${Kokkos_DIR}" found)
  foreach(asked IN LISTS value)
    if(NOT IS_ABSOLUTE "${asked}")
      return()
    endif()
    file(REAL_PATH "${asked}" asked)
    cmake_path(IS_PREFIX asked "${found}" below)
    if(below)
      return()
    endif()
  endforeach()
  set(considered "${Kokkos_CONSIDERED_CONFIGS} ${Kokkos_CONSIDERED_VERSIONS}")
  message(${severity} "${name} is ${value}, but CMake took Kokkos ${Kokkos_VERSION} from ${Kokkos_DIR} "
                      "(looked at: ${considered}). ${advice}")
endfunction()
set(expected "Expected a Kokkos 4.6 or newer there;")
if(asked_dir)
  quern_check_kokkos_place(FATAL_ERROR Kokkos_DIR "${asked_dir}" "${expected} -UKokkos_DIR looks for another.")
  if(Kokkos_ROOT)
    quern_check_kokkos_place(WARNING Kokkos_ROOT "${Kokkos_ROOT}"
      "Kokkos_DIR, which may be from an earlier time, comes first; -UKokkos_DIR looks again.")
  endif()
elseif(Kokkos_ROOT)
  quern_check_kokkos_place(FATAL_ERROR Kokkos_ROOT "${Kokkos_ROOT}" "${expected} -UKokkos_ROOT looks for another.")
elseif(NOT "$ENV{Kokkos_ROOT}" STREQUAL "")
  string(REPLACE ":" ";" asked "$ENV{Kokkos_ROOT}")
  quern_check_kokkos_place(WARNING "The environment's Kokkos_ROOT" "${asked}" "${expected}")
endif()
if(Kokkos_VERSION VERSION_GREATER_EQUAL 6)
  message(WARNING "Kokkos ${Kokkos_VERSION} in ${Kokkos_DIR} is newer than any that Quern was compiled with "
                  "(expected 4.6 to 5)")
endif()

foreach(back_end IN LISTS Kokkos_DEVICES)
  if(NOT back_end MATCHES "^(CUDA|HIP|OPENMP|SERIAL|THREADS)$")
    message(FATAL_ERROR "The Kokkos in ${Kokkos_DIR} was built for ${back_end}, for which Quern has no kernels "
                        "(expected CUDA, HIP, OPENMP, THREADS or SERIAL; Kokkos_ROOT can name another)")
  endif()
endforeach()

# GCC 12.2 to 12.5 drop a constructor of the newer View (issue 7464 of Kokkos). What Kokkos does about it
# since 5.2 is left out where nvcc compiles.
if(Kokkos_ENABLE_CUDA AND Kokkos_VERSION VERSION_GREATER_EQUAL 4.7 AND NOT Kokkos_ENABLE_IMPL_VIEW_LEGACY
   AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.2
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12.6)
  message(WARNING "GCC ${CMAKE_CXX_COMPILER_VERSION} behind nvcc miscompiles the View of Kokkos ${Kokkos_VERSION} "
                  "(its issue 7464): copies of empty Views may crash (expected GCC 13 or newer)")
endif()

set(options "")
if(TARGET Kokkos::kokkoscore)
  get_target_property(options Kokkos::kokkoscore INTERFACE_COMPILE_OPTIONS)
endif()
string(REGEX MATCHALL "-m(arch|cpu|tune)=[^]; >,\"]+" QUERN_KOKKOS_FLAGS "${options}")
list(REMOVE_DUPLICATES QUERN_KOKKOS_FLAGS)
list(JOIN QUERN_KOKKOS_FLAGS " " QUERN_KOKKOS_FLAGS)
if(QUERN_KOKKOS_FLAGS AND QUERN_PORTABLE)
  message(FATAL_ERROR "QUERN_PORTABLE is for any processor, but the Kokkos in ${Kokkos_DIR} was built for "
                      "one, and has all that uses it compiled with ${QUERN_KOKKOS_FLAGS} (expected one "
                      "built without Kokkos_ARCH_...; Kokkos_ROOT can name another)")
elseif(QUERN_KOKKOS_FLAGS AND QUERN_ARCH AND NOT "-march=${QUERN_ARCH}" STREQUAL QUERN_KOKKOS_FLAGS)
  message(WARNING "The Kokkos in ${Kokkos_DIR} was built for one processor, and has all that uses it "
                  "compiled with ${QUERN_KOKKOS_FLAGS}: this overrides QUERN_ARCH=${QUERN_ARCH} for most "
                  "files (expected a Kokkos built without Kokkos_ARCH_..., or an empty QUERN_ARCH)")
endif()
