# SPDX-License-Identifier: Apache-2.0
# Which sources hold kernels, where the compiler of kernels is not the compiler of everything else.
#
# With a CUDA-enabled Kokkos, sources that reach a Kokkos header go through nvcc, and no others:
# nvcc does not compile fmt and nlohmann-json, which src/rooms.txt therefore keeps out of such files.
# Kokkos is either built with nvcc_wrapper, which may be the compiler here too, or else Kokkos redirects
# to it what is compiled with its flags (kokkos_launch_compiler); or Kokkos is built with CMake's own
# CUDA language.
#
# With a HIP-enabled Kokkos the others are plain C++ as well: hipcc would compile them for a device a
# second time, for one of its own choice, and refuses what only processors have.

# Sets `result` to TRUE if the file (a path below src/) includes a Kokkos header, also through other
# headers of src/.
function(quern_reaches_kokkos file result)
  get_property(known GLOBAL PROPERTY "QUERN_REACHES_KOKKOS_${file}")
  if("${known}" STREQUAL "")
    set(known FALSE)
    # Guards against circles, and is right for them: the walk that began it goes on.
    set_property(GLOBAL PROPERTY "QUERN_REACHES_KOKKOS_${file}" FALSE)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 ${PROJECT_SOURCE_DIR}/src/${file})
    file(STRINGS ${PROJECT_SOURCE_DIR}/src/${file} lines REGEX "^ *# *include")
    foreach(line IN LISTS lines)
      if(line MATCHES "<Kokkos_")
        set(known TRUE)
        break()
      elseif(line MATCHES "\"(.*)\"" AND EXISTS ${PROJECT_SOURCE_DIR}/src/${CMAKE_MATCH_1})
        quern_reaches_kokkos(${CMAKE_MATCH_1} known)
        if(known)
          break()
        endif()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY "QUERN_REACHES_KOKKOS_${file}" ${known})
  endif()
  set(${result} ${known} PARENT_SCOPE)
endfunction()

# For targets without kernels, where nvcc_wrapper or hipcc is the compiler.
function(quern_compile_for_host target)
  if(Kokkos_ENABLE_CUDA AND CMAKE_CXX_COMPILER MATCHES "nvcc_wrapper")
    target_compile_options(${target} PRIVATE --host-only)
  elseif(Kokkos_ENABLE_HIP AND CMAKE_CXX_COMPILER MATCHES "hipcc")
    target_compile_options(${target} PRIVATE "SHELL:-x c++")
  endif()
endfunction()

# Sets `kernels` and `others` to those of the sources (names in the current folder) that do and do not
# reach Kokkos. Without CUDA and HIP all are `kernels`.
function(quern_split_sources kernels others)
  set(reaching ${ARGN})
  set(rest "")
  if(Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP)
    set(reaching "")
    foreach(source IN LISTS ARGN)
      file(RELATIVE_PATH file ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      quern_reaches_kokkos(${file} reaches)
      if(reaches)
        list(APPEND reaching ${source})
      else()
        list(APPEND rest ${source})
      endif()
    endforeach()
    if(Kokkos_COMPILE_LANGUAGE STREQUAL "CUDA")
      set_source_files_properties(${reaching} PROPERTIES LANGUAGE CUDA)
    endif()
  endif()
  set(${kernels} ${reaching} PARENT_SCOPE)
  set(${others} ${rest} PARENT_SCOPE)
endfunction()
