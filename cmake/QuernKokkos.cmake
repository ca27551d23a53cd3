# SPDX-License-Identifier: Apache-2.0
# What a Kokkos that was found must be like.
#   QUERN_KOKKOS_FLAGS  flags for a processor that Kokkos was built for: it hands them to all that uses
#                       it, behind those of Quern, and so they count
foreach(back_end IN LISTS Kokkos_DEVICES)
  if(NOT back_end MATCHES "^(CUDA|HIP|OPENMP|SERIAL|THREADS)$")
    message(FATAL_ERROR "The Kokkos in ${Kokkos_DIR} was built for ${back_end}, for which Quern has no kernels "
                        "(expected CUDA, HIP, OPENMP, THREADS or SERIAL; Kokkos_ROOT can name another)")
  endif()
endforeach()

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
