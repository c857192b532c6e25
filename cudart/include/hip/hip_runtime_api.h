/* SPDX-License-Identifier: Apache-2.0 */
/* HIP's names for CUDA's runtime over Weir (docs/cuda-programs.md). */
#pragma once
#include <cuda_runtime_api.h>
#include <weir_cuda_templates.h>
#include <weir_hip_names.h>

/* As with HIP on NVIDIA's GPUs: a warp has 32 lanes. */
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_NVIDIA__ 1
#endif
#define HIP_SYMBOL(name) name

/* HIP has calls like those of CUDA's driver in this header. */
#define WEIR_HIP_MISSING(name) \
  extern cudaError_t name WEIR_CUDA_ANYTHING WEIR_CUDA_UNAVAILABLE(name, "use the runtime's calls, or weir::Module");
WEIR_HIP_MISSING(hipInit) WEIR_HIP_MISSING(hipCtxCreate) WEIR_HIP_MISSING(hipDeviceGet) WEIR_HIP_MISSING(hipDeviceGetName)
WEIR_HIP_MISSING(hipModuleLoad) WEIR_HIP_MISSING(hipModuleLoadData) WEIR_HIP_MISSING(hipModuleGetFunction)
WEIR_HIP_MISSING(hipModuleLaunchKernel) WEIR_HIP_MISSING(hipExtLaunchKernel) WEIR_HIP_MISSING(hipMemcpyWithStream)
WEIR_HIP_MISSING(hipMemcpyHtoD) WEIR_HIP_MISSING(hipMemcpyDtoH) WEIR_HIP_MISSING(hipMemcpyDtoD)
WEIR_HIP_MISSING(hipMemcpyHtoDAsync) WEIR_HIP_MISSING(hipMemcpyDtoHAsync) WEIR_HIP_MISSING(hipMemcpyDtoDAsync)
