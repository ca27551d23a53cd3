# SPDX-License-Identifier: Apache-2.0
# Writes the commit of the tree SOURCE to OUTPUT: COMMIT if it is given, else what git says, else what
# `git archive` wrote into archive_commit.txt, else "unknown". OUTPUT changes only with the commit, so
# that an unchanged tree rebuilds nothing.
set(commit "${COMMIT}")
if(NOT commit)
  # An empty prefix: SOURCE is the top of a repository, and not a folder in that of somebody else.
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C git -C ${SOURCE} rev-parse --show-prefix
    RESULT_VARIABLE status OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE said)
  if(status EQUAL 0 AND prefix STREQUAL "")
    execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT commit)
  file(READ ${SOURCE}/cmake/archive_commit.txt commit)
  string(SUBSTRING "${commit}" 0 12 commit)
endif()
if(NOT commit MATCHES "^[0-9a-zA-Z]")
  set(commit unknown)
  if(said MATCHES "dubious ownership|unsafe repository")
    message(WARNING "The program will not know its commit: git does not read ${SOURCE}, which belongs to somebody "
                    "else (expected -DQUERN_COMMIT=..., or git config --global --add safe.directory ${SOURCE})")
  endif()
endif()
set(text "#define QUERN_GIT_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
