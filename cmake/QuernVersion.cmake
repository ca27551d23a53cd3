# SPDX-License-Identifier: Apache-2.0
# The git commit of the source tree goes into the binary, refreshed on every build.
set(QUERN_COMMIT "" CACHE STRING "Commit of sources without a .git (empty: git is asked)")
set(QUERN_VERSION_FILE ${PROJECT_BINARY_DIR}/generated/quern_git_commit.hpp)
add_custom_target(quern_git_commit ALL
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${QUERN_VERSION_FILE}
          -DCOMMIT=${QUERN_COMMIT} -P ${PROJECT_SOURCE_DIR}/cmake/WriteGitCommit.cmake
  BYPRODUCTS ${QUERN_VERSION_FILE}
  COMMENT "")
