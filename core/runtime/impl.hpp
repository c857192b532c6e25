// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/plugin/backend.hpp"
#include "weir/plugin/device.hpp"
#include "weir/plugin/event.hpp"
#include "weir/plugin/graph.hpp"
#include "weir/plugin/memory.hpp"
#include "weir/plugin/module.hpp"
#include "weir/plugin/stream.hpp"

/// `impl(x)`: casts a public object to the `…Impl` class that backends derive from. Only the `…Impl` classes can
/// construct the public classes, so the casts are valid for every object.
namespace weir::detail {

inline DeviceImpl& impl(Device& x) noexcept { return static_cast<DeviceImpl&>(x); }
inline const DeviceImpl& impl(const Device& x) noexcept { return static_cast<const DeviceImpl&>(x); }
inline StreamImpl& impl(Stream& x) noexcept { return static_cast<StreamImpl&>(x); }
inline const StreamImpl& impl(const Stream& x) noexcept { return static_cast<const StreamImpl&>(x); }
inline const EventImpl& impl(const Event& x) noexcept { return static_cast<const EventImpl&>(x); }
inline const GraphImpl& impl(const Graph& x) noexcept { return static_cast<const GraphImpl&>(x); }
inline GraphExecImpl& impl(GraphExec& x) noexcept { return static_cast<GraphExecImpl&>(x); }
inline ModuleImpl& impl(Module& x) noexcept { return static_cast<ModuleImpl&>(x); }
inline const KernelImpl& impl(const Kernel& x) noexcept { return static_cast<const KernelImpl&>(x); }
inline PartitionImpl& impl(Partition& x) noexcept { return static_cast<PartitionImpl&>(x); }
inline MemoryPoolImpl& impl(MemoryPool& x) noexcept { return static_cast<MemoryPoolImpl&>(x); }
inline const MemoryPoolImpl& impl(const MemoryPool& x) noexcept { return static_cast<const MemoryPoolImpl&>(x); }

}  // namespace weir::detail
