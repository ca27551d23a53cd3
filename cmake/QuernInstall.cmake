# cmake --install: the program with what it works with below share/quern, and for programs of
# others libquern, its headers and find_package(quern).
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/quern)

install(TARGETS quern RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY analysis jobs recipes examples DESTINATION ${CMAKE_INSTALL_DATADIR}/quern
  USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/quern)

install(TARGETS quern_library EXPORT quernTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT quernTargets NAMESPACE quern:: DESTINATION ${config_folder})
string(REPLACE ";" " " QUERN_PUBLIC_ROOMS "${rooms}")
set(QUERN_IS_SHARED OFF)
if(BUILD_SHARED_LIBS)
  set(QUERN_IS_SHARED ON)
endif()
configure_package_config_file(cmake/quernConfig.cmake.in ${PROJECT_BINARY_DIR}/quernConfig.cmake
  INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/quernConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quernConfig.cmake ${PROJECT_BINARY_DIR}/quernConfigVersion.cmake
  DESTINATION ${config_folder})
if(QUERN_ENABLE_NCCL)
  install(FILES cmake/FindNCCL.cmake DESTINATION ${config_folder})
endif()
