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

/// A graph that was read from a file.
namespace weir::detail {

/// One operation of a loaded graph.
struct GraphStep : WorkStep {
  bool is_awaited = false;  // by steps other than its immediate successor
  Range after;              // steps, in GraphContent::after
  std::string function;
  std::uint32_t allocation = 0;  // the allocation that it makes or frees
  ConditionalKind conditional{};
  SavedAddress condition{};
  std::uint32_t inner_count = 0;
  std::vector<std::vector<GraphStep>> inner;
};

/// A file's checked content, and the bindings made since.
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
  std::vector<std::uint64_t> allocated;  // by the graph: the size of each allocation
  std::vector<GraphStep> steps;
  std::vector<std::uint32_t> after;
  std::map<std::string, std::shared_ptr<HostFunction>, std::less<>> functions;  // null: not bound yet
};

[[noreturn]] void throw_bad_graph(std::span<const std::byte> bytes, const std::string& flaw);

}  // namespace weir::detail
