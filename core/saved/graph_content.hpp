// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/saved/saved_work.hpp"
#include "weir/module.hpp"
#include "weir/portable_graph.hpp"
#include "weir/stream.hpp"

/// `GraphContent`: the content of a graph file after it was checked, and the memory and functions bound to it.
namespace weir::detail {

/// One operation of a loaded graph.
struct GraphStep : WorkStep {
  bool is_leaf = true;  // whether no other step depends on this one
  Range after;          // the steps that this one depends on: a range of GraphContent::after
  std::string function;
  std::uint32_t allocation = 0;  // the index of the allocation that the step makes or frees
  std::vector<std::vector<GraphStep>> inner;  // a child graph, or the bodies of a conditional node
};

/// The content of a file, and the present bindings.
struct GraphContent : SavedWork {
  struct Memory : PortableMemory {
    std::vector<std::byte> contents;
    AllocationPtr own;
  };

  explicit GraphContent(Device& d) : device(d) {}
  Device& device;
  std::string from;
  std::vector<ModulePtr> modules;
  std::vector<KernelPtr> kernels;
  std::vector<Memory> memory;
  std::vector<std::uint64_t> allocated;  // the size in bytes of each allocation that the graph makes
  std::vector<GraphStep> steps;
  std::vector<std::uint32_t> after;
  std::map<std::string, std::shared_ptr<HostFunction>, std::less<>> functions;  // by name; null if the function is not bound
};

[[noreturn]] void throw_bad_graph(std::span<const std::byte> bytes, const std::string& flaw);

}  // namespace weir::detail
