# SPDX-License-Identifier: Apache-2.0
# QUERN_ARCH: the processor the kernels are compiled for. By default this one, unless somebody has chosen
# another way: flags of the site ($CXXFLAGS too), or a compiler for another machine.
set(arch native)
if(CMAKE_CXX_FLAGS MATCHES "(^| )(-m(arch|cpu)=[^ ]+)")
  set(arch "")
  set(why "CMAKE_CXX_FLAGS has ${CMAKE_MATCH_2}")
elseif(CMAKE_CROSSCOMPILING)
  set(arch "")
  set(why "this is compiled for another machine")
endif()
if(NOT arch AND NOT DEFINED QUERN_ARCH AND NOT QUERN_PORTABLE)
  message(STATUS "QUERN_ARCH is empty and not native by default, because ${why}")
endif()
set(QUERN_ARCH "${arch}" CACHE STRING
    "Processor the kernels are compiled for (-march=...); empty: the compiler's default")
