// SPDX-License-Identifier: Apache-2.0
#pragma once

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
class MemoryPool;
class Module;
class Registry;
class Stream;

using EventPtr = Ptr<Event>;
using GraphPtr = Ptr<Graph>;
using GraphExecPtr = Ptr<GraphExec>;
using KernelPtr = Ptr<Kernel>;
using MemoryPoolPtr = Ptr<MemoryPool>;
using ModulePtr = Ptr<Module>;
using StreamPtr = Ptr<Stream>;

}  // namespace weir
