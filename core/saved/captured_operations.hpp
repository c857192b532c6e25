// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/runtime/captured_work.hpp"
#include "weir/graph.hpp"
#include "weir/memory.hpp"
#include "weir/module.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/stream.hpp"

/// The operations that a portable capture records and `Graph::save` writes to a file, because drivers do not return a
/// graph's contents.
namespace weir::detail {

/// One operation of a capture, with the addresses at that time.
struct CapturedOperation {
  struct Argument {
    enum class Kind : std::uint8_t { value, address, unknown };  // unknown: may contain addresses
    std::vector<std::byte> bytes;
    Kind kind = Kind::value;
  };

  OperationKind kind{};
  const char* name = "";             ///< of the call
  std::vector<std::uint32_t> after;  ///< the nodes that it was captured after, sorted
  std::uint32_t node = 0;            ///< the last of its nodes
  KernelPtr kernel;
  LaunchConfig config;
  std::vector<Argument> arguments;
  std::vector<MemoryAccess> accesses;
  std::vector<std::byte> element;  ///< for a fill
  std::uint32_t word_size = 0;
  std::vector<MemoryOperation> memory_operations;
  std::string function;  ///< the name of a host function
  ConditionalKind conditional{};
  std::vector<std::shared_ptr<const CapturedWork>> inner;  ///< a child graph, or the bodies of a conditional node
};

struct CapturedOperations final : CapturedWork {
  CapturedOperations() = default;
  CapturedOperations(const CapturedOperations& other)
      : CapturedWork(other), operations(other.operations), owners(other.owners), flaw(other.flaw), memory(other.memory) {}

  /// All captured work is of this class.
  static const CapturedOperations& of(const CapturedWork& work) noexcept {
    return static_cast<const CapturedOperations&>(work);
  }

  std::shared_ptr<CapturedWork> copy() const override { return std::make_shared<CapturedOperations>(*this); }
  void record(const Operation& operation, const std::vector<GraphNode>& after,
              std::vector<std::shared_ptr<const CapturedWork>> bodies) override;
  void settle(const Topology& topology) override;

  std::mutex mutex;
  std::vector<CapturedOperation> operations;  ///< once settled, in the order of their nodes
  std::vector<std::uint32_t> owners;          ///< for each node, the operation that it belongs to
  std::string flaw;                           ///< why the graph cannot be saved; empty if it can be
  std::vector<AllocationPtr> memory;          ///< used by a loaded graph
};

}  // namespace weir::detail
