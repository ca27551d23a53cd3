# SPDX-License-Identifier: Apache-2.0
# NCCL, or RCCL where Kokkos was built for HIP: imported target NCCL::NCCL, NCCL_FOUND,
# NCCL_VERSION. Looked for below NCCL_ROOT, the CUDA toolkit and CMAKE_PREFIX_PATH.
if(Kokkos_ENABLE_HIP)
  set(_nccl_header rccl/rccl.h)
  set(_nccl_library rccl)
else()
  set(_nccl_header nccl.h)
  set(_nccl_library nccl)
endif()
find_path(NCCL_INCLUDE_DIR ${_nccl_header}
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME ENV ROCM_PATH
  PATHS /usr/local/cuda /opt/rocm PATH_SUFFIXES include)
find_library(NCCL_LIBRARY ${_nccl_library}
  HINTS ${CUDAToolkit_LIBRARY_DIR} ENV CUDA_HOME ENV ROCM_PATH
  PATHS /usr/local/cuda /opt/rocm PATH_SUFFIXES lib64 lib)
if(NCCL_INCLUDE_DIR)
  file(STRINGS ${NCCL_INCLUDE_DIR}/${_nccl_header} _nccl_numbers
    REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" NCCL_VERSION "${_nccl_numbers}")
  string(REPLACE ";" "." NCCL_VERSION "${NCCL_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
  VERSION_VAR NCCL_VERSION)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
  add_library(NCCL::NCCL UNKNOWN IMPORTED)
  set_target_properties(NCCL::NCCL PROPERTIES IMPORTED_LOCATION "${NCCL_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}")
endif()
