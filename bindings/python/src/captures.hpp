// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/src/gate.hpp"
#include "weir/device.hpp"

/// Captures, the exceptions of their Python functions, and the buffers that their graphs use.
namespace weir::python {

/// Each backend numbers its own captures.
using CaptureKey = std::pair<const Backend*, std::uint64_t>;
/// The capture that `stream` is in.
CaptureKey capture_of(const Stream& stream);

/// What a capture collects for its graph.
struct Captured {
  std::shared_ptr<Thrown> thrown{};  // null without Python functions
  nb::object kept{};  // the buffers and arrays that the graph uses, by address; null if Python did not begin it
  const Stream* origin = nullptr;    // where Python began it
};
/// Called when a capture has begun on `origin`: its graph keeps what is used from now on. This and the following functions
/// need the GIL.
void begin_captured(const CaptureKey& capture, const Stream& origin);
/// Called when the capture has ended or is dropped.
Captured take_captured(const CaptureKey& capture);
/// Called when the stream is closed or destroyed: drops the capture that Python began on it, if that is open. Null: those of
/// all streams.
void drop_captured(const Stream* origin);
/// How many captures are known. `use` has nothing to do while it is 0.
inline std::atomic<std::size_t> open_captures{0};
/// For `use`.
void keep_in_graph(Stream& stream, std::span<PyObject* const> objects);
/// Call when work on `stream` uses these objects: if it is captured, the graph keeps them, except memory that it allocates
/// itself.
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

/// The body of a conditional node is a capture of its own, but belongs to the graph of the outer one. With the GIL held.
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

/// Where Python functions in the capture of `stream` store their exceptions; the graph gets it when the capture ends.
std::shared_ptr<Thrown> thrown_of_capture(const Stream& stream);

/// Marks the capture that `stream` is in as portable.
void note_portable(const Stream& stream);
/// Whether there ever was a portable capture. Costs one load.
bool is_portable_ever() noexcept;
/// Whether `stream` is in a portable capture.
bool is_portable(const Stream& stream);
/// Records the name of a function in such a capture, by which a file refers to it. Throws ValueError if another call has
/// that name. With the GIL held.
void note_name(const Stream& stream, const std::string& name, const std::shared_ptr<PythonCall>& call);
/// Called when the capture has ended.
void forget_portable(const CaptureKey& capture);

struct GraphObject {
  GraphPtr graph;
  std::shared_ptr<Thrown> thrown;  // null without Python functions
  nb::object kept;                 // the buffers and arrays that it uses: a dict by address, or null
  nb::object changed{};            // what nodes use since `apply`: a dict by node, or null
  GraphExecPtr executable{};       // made by the first launch
  GraphExecPtr given_to{};         // another graph's, which took this one's Python functions by `update`
  /// Guards the pointers, which `update` swaps. Held only to copy them.
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();

  ~GraphObject();
  GraphObject(GraphPtr made, Captured captured)
      : graph(std::move(made)), thrown(std::move(captured.thrown)), kept(std::move(captured.kept)) {}
  GraphObject(GraphObject&&) = default;
  GraphObject& operator=(GraphObject&&) = delete;
};

/// The current graph.
GraphPtr graph_of(const GraphObject& graph);
/// Made by the first call. Throws `invalid_argument` if the graph has given its Python functions to another one.
GraphExecPtr executable_of(GraphObject& graph, const char* operation);

}  // namespace weir::python
