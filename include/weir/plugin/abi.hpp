// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/abi.hpp"
#include "weir/plugin/backend.hpp"
#include "weir/plugin/capture.hpp"
#include "weir/plugin/communicator.hpp"
#include "weir/plugin/device.hpp"
#include "weir/plugin/event.hpp"
#include "weir/plugin/graph.hpp"
#include "weir/plugin/memory.hpp"
#include "weir/plugin/module.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/plugin/stream.hpp"
#include "weir/plugin/waits.hpp"

/// The fingerprint that a plugin and the library compare: the fingerprint of programs (weir/abi.hpp), and the types that
/// only plugins share with the library. See docs/abi.md.
namespace weir {

/// The revision of the plugin interface. Increment it when the meaning of a virtual function changes, because the
/// fingerprint does not detect this. The library does not load a plugin of another revision.
inline constexpr std::uint32_t plugin_revision = 15;

namespace detail {

// clang-format off
/// The types whose size must be the same for a plugin and the library.
#define WEIR_PLUGIN_ABI_SIZES(X)                                                                                 \
  X(BackendImpl) X(DeviceImpl) X(PartitionImpl) X(StreamImpl) X(EventImpl) X(GraphImpl) X(GraphExecImpl) X(ModuleImpl) \
  X(KernelImpl)                                                                                                    \
  X(MemoryPoolImpl) X(CommunicatorImpl) X(CaptureState) X(CaptureResources) X(CommunicatorRequest)               \
  X(CollectiveCall) X(StreamKey) X(NodeChange) X(Operation) X(NodeRun) X(Driver) X(DriverCall)         \
  X(Awaited) X(BusyStream) X(ValueWriter)
// clang-format on

/// The hash of the layouts that programs share with the library, and of those that only plugins do.
consteval std::uint64_t plugin_layout_hash() {
  std::uint64_t hash = mixed(layout_hash(), static_cast<std::uint64_t>(OperationKind::load_module));
  for (const std::size_t number : {WEIR_PLUGIN_ABI_SIZES(WEIR_ABI_SIZE)}) hash = mixed(hash, number);
  return hash;
}

static constexpr auto plugin_fingerprint = make_fingerprint(plugin_layout_hash());

}  // namespace detail
}  // namespace weir
