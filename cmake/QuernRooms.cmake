# SPDX-License-Identifier: Apache-2.0
# Every room of src/rooms.txt that has sources; QUERN_ROOMS names them.
set(QUERN_ROOMS "")
foreach(line IN LISTS QUERN_ROOM_LINES)
  string(REGEX REPLACE ":.*$" "" room "${line}")
  list(APPEND QUERN_ROOMS ${room})
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${room}/CMakeLists.txt)
    add_subdirectory(src/${room})
  endif()
endforeach()
