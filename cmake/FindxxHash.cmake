# SPDX-License-Identifier: Apache-2.0
# xxHash as a header: imported target xxHash::xxhash, xxHash_FOUND, xxHash_VERSION. Nothing is linked.
find_path(xxHash_INCLUDE_DIR xxhash.h)
if(xxHash_INCLUDE_DIR)
  file(STRINGS ${xxHash_INCLUDE_DIR}/xxhash.h _xxhash_numbers
    REGEX "^ *# *define XXH_VERSION_(MAJOR|MINOR|RELEASE) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" xxHash_VERSION "${_xxhash_numbers}")
  string(REPLACE ";" "." xxHash_VERSION "${xxHash_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(xxHash REQUIRED_VARS xxHash_INCLUDE_DIR VERSION_VAR xxHash_VERSION)
mark_as_advanced(xxHash_INCLUDE_DIR)

if(xxHash_FOUND AND NOT TARGET xxHash::xxhash)
  add_library(xxHash::xxhash INTERFACE IMPORTED)
  set_target_properties(xxHash::xxhash PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${xxHash_INCLUDE_DIR}")
endif()
