set(WEIR_TEST_HIP_HEADERS "" CACHE STRING "Further folders with hip/hip_runtime_api.h, to compare prototypes with")
weir_compile_prototypes(weir_hip_prototypes hip_prototypes.cpp
  HEADERS "${WEIR_HIP_INCLUDE_DIR}" ${WEIR_TEST_HIP_HEADERS} DEFINITIONS __HIP_PLATFORM_AMD__)

# The names of the rows that ci/mutations.sh removes.
weir_add_executable(weir_hip_mutations mutations.cpp "${PROJECT_SOURCE_DIR}/backends/hip/quirks.cpp")
target_include_directories(weir_hip_mutations PRIVATE "${PROJECT_SOURCE_DIR}")

# Tests the real runtime and compiler, from Debian or ROCm, on a machine without an AMD device. Skipped if neither is
# installed.
weir_add_test_executable(weir_hip_runtime_tests hip_runtime_test.cpp
  "${PROJECT_SOURCE_DIR}/backends/hip/code_object.cpp"
  "${PROJECT_SOURCE_DIR}/backends/hip/device_node.cpp"
  "${PROJECT_SOURCE_DIR}/backends/hip/hiprtc.cpp"
  "${PROJECT_SOURCE_DIR}/backends/gpu/kernel_names.cpp"
  "${PROJECT_SOURCE_DIR}/core/base/library.cpp"
  "${PROJECT_SOURCE_DIR}/backends/gpu/program.cpp"
  "${PROJECT_SOURCE_DIR}/tests/unit/subprocess.cpp")
target_include_directories(weir_hip_runtime_tests PRIVATE "${PROJECT_SOURCE_DIR}/tests/unit")
target_include_directories(weir_hip_runtime_tests SYSTEM PRIVATE "${WEIR_HIP_INCLUDE_DIR}")
find_package(nlohmann_json REQUIRED)
target_link_libraries(weir_hip_runtime_tests PRIVATE weir_kernels weir_kernel_cache nlohmann_json::nlohmann_json ${WEIR_FMT}
  ${CMAKE_DL_LIBS})
target_compile_definitions(weir_hip_runtime_tests PRIVATE
  __HIP_PLATFORM_AMD__
  WEIR_TEST_STORY="$<TARGET_FILE:weir_driver_story>"
  WEIR_TEST_CHILD="$<TARGET_FILE:weir_driver_story>"
  WEIR_TEST_PLUGINS="$<TARGET_FILE_DIR:weir_hip>"
  WEIR_TEST_SOURCES="${PROJECT_SOURCE_DIR}")
add_dependencies(weir_hip_runtime_tests weir_driver_story)
add_test(NAME drivers-hip-runtime COMMAND weir_hip_runtime_tests)
set_tests_properties(drivers-hip-runtime PROPERTIES SKIP_RETURN_CODE 77)

if(NOT TARGET weir_bridge_602 OR NOT TARGET weir_cpu_cuda)
  return()
endif()
# Stand-ins for libamdhip64, one for each release: each changes answers of the bridge for that release. And the tests that use
# them.
add_library(weir_fake_kernels MODULE fake_kernels.cpp)
target_compile_features(weir_fake_kernels PRIVATE cxx_std_20)
target_include_directories(weir_fake_kernels PRIVATE "${PROJECT_SOURCE_DIR}")
set_target_properties(weir_fake_kernels PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")

include("${PROJECT_SOURCE_DIR}/tests/bridge/version_script.cmake")
add_library(weir_fake_hip_objects OBJECT fake_hip.cpp)
weir_configure_target(weir_fake_hip_objects)
target_include_directories(weir_fake_hip_objects PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
target_include_directories(weir_fake_hip_objects SYSTEM PRIVATE "${WEIR_HIP_INCLUDE_DIR}")
target_compile_definitions(weir_fake_hip_objects PRIVATE __HIP_PLATFORM_AMD__
  FAKE_CUDA="$<TARGET_FILE:weir_cpu_cuda>" FAKE_KERNELS="$<TARGET_FILE:weir_fake_kernels>")
set_target_properties(weir_fake_hip_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

# weir_add_fake_hip(NAME RELEASE BRIDGE [WITHOUT function…]): adds a stand-in for one release, over the bridge for BRIDGE.
function(weir_add_fake_hip name release bridge)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "WITHOUT")
  math(EXPR soversion "${release} / 100")
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}.map")
  weir_hip_version_script("${script}" ${release} WITHOUT ${arg_WITHOUT} WITH weir_fail_every_call weir_wait_for weir_wait_for_next
    weir_be_ready)
  add_library(weir_fake_hip_${name} SHARED fake_hip_release.cpp $<TARGET_OBJECTS:weir_fake_hip_objects>)
  weir_configure_target(weir_fake_hip_${name})
  target_link_libraries(weir_fake_hip_${name} PRIVATE ${CMAKE_DL_LIBS})
  target_compile_definitions(weir_fake_hip_${name} PRIVATE
    FAKE_RELEASE=${release} FAKE_BRIDGE="$<TARGET_FILE:weir_bridge_${bridge}>")
  target_link_options(weir_fake_hip_${name} PRIVATE "-Wl,--version-script=${script}"
    "-Wl,-soname,libamdhip64.so.${soversion}")
  set_target_properties(weir_fake_hip_${name} PROPERTIES
    OUTPUT_NAME amdhip64 SUFFIX .so.${soversion} NO_SONAME ON LINK_DEPENDS "${script}"
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/hip-${name}")
  add_dependencies(weir_fake_hip_${name} weir_bridge_${bridge} weir_cpu_cuda weir_fake_kernels)
endfunction()
set(weir_fake_hips "")
foreach(release 602 604 700 701 702 714 1000)
  math(EXPR major "${release} / 100")
  math(EXPR minor "${release} % 100")
  weir_add_fake_hip(${major}.${minor} ${release} ${release})
  list(APPEND weir_fake_hips weir_fake_hip_${major}.${minor})
endforeach()
weir_add_fake_hip(6.3 603 604)
list(APPEND weir_fake_hips weir_fake_hip_6.3)
weir_add_fake_hip(incomplete 602 602 WITHOUT hipMemcpyAsync hipStreamQuery)
weir_add_fake_hip(lacking 1000 1000 WITHOUT hipStreamGetId)

weir_add_test_executable(weir_hip_driver_tests hip_promises_test.cpp hip_quirks_test.cpp hip_test.cpp
  "${PROJECT_SOURCE_DIR}/backends/hip/quirks.cpp"
  "${PROJECT_SOURCE_DIR}/tests/unit/main.cpp"
  "${PROJECT_SOURCE_DIR}/tests/unit/subprocess.cpp")
target_include_directories(weir_hip_driver_tests PRIVATE "${PROJECT_SOURCE_DIR}/tests/unit")
target_compile_definitions(weir_hip_driver_tests PRIVATE
  WEIR_TEST_STORY="$<TARGET_FILE:weir_driver_story>"
  WEIR_TEST_CHILD="$<TARGET_FILE:weir_driver_story>"
  WEIR_TEST_PLUGINS="$<TARGET_FILE_DIR:weir_hip>"
  WEIR_TEST_FAKE_HIP="${CMAKE_CURRENT_BINARY_DIR}/hip-"
  WEIR_TEST_NO_DRIVER="$<TARGET_FILE:weir>")
add_dependencies(weir_hip_driver_tests weir_driver_story ${weir_fake_hips}
  weir_fake_hip_incomplete weir_fake_hip_lacking)
add_test(NAME drivers-hip COMMAND weir_hip_driver_tests)
