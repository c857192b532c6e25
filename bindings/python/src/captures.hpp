// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// The Python objects of captures and graphs: the exceptions of their functions, and the buffers that they use.
namespace weir::python {

/// The Python objects that a capture collects for its graph. The core's record of the capture owns this, and drops it if the
/// capture is dropped.
struct Captured {
  std::mutex mutex{};                            // guards the members below; never held while Python is called
  std::shared_ptr<HostFunctionErrors> thrown{};  // exceptions of Python functions; null if there are no such functions
  PyObject* kept = nullptr;  // a dict, by address, of the buffers and arrays that the graph uses; or null
  bool is_portable = false;
  std::map<std::string, std::shared_ptr<PythonCall>> names{};  // names of functions in the file of a portable graph

  Captured() = default;
  ~Captured();
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
};

/// Returns the object for the capture of `stream`, or null if Weir has not begun a capture on it. The first call creates the
/// object, or uses `known` if given. Call it without the GIL.
std::shared_ptr<Captured> captured_of(const Stream& stream, std::shared_ptr<Captured> known = {});

/// The slow path of `use`, for a stream that may be in a capture.
void keep_in_graph(Stream& stream, std::span<PyObject* const> objects);
/// Call this when work on `stream` uses these objects. If the work is captured, the graph keeps the objects alive, except
/// memory that the graph allocates itself. Call it with the GIL held.
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

/// Returns the object that stores the exceptions of Python functions in the capture of `stream`. The graph owns it when the
/// capture ends.
std::shared_ptr<HostFunctionErrors> thrown_of_capture(const Stream& stream);

/// Whether `stream` is in a portable capture. Without the GIL.
bool is_portable(const Stream& stream);
/// Records the name of a function in a portable capture. The graph's file refers to the function by this name. Throws
/// ValueError if another call has the name. Call it with the GIL held.
void record_name(const Stream& stream, const std::string& name, const std::shared_ptr<PythonCall>& call);

struct GraphObject {
  GraphPtr graph;
  std::shared_ptr<HostFunctionErrors> thrown;  // exceptions of Python functions; null if there are no such functions
  nb::object kept;                             // a dict, by address, of the buffers and arrays that the graph uses; or null
  nb::object changed{};                        // a dict, by node, of the objects that nodes use since `apply`; or null
  GraphExecPtr executable{};                   // the first launch creates it
  GraphExecPtr given_to{};                     // another graph's, which has taken over the Python functions by `update`
  /// Guards the pointers, which `update` swaps. OwnedReference locks it only to copy them.
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();

  ~GraphObject();
  GraphObject(GraphPtr made, std::shared_ptr<HostFunctionErrors> of_functions, nb::object used)
      : graph(std::move(made)), thrown(std::move(of_functions)), kept(std::move(used)) {}
  /// Takes over the objects that the ended capture has collected; null if there are none.
  GraphObject(GraphPtr made, const std::shared_ptr<Captured>& captured);
  GraphObject(GraphObject&&) = default;
  GraphObject& operator=(GraphObject&&) = delete;
};

/// Returns the current graph.
GraphPtr graph_of(const GraphObject& graph);
/// Returns the executable; the first call creates it. Throws `invalid_argument` if another graph has taken over the Python
/// functions.
GraphExecPtr executable_of(GraphObject& graph, const char* operation);

}  // namespace weir::python
