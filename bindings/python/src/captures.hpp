// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/src/host_function_gate.hpp"
#include "weir/device.hpp"
#include "weir/plugin/support.hpp"

/// Captures, the exceptions of their Python functions, and the buffers that their graphs use.
namespace weir::python {

/// What a capture collects for its graph. The core's record of the capture owns it, and drops it if the capture is dropped.
struct Captured {
  std::mutex mutex{};                // for the members below; never held while Python is called
  std::shared_ptr<HostFunctionErrors> thrown{};  // of Python functions; null without
  PyObject* kept = nullptr;          // a dict by address: the buffers and arrays that the graph uses; or null
  bool is_portable = false;
  std::map<std::string, std::shared_ptr<PythonCall>> names{};  // the names of functions in a portable graph's file

  Captured() noexcept { ++count; }
  ~Captured();
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  static inline std::atomic<std::size_t> count{0};  // number of live objects
};

/// Returns the object of the capture that `stream` is in; the first call makes it; `known`, if given, becomes it. Null if
/// the stream is in no capture that Weir began. Without the GIL.
std::shared_ptr<Captured> captured_of(const Stream& stream, std::shared_ptr<Captured> known = {});

/// The slow path of `use`.
void keep_in_graph(Stream& stream, std::span<PyObject* const> objects);
/// Call when work on `stream` uses these objects: if it is captured, the graph keeps them, except memory that it allocates
/// itself. With the GIL held.
inline void use(Stream& stream, std::span<PyObject* const> objects) {
  if (support::any_captures()) [[unlikely]]
    keep_in_graph(stream, objects);
}
inline void use(Stream& stream, std::initializer_list<nb::handle> objects) {
  if (!support::any_captures()) [[likely]]
    return;
  std::vector<PyObject*> all;
  for (const nb::handle object : objects) all.push_back(object.ptr());
  keep_in_graph(stream, all);
}

/// Where Python functions in the capture of `stream` store their exceptions; the graph gets it when the capture ends.
std::shared_ptr<HostFunctionErrors> thrown_of_capture(const Stream& stream);

/// Whether `stream` is in a portable capture. Without the GIL.
bool is_portable(const Stream& stream);
/// Records the name of a function in a portable capture; the graph's file refers to the function by it. Throws ValueError if
/// another call has that name. With the GIL held.
void record_name(const Stream& stream, const std::string& name, const std::shared_ptr<PythonCall>& call);

struct GraphObject {
  GraphPtr graph;
  std::shared_ptr<HostFunctionErrors> thrown;  // null without Python functions
  nb::object kept;                 // the buffers and arrays that it uses: a dict by address, or null
  nb::object changed{};            // what nodes use since `apply`: a dict by node, or null
  GraphExecPtr executable{};       // made by the first launch
  GraphExecPtr given_to{};         // another graph's, which took this one's Python functions by `update`
  /// Guards the pointers, which `update` swaps. OwnedReference only to copy them.
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();

  ~GraphObject();
  GraphObject(GraphPtr made, std::shared_ptr<HostFunctionErrors> of_functions, nb::object used)
      : graph(std::move(made)), thrown(std::move(of_functions)), kept(std::move(used)) {}
  /// Takes what its capture, which has ended, collected; null if nothing.
  GraphObject(GraphPtr made, const std::shared_ptr<Captured>& captured);
  GraphObject(GraphObject&&) = default;
  GraphObject& operator=(GraphObject&&) = delete;
};

/// The current graph.
GraphPtr graph_of(const GraphObject& graph);
/// Made by the first call. Throws `invalid_argument` if the graph has given its Python functions to another one.
GraphExecPtr executable_of(GraphObject& graph, const char* operation);

}  // namespace weir::python
