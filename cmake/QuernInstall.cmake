# SPDX-License-Identifier: Apache-2.0
# cmake --install: the program with what it works with below share/quern, and for programs of
# others libquern, its headers and find_package(quern).
include(CMakePackageConfigHelpers)

quern_link_as_installed(quern)
install(TARGETS quern RUNTIME DESTINATION ${QUERN_PROGRAM_FOLDER} COMPONENT program)
if(QUERN_PORTABLE AND TARGET quern_launcher)
  # Not its name in the build folder: for Ninja that is the target quern.
  install(PROGRAMS $<TARGET_FILE:quern_launcher> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME quern
    COMPONENT program)
endif()
# For everybody, also from a clone that only its owner may read. Programs are those without an ending,
# and some of Python.
set(for_all OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(run_by_all ${for_all} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
install(DIRECTORY analysis jobs recipes examples DESTINATION ${CMAKE_INSTALL_DATADIR}/quern
  FILE_PERMISSIONS ${for_all} DIRECTORY_PERMISSIONS ${run_by_all}
  REGEX "/(__pycache__|build|build-[^/]*|runs)$" EXCLUDE
  REGEX "/([^/.]+|(quern_weights|scaling|seeds)\\.py)$" PERMISSIONS ${run_by_all})
# jobs/submit and the others as quern-submit, ... on the PATH.
file(RELATIVE_PATH bin_to_data /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_DATADIR})
foreach(command IN ITEMS submit status stop again lint)
  configure_file(cmake/quern-command.in ${PROJECT_BINARY_DIR}/commands/quern-${command} @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/commands/quern-${command} DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DATADIR}/quern)
install(FILES docs/quern.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES scripts/quern-completion.bash RENAME quern
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# quern_install_library(TARGET [install options]): a libquern with headers and CMake package.
function(quern_install_library target)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/quern)
  set(made ${PROJECT_BINARY_DIR}/package/${target})
  quern_link_as_installed(${target})
  install(TARGETS ${target} EXPORT ${target}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${ARGN}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${ARGN})
  install(DIRECTORY ${PROJECT_BINARY_DIR}/include/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    ${ARGN})
  install(EXPORT ${target} NAMESPACE quern:: FILE quernTargets.cmake DESTINATION ${folder} ${ARGN})
  get_target_property(type ${target} TYPE)
  set(QUERN_IS_SHARED OFF)
  if(type STREQUAL "SHARED_LIBRARY")
    set(QUERN_IS_SHARED ON)
  endif()
  list(JOIN QUERN_PUBLIC_ROOMS " " QUERN_PUBLIC_ROOMS)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/quernConfig.cmake.in
    ${made}/quernConfig.cmake INSTALL_DESTINATION ${folder}
    NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${made}/quernConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${made}/quernConfig.cmake ${made}/quernConfigVersion.cmake DESTINATION ${folder}
    ${ARGN})
  if(QUERN_ENABLE_NCCL)
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake DESTINATION ${folder} ${ARGN})
  endif()
endfunction()

quern_install_library(quern_library)
