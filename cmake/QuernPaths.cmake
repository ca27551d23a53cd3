# SPDX-License-Identifier: Apache-2.0
# Where things are installed, and how programs find libraries there.
include(GNUInstallDirs)
include(QuernPortable)
# Installed programs find libquern beside them, wherever the prefix is moved to, and the rest where
# it was when they were linked.
file(RELATIVE_PATH QUERN_BIN_TO_LIB /${QUERN_PROGRAM_FOLDER} /${CMAKE_INSTALL_LIBDIR})
if(NOT DEFINED CMAKE_INSTALL_RPATH)
  set(CMAKE_INSTALL_RPATH $ORIGIN $ORIGIN/${QUERN_BIN_TO_LIB})
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
