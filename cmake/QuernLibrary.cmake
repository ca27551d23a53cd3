# SPDX-License-Identifier: Apache-2.0
# libquern: all rooms but the program's, in one library, static or shared (BUILD_SHARED_LIBS).
#
# One, because a job on a thousand nodes opens every shared library a thousand times, and because
# the rooms are borders for those who write Quern rather than for those who use it. Tests in this
# tree link the rooms one by one; examples, and with BUILD_SHARED_LIBS the program, link this.
get_target_property(kokkos_type Kokkos::kokkoscore TYPE)
if(BUILD_SHARED_LIBS AND kokkos_type STREQUAL "STATIC_LIBRARY")
  message(FATAL_ERROR "BUILD_SHARED_LIBS: libquern and the programs that use it have to share one "
                      "Kokkos, but that in ${Kokkos_DIR} is static (expected one built with "
                      "BUILD_SHARED_LIBS=ON)")
endif()

set(QUERN_PUBLIC_ROOMS ${QUERN_ROOMS})
list(REMOVE_ITEM QUERN_PUBLIC_ROOMS app bench plan cpu readers)

# Public headers need Kokkos; the other libraries are for the linker, and only of those who link a
# static libquern.
set(QUERN_LINKED_LIBRARIES fmt::fmt tomlplusplus::tomlplusplus)
if(TARGET hdf5::hdf5)
  list(APPEND QUERN_LINKED_LIBRARIES hdf5::hdf5)
else()
  list(APPEND QUERN_LINKED_LIBRARIES ${HDF5_C_LIBRARIES})
endif()
if(QUERN_ENABLE_MPI)
  list(APPEND QUERN_LINKED_LIBRARIES MPI::MPI_C)
endif()
if(QUERN_ENABLE_NCCL)
  list(APPEND QUERN_LINKED_LIBRARIES NCCL::NCCL)
endif()
if(QUERN_ENABLE_CUBLAS)
  list(APPEND QUERN_LINKED_LIBRARIES CUDA::cublasLt)
endif()

include(QuernHeaders)
quern_public_headers(${PROJECT_SOURCE_DIR}/src named detail)
set(headers ${named} ${detail})
list(TRANSFORM named PREPEND ${PROJECT_BINARY_DIR}/include/quern/)
list(TRANSFORM detail PREPEND ${PROJECT_BINARY_DIR}/include/quern/detail/)
set(copies ${named} ${detail})
list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/src/)
list(APPEND headers ${PROJECT_SOURCE_DIR}/src/public_headers.txt)
# What a header includes may change.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
set(stamp ${PROJECT_BINARY_DIR}/include/quern.stamp)
# Users of the copies wait for them, and are compiled anew where one has changed.
add_custom_command(OUTPUT ${stamp}
  BYPRODUCTS ${copies}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/src
          -DTARGET=${PROJECT_BINARY_DIR}/include/quern -DSTAMP=${stamp}
          -P ${PROJECT_SOURCE_DIR}/cmake/QuernHeaders.cmake
  DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/cmake/QuernHeaders.cmake
  COMMENT "Writing the public headers")
add_custom_target(quern_public_headers ALL DEPENDS ${stamp})

# quern_add_library(TARGET [STATIC|SHARED] FOLDER): a libquern in FOLDER.
function(quern_add_library target)
  cmake_parse_arguments(ARG "STATIC;SHARED" "FOLDER" "" ${ARGN})
  set(kind "")
  if(ARG_STATIC)
    set(kind STATIC)
  elseif(ARG_SHARED)
    set(kind SHARED)
  endif()
  set(objects "")
  foreach(room IN LISTS QUERN_PUBLIC_ROOMS)
    quern_room_objects(${room} room_objects)
    list(APPEND objects ${room_objects})
  endforeach()
  add_library(${target} ${kind} ${objects})
  # The interface of a 0.x changes with every minor version, and so does the name of the library.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME quern EXPORT_NAME quern
    LINKER_LANGUAGE CXX POSITION_INDEPENDENT_CODE ON
    ARCHIVE_OUTPUT_DIRECTORY ${ARG_FOLDER} LIBRARY_OUTPUT_DIRECTORY ${ARG_FOLDER}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} PUBLIC Kokkos::kokkos PRIVATE ${QUERN_LINKED_LIBRARIES})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  add_dependencies(${target} quern_public_headers)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND CMAKE_SYSTEM_NAME STREQUAL "Linux"
     AND NOT QUERN_ENABLE_SANITIZERS)
    target_link_options(${target} PRIVATE LINKER:-z,defs)  # nothing may be missing
  endif()
endfunction()

quern_add_library(quern_library FOLDER ${PROJECT_BINARY_DIR}/lib)
add_library(quern::quern ALIAS quern_library)
