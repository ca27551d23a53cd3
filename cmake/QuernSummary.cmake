# SPDX-License-Identifier: Apache-2.0
# What decided about this build, in a few lines.
function(quern_yes_or_no condition result)
  set(${result} no PARENT_SCOPE)
  if(${condition})
    set(${result} yes PARENT_SCOPE)
  endif()
endfunction()

quern_yes_or_no(PNG_FOUND png)
quern_yes_or_no(JPEG_FOUND jpeg)
set(mpi no)
if(QUERN_ENABLE_MPI)
  list(SUBLIST MPI_C_LIBRARIES 0 1 mpi)  # none with compilers of Cray
  set(mpi "${MPI_C_COMPILER} ${mpi}")
endif()
list(JOIN Kokkos_DEVICES "," devices)
list(SUBLIST HDF5_C_LIBRARIES 0 1 hdf5)
message(STATUS "Kokkos: ${Kokkos_VERSION} in ${Kokkos_DIR} for ${devices}")
message(STATUS "MPI: ${mpi}; HDF5: ${HDF5_VERSION} ${hdf5}; PNG: ${png}; JPEG: ${jpeg}")
message(STATUS "Processor: ${QUERN_TARGET}; flags: ${QUERN_FLAGS}")
