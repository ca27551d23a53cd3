# SPDX-License-Identifier: Apache-2.0
# What Kokkos was built for, and what that lets Quern use.
set(QUERN_REQUIRE_BACKEND "" CACHE STRING "Kokkos back end without which there is nothing to build")
if(QUERN_REQUIRE_BACKEND AND NOT Kokkos_ENABLE_${QUERN_REQUIRE_BACKEND})
  message(FATAL_ERROR "This build is for ${QUERN_REQUIRE_BACKEND}, but the Kokkos in ${Kokkos_DIR} was "
                      "built for ${Kokkos_DEVICES} (Kokkos_ROOT can name another)")
endif()
# Do kernels run on a device with memory of its own?
if(Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP)
  set(QUERN_DEVICE_EXECUTION ON)
else()
  set(QUERN_DEVICE_EXECUTION OFF)
endif()
option(QUERN_ENABLE_CUBLAS "Products of linear layers by cuBLASLt where the recipe allows it"
       ${Kokkos_ENABLE_CUDA})
if(QUERN_ENABLE_CUBLAS)
  if(NOT Kokkos_ENABLE_CUDA)
    message(FATAL_ERROR "QUERN_ENABLE_CUBLAS is ON, but this Kokkos was built without CUDA "
                        "(${Kokkos_DIR})")
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()
