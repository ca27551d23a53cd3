# SPDX-License-Identifier: Apache-2.0
# QUERN_ENABLE_NCCL: what it needs besides NCCL itself.
if(QUERN_ENABLE_NCCL)
  if(NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
    message(FATAL_ERROR "QUERN_ENABLE_NCCL needs a Kokkos built for CUDA or HIP; this one is not")
  endif()
  if(NOT QUERN_ENABLE_MPI)
    message(FATAL_ERROR "QUERN_ENABLE_NCCL needs QUERN_ENABLE_MPI: ranks find each other by MPI")
  endif()
  find_package(NCCL 2.20 REQUIRED)
endif()
