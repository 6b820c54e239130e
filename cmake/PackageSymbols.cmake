# Symbols in a package of their own, dray-dbgsym: CPack splits them off when it makes a .deb, for which they have to be in the binary
# until then. So of all packages only those of Debian are not stripped beforehand; in the end none has symbols but that one.
# Before include(CPack). Needs -g and --build-id, by which debuggers find the file.
set(CPACK_DEBIAN_DRAY_DEBUGINFO_PACKAGE ON)
file(WRITE "${CMAKE_BINARY_DIR}/CPackSymbols.cmake" [=[
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_STRIP_FILES OFF)
endif()
]=])
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_BINARY_DIR}/CPackSymbols.cmake")
