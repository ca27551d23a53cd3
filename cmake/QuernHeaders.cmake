# SPDX-License-Identifier: Apache-2.0
# The public headers: src/public_headers.txt names those that programs of others include, as
# <quern/ROOM/NAME.hpp>. What these include comes along as <quern/detail/ROOM/NAME.hpp>, and nothing
# else does: no header of the program, of kernels with compiler flags of their own, of transports, nor
# one that needs a vendor's header other than Kokkos. So the code that users compile, with whichever
# flags, never takes the place of code whose bits count.
#
# src/ itself writes "ROOM/NAME.hpp". The copies below <build>/include/quern write "quern/...", so that
# users need one folder on their include path and nothing in it has a name that another library could
# have as well. Examples in this tree are compiled against the copies: they see what is installed.
# With -P this file writes the copies.

cmake_minimum_required(VERSION 3.22)  # for -P: policies

# Sets `named` and `detail` to headers of src/, relative to it.
function(quern_public_headers source named detail)
  file(STRINGS ${source}/public_headers.txt names REGEX "^[a-z]")
  set(found ${names})
  set(waiting ${names})
  while(waiting)
    list(POP_FRONT waiting header)
    file(STRINGS ${source}/${header} lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*$" "\\1" included "${line}")
      if(NOT included IN_LIST found)
        list(APPEND found ${included})
        list(APPEND waiting ${included})
      endif()
    endforeach()
  endwhile()
  list(REMOVE_ITEM found ${names})
  set(${named} ${names} PARENT_SCOPE)
  set(${detail} ${found} PARENT_SCOPE)
endfunction()

function(quern_write_public_headers source target)
  quern_public_headers(${source} named detail)
  set(copies "")
  foreach(header IN LISTS named detail)
    set(copy ${header})
    if(header IN_LIST detail)
      set(copy detail/${header})
    endif()
    list(APPEND copies ${copy})
    file(READ ${source}/${header} text)
    string(REGEX REPLACE "(#include \")" "\\1quern/detail/" text "${text}")
    foreach(name IN LISTS named)
      string(REPLACE "\"quern/detail/${name}\"" "\"quern/${name}\"" text "${text}")
    endforeach()
    set(old "")
    if(EXISTS ${target}/${copy})
      file(READ ${target}/${copy} old)
    endif()
    if(NOT old STREQUAL text)
      file(WRITE ${target}/${copy} "${text}")
    endif()
  endforeach()
  file(GLOB_RECURSE present RELATIVE ${target} ${target}/*.hpp)
  list(REMOVE_ITEM present ${copies})
  foreach(header IN LISTS present)
    file(REMOVE ${target}/${header})
  endforeach()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  quern_write_public_headers(${SOURCE} ${TARGET})
  file(TOUCH ${STAMP})
endif()
