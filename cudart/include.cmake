# The headers of the device language, made from the texts that kernels are compiled with (kernels/*.hpp). The folder
# WEIR_CUDART_DEVICE_INCLUDE also gets a copy of cudart/include, so
# `weir c++` finds all of them below the folder of libweir, as after an installation.
add_executable(weir_device_header "${CMAKE_CURRENT_LIST_DIR}/device_header.cpp")
weir_configure_target(weir_device_header)
target_include_directories(weir_device_header PRIVATE "${PROJECT_SOURCE_DIR}")
set(WEIR_CUDART_DEVICE_INCLUDE "${WEIR_LIBRARY_OUTPUT_DIRECTORY}/weir/cudart/include")
set(weir_device_headers weir_device_cpu.h weir_device_nvidia.h weir_device_amd.h cuda_fp16.h cuda_fp16.hpp cuda_bf16.h
  cuda_bf16.hpp cuda_fp8.h math_constants.h cooperative_groups.h cooperative_groups/reduce.h cooperative_groups/scan.h
  weir_cub.h weir_cub_items.h curand_kernel.h weir_xorwow_jumps.h
  weir_textures.h cuda/barrier cublas_v2.h cublasLt.h
  cub/cub.cuh cub/block/block_load.cuh cub/block/block_reduce.cuh cub/block/block_scan.cuh
  cub/block/block_store.cuh cub/util_type.cuh cub/warp/warp_reduce.cuh cub/warp/warp_scan.cuh weir_hip_names.h
  hip/hip_fp16.h hip/hip_bf16.h hip/hip_bfloat16.h hip/hip_complex.h hip/hip_cooperative_groups.h hip/hip_vector_types.h
  hiprand/hiprand_kernel.h hipcub/hipcub.hpp)
# Headers of CUDA's that only include <cuda_runtime.h> here.
set(weir_forwarding_headers common_functions.h cuda_device_runtime_api.h cuda_profiler_api.h device_atomic_functions.h
  device_double_functions.h device_functions.h device_launch_parameters.h device_types.h driver_functions.h host_config.h math_functions.h
  sm_20_atomic_functions.h sm_20_intrinsics.h sm_30_intrinsics.h sm_32_atomic_functions.h sm_32_intrinsics.h
  sm_35_atomic_functions.h sm_35_intrinsics.h sm_60_atomic_functions.h sm_61_intrinsics.h crt/common_functions.h
  crt/device_functions.h crt/host_config.h crt/host_defines.h crt/host_runtime.h crt/math_functions.h)
list(APPEND weir_device_headers ${weir_forwarding_headers})
list(TRANSFORM weir_device_headers PREPEND "${WEIR_CUDART_DEVICE_INCLUDE}/")
file(GLOB_RECURSE weir_cudart_headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/include/*")
add_custom_command(OUTPUT ${weir_device_headers}
  COMMAND weir_device_header "${WEIR_CUDART_DEVICE_INCLUDE}" "${CMAKE_CURRENT_LIST_DIR}/include"
    ${weir_forwarding_headers}
  COMMAND "${CMAKE_COMMAND}" -E touch ${weir_device_headers}
  DEPENDS weir_device_header ${weir_cudart_headers}
  COMMENT "Writing the headers of the device language" VERBATIM)
add_custom_command(OUTPUT "${WEIR_CUDART_DEVICE_INCLUDE}/cuda_runtime.h"
  COMMAND "${CMAKE_COMMAND}" -E copy_directory "${CMAKE_CURRENT_LIST_DIR}/include" "${WEIR_CUDART_DEVICE_INCLUDE}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${WEIR_CUDART_DEVICE_INCLUDE}/cuda_runtime.h"
  DEPENDS ${weir_cudart_headers} VERBATIM)
add_custom_target(weir_device_headers ALL
  DEPENDS ${weir_device_headers} "${WEIR_CUDART_DEVICE_INCLUDE}/cuda_runtime.h")
