// SPDX-License-Identifier: Apache-2.0
#pragma once

// Without the C++ overloads, because this file defines the C interface.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include <cstddef>
#include <cstdint>

/// What HIP has had since the release whose headers the bridge is built with, as those releases declare it.
extern "C" {

struct hipUserObject;
typedef hipUserObject* hipUserObject_t;

// 6.4. Six words, like CUDA's.
union hipStreamBatchMemOpParams {
  std::uint32_t operation;
  std::uint64_t pad[6];
};

// 7.1. The largest member that the bridge reads is an enumerator; the value has 64 bytes.
union hipLaunchAttributeValue {
  char pad[64];
  int sync_policy;
  int priority;
};

// 7.0. Like CUlaunchConfig, as its attributes are like CUDA's.
struct HIP_LAUNCH_CONFIG;
hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* config, hipFunction_t function, void** parameters, void** extra);

// 7.14. hipDevResource and hipExecutionCtx_t are CUDA's CUdevResource and CUgreenCtx here.
hipError_t hipDeviceGetDevResource(hipDevice_t device, void* resource, int type);
hipError_t hipDevSmResourceSplitByCount(void* groups, unsigned* count, const void* input, void* rest, unsigned flags,
                                        unsigned least);
hipError_t hipDevResourceGenerateDesc(void** description, void* resources, unsigned count);
hipError_t hipGreenCtxCreate(void** context, void* description, int device, unsigned flags);
hipError_t hipExecutionCtxDestroy(void* context);
hipError_t hipExecutionCtxStreamCreate(hipStream_t* stream, void* context, unsigned flags, int priority);

struct hipGraphEdgeData;  // 6.2, never accepted

hipError_t hipGetDevicePropertiesR0600(void* properties, int device);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* id);
hipError_t hipStreamGetAttribute(hipStream_t stream, int attribute, hipLaunchAttributeValue* value);
hipError_t hipStreamSetAttribute(hipStream_t stream, int attribute, const hipLaunchAttributeValue* value);
hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams* operations, unsigned flags);
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);
hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                        const hipGraphEdgeData* edges, size_t count, hipStreamCaptureMode mode);
hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream);
hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char* path, unsigned flags);
hipError_t hipUserObjectCreate(hipUserObject_t* object, void* pointer, hipHostFn_t destroy, unsigned references,
                               unsigned flags);
hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count);
hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                            hipStream_t stream, void** parameters);
}
