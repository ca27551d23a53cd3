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

set(rooms ${QUERN_ROOMS})
list(REMOVE_ITEM rooms app)
set(objects "")
foreach(room IN LISTS rooms)
  quern_room_objects(${room} room_objects)
  list(APPEND objects ${room_objects})
endforeach()
add_library(quern_library ${objects})
add_library(quern::quern ALIAS quern_library)
set_target_properties(quern_library PROPERTIES OUTPUT_NAME quern EXPORT_NAME quern
  LINKER_LANGUAGE CXX POSITION_INDEPENDENT_CODE ON ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  # The interface of a 0.x changes with every minor version.
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(quern_library INTERFACE cxx_std_20)

# Headers need Kokkos; the rest is for the linker, and only of a static library's users.
if(TARGET hdf5::hdf5)
  set(hdf5 hdf5::hdf5)
else()
  set(hdf5 ${HDF5_C_LIBRARIES})
endif()
target_link_libraries(quern_library PUBLIC Kokkos::kokkos
  PRIVATE ${hdf5} ZLIB::ZLIB fmt::fmt tomlplusplus::tomlplusplus)
if(QUERN_ENABLE_MPI)
  target_link_libraries(quern_library PRIVATE MPI::MPI_C)
endif()
if(QUERN_ENABLE_NCCL)
  target_link_libraries(quern_library PRIVATE NCCL::NCCL)
endif()
if(QUERN_ENABLE_CUBLAS)
  target_link_libraries(quern_library PRIVATE CUDA::cublasLt)
endif()
if(BUILD_SHARED_LIBS AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT QUERN_ENABLE_SANITIZERS)
  target_link_options(quern_library PRIVATE LINKER:-z,defs)
endif()

include(QuernHeaders)
quern_public_headers(${PROJECT_SOURCE_DIR}/src headers CONFIGURE_DEPENDS)
list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/src/)
set(stamp ${PROJECT_BINARY_DIR}/include/quern.stamp)
add_custom_command(OUTPUT ${stamp}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/src
          -DTARGET=${PROJECT_BINARY_DIR}/include/quern -DSTAMP=${stamp}
          -P ${PROJECT_SOURCE_DIR}/cmake/QuernHeaders.cmake
  DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/cmake/QuernHeaders.cmake
  COMMENT "Writing the public headers")
add_custom_target(quern_public_headers ALL DEPENDS ${stamp})
add_dependencies(quern_library quern_public_headers)
target_include_directories(quern_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
