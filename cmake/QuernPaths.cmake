# SPDX-License-Identifier: Apache-2.0
# Where things are installed, and how programs find libraries there.
include(GNUInstallDirs)
include(QuernPortable)
# Installed programs find libquern beside them, wherever the prefix is moved to, and the rest where
# it was when they were linked.
file(RELATIVE_PATH QUERN_BIN_TO_LIB /${QUERN_PROGRAM_FOLDER} /${CMAKE_INSTALL_LIBDIR})
set(own_search_path OFF)
if(NOT DEFINED CMAKE_INSTALL_RPATH)
  set(own_search_path ON)
  set(CMAKE_INSTALL_RPATH $ORIGIN $ORIGIN/${QUERN_BIN_TO_LIB})
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

# quern_link_as_installed(TARGET): what is installed has its search path from the start. Otherwise CMake fills up that
# of the build folder with colons, to write the other one over it, and an empty entry of a search path is
# the working directory: any file there that has the name of a library would break the program, or be loaded.
# Not where the search path of an installation misses a library that lies in the build folder, or among the sources.
function(quern_link_as_installed target)
  get_target_property(type ${target} TYPE)
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${Kokkos_DIR}" NORMALIZE kokkos_is_inside)
  if(kokkos_is_inside AND kokkos_type STREQUAL "SHARED_LIBRARY")
    return()
  endif()
  if(BUILD_SHARED_LIBS AND type STREQUAL "EXECUTABLE")
    if(NOT own_search_path OR NOT CMAKE_INSTALL_LIBDIR STREQUAL "lib" OR QUERN_CPU_LEVEL_OF)
      return()
    endif()
  endif()
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endfunction()
