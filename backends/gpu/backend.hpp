// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/gpu/device_impl.hpp"
#include "backends/gpu/graph_impl.hpp"
#include "backends/gpu/partition.hpp"
#include "backends/gpu/stream_capture_impl.hpp"
#include "backends/gpu/stream_impl.hpp"
#include "backends/gpu/stream_memory_impl.hpp"
#include "weir/plugin/backend.hpp"

namespace weir::gpu {

/// An opened driver. This folder contains the code that CUDA and HIP share: templates over a policy `Api`, which has
///
///   types       Result, DeviceContext, StreamHandle, EventHandle, GraphHandle, GraphExecHandle, NodeHandle, ModuleHandle,
///               FunctionHandle, PoolHandle, PartitionHandle, ComputeUnits, UserObject, HostNodeParameters, BatchOperation,
///               ConditionalHandle, and the enumerations that are passed through
///   constants   success, not_ready, not_found, illegal_state, peer_already_enabled, of_another_context, max_batch, and the
///               flags of streams, graphs and user objects
///   functions   the driver's own by the name that both vendors share, without its prefix (StreamSynchronize, GraphLaunch):
///   a
///               table of pointers; and, in lower case, one for each thing that differs (copy_async, capture_info, …)
///   Current     makes a device current for a scope, and restores the former one
///   CaptureLock CaptureLock or NoCaptureLock: see capture_lock.hpp
///
/// backends/cuda/api.hpp is such a policy.
template <class Api>
class GpuBackend final : public BackendImpl {
 public:
  explicit GpuBackend(const Api& api) : BackendImpl(Api::backend_name) {
    mutable_versions() = api.versions();
    const int count = api.device_count();
    for (int ordinal = 0; ordinal < count; ++ordinal) add_device(*new GpuDevice<Api>(*this, api, ordinal));
  }
};

}  // namespace weir::gpu
