# What `cmake --install` puts where, and the package that `find_package(weir)` finds there. The tree can be moved as a whole:
# the library finds its plugins in the folder `weir` beside itself.
include(CMakePackageConfigHelpers)

set(weir_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weir")

install(TARGETS weir EXPORT weirTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weir" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILES_MATCHING PATTERN "*.hpp")

get_property(weir_plugins GLOBAL PROPERTY WEIR_PLUGINS)
foreach(plugin IN LISTS weir_plugins)
  set_target_properties(${plugin} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
  install(TARGETS ${plugin} LIBRARY DESTINATION "${WEIR_PLUGIN_INSTALL_DIR}" COMPONENT runtime)
endforeach()

if(TARGET weir_command)
  file(RELATIVE_PATH weir_library_from_bin "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(weir_command PROPERTIES INSTALL_RPATH "$ORIGIN/${weir_library_from_bin}")
  install(TARGETS weir_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
endif()

install(EXPORT weirTargets NAMESPACE weir:: DESTINATION "${weir_package_dir}" COMPONENT development)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/weirConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake"
  INSTALL_DESTINATION "${weir_package_dir}"
  PATH_VARS WEIR_PLUGIN_INSTALL_DIR)
# Before 1.0 the interface may change with each minor version.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake"
  DESTINATION "${weir_package_dir}" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)
