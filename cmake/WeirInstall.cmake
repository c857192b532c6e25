# Installs Weir, and the package for `find_package(weir)`. The installed tree can be moved as a whole, because the library
# looks for its plugins in a folder next to itself: `weir-0.1` for version 0.1.
#
# Without WEIR_INSTALL, a project that includes Weir installs no part of it. The target is still in an export set, so that
# the project can export a library that links Weir. Users of that library then need Weir as a package.
include(CMakePackageConfigHelpers)

set(weir_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weir")
set(weir_excluded "")
if(NOT WEIR_INSTALL)
  set(weir_excluded EXCLUDE_FROM_ALL)
endif()

install(TARGETS weir EXPORT weirTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development ${weir_excluded}
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development ${weir_excluded}
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS weir_c EXPORT weirTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development ${weir_excluded}
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT c NAMELINK_COMPONENT development ${weir_excluded}
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
set_target_properties(weir_c PROPERTIES INSTALL_RPATH "$ORIGIN")  # the folder of the library that it wraps
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION "${weir_package_dir}" COMPONENT development ${weir_excluded})
if(NOT WEIR_INSTALL)
  return()
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weir" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")

get_property(weir_plugin_targets GLOBAL PROPERTY WEIR_PLUGINS)
get_property(weir_built_in GLOBAL PROPERTY WEIR_BUILT_IN_TARGETS)
list(TRANSFORM weir_built_in REPLACE "^weir_" "")
foreach(plugin IN LISTS weir_plugin_targets)
  set_target_properties(${plugin} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
  string(REGEX REPLACE "^weir_" "" weir_component ${plugin})
  string(REGEX REPLACE "^comm_gloo" "gloo" weir_component ${weir_component})
  string(REGEX REPLACE "^comm_.*" "collectives" weir_component ${weir_component})  # these three are one package
  string(REGEX REPLACE "^tool_.*" "tools" weir_component ${weir_component})
  install(TARGETS ${plugin} LIBRARY DESTINATION "${WEIR_PLUGIN_INSTALL_DIR}" COMPONENT ${weir_component})
endforeach()

if(TARGET weir_command)
  file(RELATIVE_PATH weir_library_from_bin "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(weir_command PROPERTIES INSTALL_RPATH "$ORIGIN/${weir_library_from_bin}")
  install(TARGETS weir_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
endif()

file(RELATIVE_PATH weir_library_from_bin "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
set_target_properties(weir_kernel_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${weir_library_from_bin}")
install(TARGETS weir_kernel_tool EXPORT weirTargets RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT development)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/weirConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake"
  INSTALL_DESTINATION "${weir_package_dir}"
  PATH_VARS WEIR_PLUGIN_INSTALL_DIR CMAKE_INSTALL_BINDIR)
# The compatibility follows the library's soname: before 1.0 each minor version may break programs, later only a major one.
set(weir_compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(weir_compatibility SameMinorVersion)
endif()
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake" COMPATIBILITY ${weir_compatibility})
install(FILES "${CMAKE_CURRENT_LIST_DIR}/WeirKernels.cmake" "${CMAKE_CURRENT_LIST_DIR}/WeirCudaPrograms.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake"
  DESTINATION "${weir_package_dir}" COMPONENT development)
file(RELATIVE_PATH weir_headers_from_pc "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
# Further libraries that a program must link together with the static library.
set(weir_pc_libraries "")
set(weir_c_pc_libraries "")
if(WEIR_LIBRARY_TYPE STREQUAL "STATIC")
  set(weir_pc_libraries " -pthread -ldl")
  if("host" IN_LIST weir_built_in)
    string(PREPEND weir_pc_libraries " -ltbb")
  endif()
  set(weir_c_pc_libraries " -lweir${weir_pc_libraries} -lstdc++ -lm")  # a C linker does not add C++'s libraries
endif()
# The loader searches only the folders in /usr, so a program that links the library from another folder needs an rpath. The
# prefix is known only at install time. Each prefix that ends in /usr counts as /usr, because a package's prefix, or one in
# another system's root, also ends in it.
set(weir_pc_rpath "")
set(weir_pc_files weir.pc weir_c.pc)
foreach(file IN LISTS weir_pc_files)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${file}.in" "${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/usr/${file}" @ONLY)
endforeach()
if(WEIR_LIBRARY_TYPE STREQUAL "SHARED")
  set(weir_pc_rpath " -Wl,-rpath,\${libdir}")
endif()
foreach(file IN LISTS weir_pc_files)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${file}.in" "${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/${file}" @ONLY)
endforeach()
install(CODE "
  set(weir_pc_source \"${CMAKE_CURRENT_BINARY_DIR}/pkgconfig\")
  if(CMAKE_INSTALL_PREFIX MATCHES \"/usr/?\$\")
    string(APPEND weir_pc_source /usr)
  endif()
  cmake_path(APPEND weir_pc_folder \"\${CMAKE_INSTALL_PREFIX}\" \"${CMAKE_INSTALL_LIBDIR}\" pkgconfig)
  file(INSTALL \"\${weir_pc_source}/weir.pc\" \"\${weir_pc_source}/weir_c.pc\" DESTINATION \"\${weir_pc_folder}\")"
  COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)
# Installs the documentation, including the programs of the cookbook and the museum, the backend template and the PyTorch
# program.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT development FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "recipes/*" PATTERN "c/saxpy.*" PATTERN "backend_template/*" PATTERN "museum/*" PATTERN "pytorch/*"
  PATTERN "tools" EXCLUDE PATTERN "tested" EXCLUDE PATTERN "entropy" EXCLUDE PATTERN "interop_cuda" EXCLUDE PATTERN "nbody" EXCLUDE
  PATTERN "saxpy" EXCLUDE)
