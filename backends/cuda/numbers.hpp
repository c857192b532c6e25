// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Constants of CUDA's driver API that older headers lack. tests/drivers/cuda_prototypes.cpp compares them with newer
/// headers.
namespace weir::cuda {

// Added in 12.3.
constexpr int type_conditional = 13;                  // CU_GRAPH_NODE_TYPE_CONDITIONAL
constexpr int condition_if = 0, condition_while = 1, condition_switch = 2;  // CU_GRAPH_COND_TYPE_…, the last since 12.8
constexpr unsigned assign_default = 1;                // CU_GRAPH_COND_ASSIGN_DEFAULT

// Added in 12.4.
constexpr unsigned green_default_stream = 1;  // CU_GREEN_CTX_DEFAULT_STREAM

// Values of CUresult.
constexpr int error_contained = 226, error_tensor_memory_leak = 721, error_external_device = 911,
              error_invalid_cluster_size = 912, error_resource_configuration = 915, error_stream_detached = 917,
              error_graph_recapture_failure = 918;

}  // namespace weir::cuda
