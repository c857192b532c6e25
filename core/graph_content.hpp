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

#include "core/graph_file_format.hpp"
#include "weir/module.hpp"
#include "weir/portable_graph.hpp"
#include "weir/stream.hpp"

/// A graph that was read from a file.
namespace weir::detail {

/// One operation of a loaded graph. What it has several of lies in the lists of the whole graph, since steps are many.
struct GraphStep {
  struct Range {
    std::uint32_t first = 0, count = 0;
  };

  SavedKind kind{};
  bool is_awaited = false;  // by steps that do not just follow it
  Range after;              // steps, in GraphContent::after
  Range items;              // arguments, boxes (of copies in pairs) or memory operations
  const Kernel* kernel = nullptr;
  LaunchConfig config;
  std::uint32_t word_size = 0;     // of a fill
  std::vector<std::byte> element;  // of a fill
  std::string function;
  std::uint32_t allocation = 0;  // that it makes or frees
  ConditionalKind conditional{};
  SavedAddress condition{};
  std::uint32_t inner_count = 0;
  std::vector<std::vector<GraphStep>> inner;
};

/// An argument of a launch, or where it is in memory.
struct LoadedArgument {
  std::uint32_t size = 0;
  std::uint32_t slot = 0;
  bool is_address = false;
  SavedAddress address{};
};

/// What a file says, checked, and what has been bound since.
struct GraphContent {
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
  std::vector<std::uint64_t> allocated;  // by the graph: the bytes of each
  std::vector<GraphStep> steps;
  std::vector<std::uint32_t> after;
  std::vector<LoadedArgument> arguments;
  struct alignas(16) Slot {
    std::byte bytes[16];
  };
  std::vector<Slot> slots;  // values of arguments
  std::vector<SavedBox> boxes;
  std::vector<SavedMemoryOperation> memory_operations;
  std::map<std::string, std::shared_ptr<HostFunction>, std::less<>> functions;  // null: not bound yet
};

/// The part of a list that belongs to a step.
template <class T>
std::span<T> part_of(std::vector<T>& list, const GraphStep::Range& range) noexcept {
  return std::span(list).subspan(range.first, range.count);
}

[[noreturn]] void throw_bad_graph(std::span<const std::byte> bytes, const std::string& flaw);

}  // namespace weir::detail
