// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/ptr.hpp"

/// Forward declarations of the main types, and names for their shared owners.
namespace weir {

class Allocation;
class Backend;
class Device;
class Error;
class Event;
class Graph;
class GraphChanges;
class GraphExec;
class HostRegistration;
class Kernel;
class KernelBundle;
class MemoryPool;
class Module;
class NamedMemory;
class Partition;
class PortableGraph;
class Registry;
class Stream;

// The classes that backends derive from the classes above (weir/plugin).
class BackendImpl;
class DeviceImpl;
class EventImpl;
class GraphExecImpl;
class GraphImpl;
class KernelImpl;
class MemoryPoolImpl;
class ModuleImpl;
class PartitionImpl;
class StreamImpl;

namespace detail {
class Journal;
struct GraphContent;
class CapturedWork;
struct HealthCore;
struct StreamCore;
}  // namespace detail

/// Shared owner of an `Event`.
using EventPtr = Ptr<Event>;
/// Shared owner of a `Graph`.
using GraphPtr = Ptr<Graph>;
/// Shared owner of a `GraphExec`.
using GraphExecPtr = Ptr<GraphExec>;
/// Shared owner of a `Kernel`.
using KernelPtr = Ptr<Kernel>;
/// Shared owner of a `MemoryPool`.
using MemoryPoolPtr = Ptr<MemoryPool>;
/// Shared owner of a `Module`.
using ModulePtr = Ptr<Module>;
/// Shared owner of a `Partition`.
using PartitionPtr = Ptr<Partition>;
/// Shared owner of a `PortableGraph`.
using PortableGraphPtr = Ptr<PortableGraph>;
/// Shared owner of a `Stream`.
using StreamPtr = Ptr<Stream>;

}  // namespace weir
