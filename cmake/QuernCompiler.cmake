# SPDX-License-Identifier: Apache-2.0
# Compilers that cannot compile Quern, named before the first file fails.
set(oldest "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(oldest 12)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(oldest 14)
endif()
if(oldest AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS oldest)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, too old for "
                      "Quern (expected GCC 12, Clang 14 or newer; CMAKE_CXX_COMPILER can name another)")
endif()
