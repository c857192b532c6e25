// SPDX-License-Identifier: Apache-2.0

// Compiling this file is the test: it compares the CUDA plugin's hand-written declarations with the headers of this build.
// All other functions of the plugin have the vendor's own types for their pinned versions (cudaTypedefs.h), so including the
// function table checks them. WEIR_TEST_CUDA_HEADERS names further folders with headers.

#include "backends/cuda/numbers.hpp"
#include "backends/cuda/symbols.hpp"
#include "prototypes.hpp"

namespace {

using namespace weir::cuda;
using weir::test::called_alike;

// The table itself compiles with these headers.
static_assert(sizeof(Symbols) != 0);

struct ByHand {
#define WEIR_CUDA_PROTOTYPE(field, function, version, parameters) using field = CUresult(CUDAAPI*) parameters;
  WEIR_CUDA_NEWER_SYMBOLS(WEIR_CUDA_PROTOTYPE)
#undef WEIR_CUDA_PROTOTYPE
};
#define CHECK_FUNCTION(field, function, version) static_assert(called_alike<ByHand::field, PFN_##function##_v##version>)

#if CUDA_VERSION >= 12030
CHECK_FUNCTION(StreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030);
CHECK_FUNCTION(StreamGetCaptureInfoAndEdges, cuStreamGetCaptureInfo, 12030);
CHECK_FUNCTION(GraphGetEdgesAndData, cuGraphGetEdges, 12030);
CHECK_FUNCTION(GraphConditionalHandleCreate, cuGraphConditionalHandleCreate, 12030);
CHECK_FUNCTION(GraphAddNode, cuGraphAddNode, 12030);
CHECK_FUNCTION(FuncGetName, cuFuncGetName, 12030);

static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData));
static_assert(offsetof(EdgeData, from_port) == offsetof(CUgraphEdgeData, from_port) &&
              offsetof(EdgeData, to_port) == offsetof(CUgraphEdgeData, to_port) &&
              offsetof(EdgeData, type) == offsetof(CUgraphEdgeData, type));
static_assert(sizeof(ConditionalNodeParams) == sizeof(CUgraphNodeParams) &&
              offsetof(ConditionalNodeParams, type) == offsetof(CUgraphNodeParams, type) &&
              offsetof(ConditionalNodeParams, handle) == offsetof(CUgraphNodeParams, conditional.handle) &&
              offsetof(ConditionalNodeParams, condition_type) == offsetof(CUgraphNodeParams, conditional.type) &&
              offsetof(ConditionalNodeParams, size) == offsetof(CUgraphNodeParams, conditional.size) &&
              offsetof(ConditionalNodeParams, bodies) == offsetof(CUgraphNodeParams, conditional.phGraph_out) &&
              offsetof(ConditionalNodeParams, context) == offsetof(CUgraphNodeParams, conditional.ctx));
static_assert(type_conditional == CU_GRAPH_NODE_TYPE_CONDITIONAL && condition_if == CU_GRAPH_COND_TYPE_IF &&
              condition_while == CU_GRAPH_COND_TYPE_WHILE && assign_default == CU_GRAPH_COND_ASSIGN_DEFAULT);
#endif
#if CUDA_VERSION >= 12040
CHECK_FUNCTION(FuncGetParamInfo, cuFuncGetParamInfo, 12040);
CHECK_FUNCTION(FuncLoad, cuFuncLoad, 12040);
CHECK_FUNCTION(ModuleGetFunctionCount, cuModuleGetFunctionCount, 12040);
CHECK_FUNCTION(ModuleEnumerateFunctions, cuModuleEnumerateFunctions, 12040);
CHECK_FUNCTION(DeviceGetDevResource, cuDeviceGetDevResource, 12040);
CHECK_FUNCTION(DevSmResourceSplitByCount, cuDevSmResourceSplitByCount, 12040);
CHECK_FUNCTION(DevResourceGenerateDesc, cuDevResourceGenerateDesc, 12040);
CHECK_FUNCTION(GreenCtxCreate, cuGreenCtxCreate, 12040);
CHECK_FUNCTION(GreenCtxDestroy, cuGreenCtxDestroy, 12040);
CHECK_FUNCTION(StreamGetGreenCtx, cuStreamGetGreenCtx, 12040);

static_assert(sizeof(DeviceResource) == sizeof(CUdevResource) &&
              offsetof(DeviceResource, count) == offsetof(CUdevResource, sm.smCount));
static_assert(weir::gpu::resource_compute_units == CU_DEV_RESOURCE_TYPE_SM &&
              green_default_stream == CU_GREEN_CTX_DEFAULT_STREAM);
#endif
#if CUDA_VERSION >= 12050
CHECK_FUNCTION(CtxRecordEvent, cuCtxRecordEvent, 12050);
CHECK_FUNCTION(GreenCtxStreamCreate, cuGreenCtxStreamCreate, 12050);
#endif
#if CUDA_VERSION >= 12080
CHECK_FUNCTION(MemcpyBatchAsync, cuMemcpyBatchAsync, 12080);
static_assert(condition_switch == CU_GRAPH_COND_TYPE_SWITCH);
static_assert(sizeof(CopyAttributes) == sizeof(CUmemcpyAttributes) &&
              offsetof(CopyAttributes, source_type) == offsetof(CUmemcpyAttributes, srcLocHint) &&
              offsetof(CopyAttributes, destination_type) == offsetof(CUmemcpyAttributes, dstLocHint) &&
              offsetof(CopyAttributes, flags) == offsetof(CUmemcpyAttributes, flags));
static_assert(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM == 1 && CU_MEMCPY_SRC_ACCESS_ORDER_ANY == 3);
#endif

#if CUDA_VERSION >= 12040
static_assert(error_resource_configuration == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
#endif
static_assert(error_external_device == CUDA_ERROR_EXTERNAL_DEVICE &&
              error_invalid_cluster_size == CUDA_ERROR_INVALID_CLUSTER_SIZE);
#if CUDA_VERSION >= 13000
static_assert(offsetof(DeviceResource, least) == offsetof(CUdevResource, sm.minSmPartitionSize) &&
              offsetof(DeviceResource, alignment) == offsetof(CUdevResource, sm.smCoscheduledAlignment));
#endif
#if CUDA_VERSION >= 13000
static_assert(error_contained == CUDA_ERROR_CONTAINED && error_tensor_memory_leak == CUDA_ERROR_TENSOR_MEMORY_LEAK);
#endif

}  // namespace
