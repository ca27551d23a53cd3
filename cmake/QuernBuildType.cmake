# SPDX-License-Identifier: Apache-2.0
# CMAKE_BUILD_TYPE: Release by default, one of CMake's own, None, or one whose flags the user gives.
get_property(several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(several)
  message(FATAL_ERROR "The generator ${CMAKE_GENERATOR} has several configurations in one build folder, but programs "
                      "of Quern tell of the one they were compiled with (expected Ninja or Unix Makefiles: -G)")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
if(NOT build_type MATCHES "^(DEBUG|RELEASE|RELWITHDEBINFO|MINSIZEREL|NONE)$" AND NOT CMAKE_CXX_FLAGS_${build_type})
  message(FATAL_ERROR "CMAKE_BUILD_TYPE is ${CMAKE_BUILD_TYPE}, for which there are no flags (expected Release, Debug, "
                      "RelWithDebInfo, MinSizeRel or None, or flags in CMAKE_CXX_FLAGS_${build_type})")
endif()
