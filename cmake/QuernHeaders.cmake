# The public headers: what programs of others include as <quern/ROOM/NAME.hpp>.
#
# src/ itself writes "ROOM/NAME.hpp". The copies below <build>/include/quern write
# "quern/ROOM/NAME.hpp", so that users need one folder on their include path and nothing in it has
# a name that another library could have as well. Examples in this tree are compiled against the
# copies: they see what is installed.
#
# Not public: the program, kernels for one kind of processor or with compiler flags of their own,
# transports, and what needs a vendor's header other than Kokkos. So the code that users compile, with
# whichever flags, never takes the place of code whose bits count. With -P this file writes the copies.
set(QUERN_PRIVATE_HEADERS "^(app|cpu)/|/(host|device|cublas|mpi|nccl|serial)/"
  "^config/(document|key|layer_keys|overrides|problems|range|recipe_keys|rules|table_keys|table_reader|toml_text|value_readers)\\.hpp"
  "^io/h5_(raw|lookup|heap)\\.hpp" "^tensor/(exp|log)\\.hpp")

function(quern_public_headers source result)
  file(GLOB_RECURSE headers RELATIVE ${source} ${ARGN} ${source}/*.hpp)
  foreach(pattern IN LISTS QUERN_PRIVATE_HEADERS)
    list(FILTER headers EXCLUDE REGEX "${pattern}")
  endforeach()
  set(${result} ${headers} PARENT_SCOPE)
endfunction()

function(quern_write_public_headers source target)
  quern_public_headers(${source} headers)
  foreach(header IN LISTS headers)
    file(READ ${source}/${header} text)
    string(REGEX REPLACE "(#include \")" "\\1quern/" text "${text}")
    set(old "")
    if(EXISTS ${target}/${header})
      file(READ ${target}/${header} old)
    endif()
    if(NOT old STREQUAL text)
      file(WRITE ${target}/${header} "${text}")
    endif()
  endforeach()
  file(GLOB_RECURSE present RELATIVE ${target} ${target}/*.hpp)
  list(REMOVE_ITEM present ${headers})
  foreach(header IN LISTS present)
    file(REMOVE ${target}/${header})
  endforeach()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  quern_write_public_headers(${SOURCE} ${TARGET})
  file(TOUCH ${STAMP})
endif()
