# Defines the Debian packages that `cpack -G DEB` makes in a build with -DCMAKE_INSTALL_PREFIX=/usr: the library, the
# development files, one package for each plugin, and the tools. Each part is also a component of `cmake --install`.
#
# The names of the library's and the plugins' packages contain the version of the soname, and so does the plugins' folder. So
# two versions can be installed at the same time.
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR "The Weir authors")
set(CPACK_PACKAGE_CONTACT "The Weir authors <weir@localhost>" CACHE STRING "Who maintains the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${WEIR_LIBRARY_OUTPUT_DIRECTORY}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

# weir_package(COMPONENT NAME DESCRIPTION [DEPENDS …] [RECOMMENDS …] [SUGGESTS …]): defines the package of a component.
set(CPACK_COMPONENTS_ALL "")
macro(weir_package component name description)
  cmake_parse_arguments(arg "" "DEPENDS;RECOMMENDS;SUGGESTS" "" ${ARGN})
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_COMPONENT_${component}_GROUP ${component})
  string(TOUPPER ${component} component_upper)
  set(CPACK_COMPONENT_${component_upper}_DESCRIPTION "${description}")
  set(CPACK_DEBIAN_${component_upper}_PACKAGE_NAME ${name})
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}" RENAME copyright
    COMPONENT ${component})
  foreach(relation DEPENDS RECOMMENDS SUGGESTS)
    if(arg_${relation})
      set(CPACK_DEBIAN_${component_upper}_PACKAGE_${relation} "${arg_${relation}}")
    endif()
  endforeach()
endmacro()

set(weir_library_package libweir${WEIR_SOVERSION})
set(weir_same "${weir_library_package} (= ${PROJECT_VERSION})")
weir_package(library ${weir_library_package}
  "The library. A backend comes with each ${weir_library_package}-… package." RECOMMENDS ${weir_library_package}-host)
weir_package(c libweir-c${WEIR_C_SOVERSION}
  "The library's C interface, for programs in C and for other languages." DEPENDS "${weir_same}"
  RECOMMENDS ${weir_library_package}-host)
weir_package(development libweir-dev
  "Headers, the CMake package and the pkg-config files."
  DEPENDS "${weir_same}, libweir-c${WEIR_C_SOVERSION} (= ${PROJECT_VERSION})" RECOMMENDS ${weir_library_package}-host)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
if(TARGET weir_host)
  # Recommend a Clang that the work-group pass supports. With only g++, kernels with barriers run on fibers, which is slower.
  get_property(weir_compilers GLOBAL PROPERTY WEIR_WORKGROUP_MAJORS)
  list(SORT weir_compilers COMPARE NATURAL ORDER DESCENDING)
  list(TRANSFORM weir_compilers PREPEND clang-)
  list(JOIN weir_compilers " | " weir_compilers)
  if(NOT weir_compilers)
    set(weir_compilers g++)
  endif()
  weir_package(host ${weir_library_package}-host
    "The plugin that runs streams on the CPU, and Clang's plugin for its kernels. They are compiled with the system's C++ compiler."
    DEPENDS "${weir_same}" RECOMMENDS "${weir_compilers}")
endif()
if(TARGET weir_cuda)
  weir_package(cuda ${weir_library_package}-cuda
    "The plugin for NVIDIA GPUs. It opens the driver (libcuda.so.1, of CUDA 12.0 or later) and NVRTC where they are."
    DEPENDS "${weir_same}" SUGGESTS "libcuda1")
endif()
if(TARGET weir_hip)
  weir_package(hip ${weir_library_package}-hip
    "The plugin for AMD GPUs. It opens the runtime (libamdhip64, of ROCm 6.2 or later) and HIPRTC where they are."
    DEPENDS "${weir_same}" SUGGESTS "libamdhip64-7 | libamdhip64-6 | hip-runtime-amd")
endif()
weir_package(collectives ${weir_library_package}-collectives
  "The plugins for collectives. They open NCCL, RCCL or MPI where they are."
  DEPENDS "${weir_same}" SUGGESTS "libopenmpi3")
if(TARGET weir_comm_gloo)
  # Gloo has no stable ABI: the plugin works only with the build of libgloo that it was built with.
  set(weir_gloo libgloo0)
  get_filename_component(file "${WEIR_GLOO_LIBRARY}" REALPATH)
  execute_process(COMMAND dpkg-query --search "${file}" OUTPUT_VARIABLE owner ERROR_QUIET)
  if(owner MATCHES "^([^:]+):")
    set(weir_gloo ${CMAKE_MATCH_1})
    execute_process(COMMAND dpkg-query --show --showformat "\${Version}" ${weir_gloo} OUTPUT_VARIABLE version ERROR_QUIET)
    string(APPEND weir_gloo " (= ${version})")
  endif()
  weir_package(gloo ${weir_library_package}-gloo
    "The plugin for collectives over Gloo, for processes on CPUs without MPI. It needs this distribution's libgloo."
    DEPENDS "${weir_same}, ${weir_gloo}")
endif()
if(TARGET weir_command OR TARGET weir-conformance)
  weir_package(tools weir-tools
    "The command weir with its tools, and the conformance suite for authors of backends." DEPENDS "${weir_same}"
    RECOMMENDS ${weir_library_package}-host SUGGESTS libweir-dev)  # `weir c++` needs the development files
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
endif()
include(CPack)
