# cmake --install: the program, and what it works with below share/quern. The libraries are not
# installed yet.
include(GNUInstallDirs)
install(TARGETS quern RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY analysis jobs recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/quern
  USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/quern)
