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

/// An opened driver. This folder contains the code that CUDA and HIP share: templates with a policy class `Api` as
/// parameter. backends/cuda/api.hpp is an example of such a policy. It has these members:
///
///   - types: Result, DeviceContext, StreamHandle, EventHandle, GraphHandle, GraphExecHandle, NodeHandle, ModuleHandle,
///     FunctionHandle, PoolHandle, PartitionHandle, ComputeUnits, UserObject, HostNodeParameters, BatchOperation,
///     ConditionalHandle, and enumerations that the shared code only passes on
///   - constants: success, not_ready, not_found, illegal_state, peer_already_enabled, of_another_context, max_batch, and the
///     flags of streams, graphs and user objects
///   - driver functions, under the name that both vendors use but without its prefix (StreamSynchronize, GraphLaunch): a
///     table of pointers
///   - functions in lower case, one for each operation that differs between the vendors (copy_async, capture_info, …)
///   - Current: makes a device current for a scope, and restores the former one
///   - CaptureLock: either CaptureLock or NoCaptureLock of capture_lock.hpp
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
