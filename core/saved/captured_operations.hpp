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

/// What a portable capture writes down, of which `Graph::save` makes a file: drivers do not give back what a graph is made
/// of.
namespace weir::detail {

/// One operation of a capture, with the addresses of then.
struct CapturedOperation {
  struct Argument {
    enum class Kind : std::uint8_t { value, address, unknown };  // unknown: there may be addresses in it
    std::vector<std::byte> bytes;
    Kind kind = Kind::value;
  };

  OperationKind kind{};
  const char* name = "";             ///< of the call
  std::vector<std::uint32_t> after;  ///< the nodes that it comes behind, sorted
  std::uint32_t node = 0;            ///< the last one that it became
  KernelPtr kernel;
  LaunchConfig config;
  std::vector<Argument> arguments;
  std::vector<MemoryAccess> accesses;
  std::vector<std::byte> element;  ///< of a fill
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
  std::vector<std::uint32_t> owners;          ///< for each node, the operation that it is of
  std::string flaw;                           ///< why the graph cannot be saved; empty if it can
  std::vector<AllocationPtr> memory;          ///< that a loaded graph uses
};

}  // namespace weir::detail
