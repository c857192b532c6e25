// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "bindings/python/src/objects.hpp"

// The current stream of each device: a context variable, so each thread and each asyncio task has its own. Its value is a
// linked list of pairs (stream, rest), innermost `with` first; None is the empty list.
namespace weir::python {
namespace {

PyObject* variable = nullptr;  // exists as long as the interpreter

nb::object innermost() { return nb::handle(variable).attr("get")(); }

void enter(nb::handle stream) { nb::handle(variable).attr("set")(nb::make_tuple(stream, innermost())); }

/// Returns the list without the innermost entry of `stream`.
nb::object without(const nb::object& list, nb::handle stream) {
  std::vector<nb::object> inner;  // a loop, not a recursion: the list may be very long if a program never leaves a `with`
  nb::object rest = list;
  for (; !rest.is_none() && !rest[0].is(stream); rest = rest[1]) inner.emplace_back(rest[0]);
  if (rest.is_none()) return list;
  for (rest = rest[1]; !inner.empty(); inner.pop_back()) rest = nb::make_tuple(inner.back(), rest);
  return rest;
}

void leave(nb::handle stream) { nb::handle(variable).attr("set")(without(innermost(), stream)); }

}  // namespace

StreamPtr current_stream_of(Device& device) {
  for (nb::object list = innermost(); !list.is_none(); list = list[1]) {
    const nb::object object = list[0];
    const StreamPtr& stream = nb::cast<const StreamObject&>(object).stream;
    if (stream->device() == device) return stream;
  }
  return device.default_stream();
}

void bind_current_stream(nb::module_& module) {
  variable = nb::module_::import_("contextvars")
                 .attr("ContextVar")("weir.current_stream", nb::arg("default") = nb::none())
                 .release()
                 .ptr();
  auto stream = bound<StreamObject>();
  stream.def(
      "__enter__",
      [](nb::object self) {
        enter(self);
        return self;
      },
      nb::sig("def __enter__(self) -> Stream"), "Makes this the current stream of its device.");
  stream.def(
      "__exit__", [](nb::object self, nb::args) { leave(self); }, nb::sig("def __exit__(self, *args: object) -> None"),
      "Restores the previous current stream.");
  module.def(
      "get_current_stream", [](nb::handle device) { return StreamObject{current_stream_of(device_of(device))}; },
      nb::arg("device") = nb::none(), nb::sig("def get_current_stream(device: _Device = None) -> Stream"),
      "The current stream of ``device``: that of the innermost ``with stream:``, or the device's default stream.");
}

}  // namespace weir::python
