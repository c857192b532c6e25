// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "python/src/gate.hpp"
#include "weir/device.hpp"

/// Captures, and where their functions in Python keep what they raise.
namespace weir::python {

/// Numbers of captures are a backend's own.
using CaptureKey = std::pair<const Backend*, std::uint64_t>;
/// The capture that `stream` is in.
CaptureKey capture_of(const Stream& stream);

/// That of the capture that `stream` is in: the graph's, when the capture has ended.
std::shared_ptr<Thrown> thrown_of_capture(const Stream& stream);
/// The same for the graph; null if it has no functions in Python.
std::shared_ptr<Thrown> take_thrown(const CaptureKey& capture);

/// The capture that `stream` is in is portable.
void note_portable(const Stream& stream);
/// Whether there has been one. Costs a load.
bool is_portable_ever() noexcept;
/// Whether `stream` is in a portable capture.
bool is_portable(const Stream& stream);
/// A function of such a capture travels by its name. Throws ValueError if that stands for another call already. With the
/// lock.
void note_name(const Stream& stream, const std::string& name, const std::shared_ptr<PythonCall>& call);
/// The capture has ended.
void forget_portable(const CaptureKey& capture);

struct GraphObject {
  GraphPtr graph;
  std::shared_ptr<Thrown> thrown;  // null if it has no functions in Python
  GraphExecPtr executable{};       // made by the first launch
  GraphExecPtr given_to{};         // of another graph: has this one's functions in Python, by `update`
  /// Guards the pointers, which `update` exchanges. Held for no longer than it takes to copy them.
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();

  ~GraphObject();
  GraphObject(GraphPtr captured, std::shared_ptr<Thrown> kept) : graph(std::move(captured)), thrown(std::move(kept)) {}
  GraphObject(GraphObject&&) = default;
  GraphObject& operator=(GraphObject&&) = delete;
};

/// The graph of now.
GraphPtr graph_of(const GraphObject& graph);
/// Made by the first call. Throws `invalid_argument` if the graph has given its functions in Python away.
GraphExecPtr executable_of(GraphObject& graph, const char* operation);

}  // namespace weir::python
