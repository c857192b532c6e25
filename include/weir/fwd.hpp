// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>

#include "weir/export.hpp"
#include "weir/ptr.hpp"

/// Names of the main types, for headers that need no more.
namespace weir {

class Allocation;
class Backend;
class Device;
class Event;
class Graph;
class GraphExec;
class HostRegistration;
class Kernel;
class KernelBundle;
class MemoryPool;
class Module;
class Registry;
class Stream;

namespace detail {
class StreamCall;
struct StreamCore;
}  // namespace detail

using EventPtr = Ptr<Event>;
using GraphPtr = Ptr<Graph>;
using GraphExecPtr = Ptr<GraphExec>;
using KernelPtr = Ptr<Kernel>;
using MemoryPoolPtr = Ptr<MemoryPool>;
using ModulePtr = Ptr<Module>;
using StreamPtr = Ptr<Stream>;

/// Compare the streams, not the objects that stand for them, so that all wrappers of one native stream are one key of a map.
/// Null equals null alone, and comes first. Do not close a stream that is a key.
WEIR_API bool operator==(const StreamPtr& a, const StreamPtr& b) noexcept;
WEIR_API std::strong_ordering operator<=>(const StreamPtr& a, const StreamPtr& b) noexcept;

}  // namespace weir

template <>
struct std::hash<weir::StreamPtr> {
  WEIR_API std::size_t operator()(const weir::StreamPtr& stream) const noexcept;
};
