// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "python/src/gate.hpp"
#include "weir/device.hpp"

/// Captures, and where their functions in Python keep what they raise.
namespace weir::python {

/// That of the capture that `stream` is in: the graph's, when the capture has ended.
std::shared_ptr<Thrown> thrown_of_capture(const Stream& stream);
/// The same for the graph; null if it has no functions in Python.
std::shared_ptr<Thrown> take_thrown(std::uint64_t capture);

struct GraphObject {
  GraphPtr graph;
  std::shared_ptr<Thrown> thrown;  // null if it has no functions in Python
  GraphExecPtr executable{};       // made by the first launch
  /// Guards the pointers, which `update` exchanges. Held for no longer than it takes to copy them.
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();

  ~GraphObject();
  GraphObject(GraphPtr captured, std::shared_ptr<Thrown> kept) : graph(std::move(captured)), thrown(std::move(kept)) {}
  GraphObject(GraphObject&&) = default;
  GraphObject& operator=(GraphObject&&) = delete;
};

/// The graph of now.
GraphPtr graph_of(const GraphObject& graph);
/// Made by the first call.
GraphExecPtr executable_of(GraphObject& graph);

}  // namespace weir::python
