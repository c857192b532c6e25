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

/// The operations of a portable capture, recorded for `Graph::save`: drivers cannot report the content of a graph's nodes.
namespace weir::detail {

/// One recorded operation, as in a graph file, but with the addresses that it used during the capture.
struct CapturedOperation {
  /// A `SavedAddress` in `data`, whose offset is an address of this process. `Graph::save` replaces it.
  struct Address {
    std::size_t at, bytes;
    const char* what;      ///< names the memory in errors
    std::size_t argument;  ///< for an argument of a kernel: its number from 1; else 0
  };
  /// Bytes in `data` of an argument that is not an address.
  struct Value {
    std::size_t at, bytes, argument;
    bool is_unknown;  ///< the bytes may contain addresses
  };

  OperationKind kind{};
  const char* name = "";             ///< the name of the function that was called
  std::vector<std::uint32_t> after;  ///< the nodes that the operation depends on, sorted
  std::uint32_t node = 0;            ///< the last node that the operation has added
  std::vector<std::byte> data;       ///< the fields of its kind; a launch has 0 for the number of its kernel
  std::vector<Address> addresses;
  std::vector<Value> values;
  KernelPtr kernel;
  const void* allocated = nullptr;                         ///< for `allocate`
  std::string function;                                    ///< the name of a host function
  std::vector<std::shared_ptr<const CapturedWork>> inner;  ///< a child graph, or the bodies of a conditional node
};

struct CapturedOperations final : CapturedWork {
  CapturedOperations() = default;
  CapturedOperations(const CapturedOperations& other)
      : CapturedWork(other), operations(other.operations), owners(other.owners), flaw(other.flaw), memory(other.memory) {}

  /// Casts to the only class that is derived from `CapturedWork`.
  static const CapturedOperations& of(const CapturedWork& work) noexcept {
    return static_cast<const CapturedOperations&>(work);
  }

  std::shared_ptr<CapturedWork> copy() const override { return std::make_shared<CapturedOperations>(*this); }
  void record(const Operation& operation, const std::vector<GraphNode>& after,
              std::vector<std::shared_ptr<const CapturedWork>> bodies) override;
  void settle(const Topology& topology) override;

  std::mutex mutex;
  std::vector<CapturedOperation> operations;  ///< after `settle`, in the order of their nodes
  std::vector<std::uint32_t> owners;          ///< for each node, the index of the operation that has added it
  std::string flaw;                           ///< the reason why the graph cannot be saved; empty if it can be saved
  std::vector<AllocationPtr> memory;          ///< the memory that Weir allocated for a loaded graph, which it keeps alive
};

}  // namespace weir::detail
