// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/src/gate.hpp"
#include "weir/device.hpp"

/// Captures, what their functions in Python raise, and the buffers that their graphs use.
namespace weir::python {

/// Numbers of captures are a backend's own.
using CaptureKey = std::pair<const Backend*, std::uint64_t>;
/// The capture that `stream` is in.
CaptureKey capture_of(const Stream& stream);

/// What a capture collects for its graph.
struct Captured {
  std::shared_ptr<Thrown> thrown{};  // null if it has no functions in Python
  nb::object kept{};  // the buffers and arrays that the graph uses, by address; null if Python did not begin it
  const Stream* origin = nullptr;    // where Python began it
};
/// A capture has begun on `origin`: its graph keeps what is used from now on. With the lock; the next ones, too.
void begin_captured(const CaptureKey& capture, const Stream& origin);
/// The capture has ended, or is dropped.
Captured take_captured(const CaptureKey& capture);
/// The stream goes, and with it the capture that Python began on it, if that is open. Null: all streams.
void drop_captured(const Stream* origin);
/// How many captures that Python began are open.
inline std::atomic<std::size_t> open_captures{0};
/// For `use`.
void keep_in_graph(Stream& stream, std::span<PyObject* const> objects);
/// Work on `stream` uses these objects. If it is captured, the graph keeps them, except memory that it allocates itself.
inline void use(Stream& stream, std::span<PyObject* const> objects) {
  if (open_captures != 0) [[unlikely]]
    keep_in_graph(stream, objects);
}
inline void use(Stream& stream, std::initializer_list<nb::handle> objects) {
  if (open_captures == 0) [[likely]]
    return;
  std::vector<PyObject*> all;
  for (const nb::handle object : objects) all.push_back(object.ptr());
  keep_in_graph(stream, all);
}

/// The body of a conditional node has a capture of its own, and belongs to the graph of another one. With the lock.
class BodyCaptured {
 public:
  BodyCaptured(const CaptureKey& outer, const CaptureKey& body);
  ~BodyCaptured();
  BodyCaptured(const BodyCaptured&) = delete;
  BodyCaptured& operator=(const BodyCaptured&) = delete;

 private:
  const CaptureKey body_;
  bool added_ = false;
};

/// Where functions of the capture that `stream` is in keep what they raise: the graph's, when the capture has ended.
std::shared_ptr<Thrown> thrown_of_capture(const Stream& stream);

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
  nb::object kept;                 // the buffers and arrays that it uses: a dictionary, or null
  nb::object changed{};            // what nodes use since `apply`: a dictionary by node, or null
  GraphExecPtr executable{};       // made by the first launch
  GraphExecPtr given_to{};         // of another graph: has this one's functions in Python, by `update`
  /// Guards the pointers, which `update` exchanges. Held for no longer than it takes to copy them.
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();

  ~GraphObject();
  GraphObject(GraphPtr made, Captured captured)
      : graph(std::move(made)), thrown(std::move(captured.thrown)), kept(std::move(captured.kept)) {}
  GraphObject(GraphObject&&) = default;
  GraphObject& operator=(GraphObject&&) = delete;
};

/// The graph of now.
GraphPtr graph_of(const GraphObject& graph);
/// Made by the first call. Throws `invalid_argument` if the graph has given its functions in Python away.
GraphExecPtr executable_of(GraphObject& graph, const char* operation);

}  // namespace weir::python
