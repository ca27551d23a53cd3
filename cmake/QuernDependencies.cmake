# SPDX-License-Identifier: Apache-2.0
# The libraries, each from the oldest version on that Quern is meant to compile with. The Spack recipe
# names the same versions (tests/spack/recipe_test.py).
# Kokkos: that of Kokkos_ROOT or CMAKE_PREFIX_PATH, else what scripts/setup chose, else the system's.
set(chosen "")
if(EXISTS ${PROJECT_SOURCE_DIR}/build/.quern-setup.env)
  file(STRINGS ${PROJECT_SOURCE_DIR}/build/.quern-setup.env chosen REGEX "^KOKKOS_PREFIX=.")
  string(REPLACE "KOKKOS_PREFIX=" "" chosen "${chosen}")
endif()
set(asked_dir "${Kokkos_DIR}")
find_package(Kokkos 4.6 REQUIRED HINTS ${chosen} PATHS ${PROJECT_SOURCE_DIR}/build/deps/kokkos)
include(QuernKokkos)
include(QuernDevice)
find_package(HDF5 1.10 REQUIRED COMPONENTS C)
find_package(ZLIB REQUIRED)
# Without one of them the program is built, and says so when it meets such a picture.
find_package(PNG QUIET)
find_package(JPEG QUIET)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(xxHash 0.8 REQUIRED)
if(QUERN_ENABLE_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
endif()
