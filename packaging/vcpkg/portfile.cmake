# An overlay port, made from this checkout: vcpkg install weir --overlay-ports=packaging/vcpkg
# vcpkg takes an earlier build from its cache, even if the checkout has changed; --no-binarycaching builds again. The triplet
# x64-linux has a static library with the backends built in, x64-linux-dynamic has plugins.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    cuda WEIR_BACKEND_CUDA
    hip WEIR_BACKEND_HIP
    host WEIR_BACKEND_HOST
    tools WEIR_BUILD_TOOLS)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DWEIR_BUILD_BENCH=OFF
    -DWEIR_GLOO=OFF
    -DWEIR_BUILD_EXAMPLES=OFF
    -DWEIR_BUILD_TESTS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME weir CONFIG_PATH lib/cmake/weir)
vcpkg_fixup_pkgconfig()
set(programs weir-kernels)
if("tools" IN_LIST FEATURES)
  list(APPEND programs weir)
endif()
vcpkg_copy_tools(TOOL_NAMES ${programs} AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
