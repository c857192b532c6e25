// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <utility>

#include "bindings/python/src/captures.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/host_function_gate.hpp"
#include "bindings/python/src/objects.hpp"
#include "bindings/python/src/waiting.hpp"
#include "weir/await.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"
#include "weir/stream.hpp"

// Implements calls of Python functions by streams.
namespace weir::python {
namespace {

/// Returns the given name, or else the `__qualname__` of the function or of its type.
std::string name_of(nb::handle function, nb::handle given) {
  if (!given.is_none()) return nb::cast<std::string>(given);
  const nb::object own = nb::getattr(function, "__qualname__", nb::none());
  return nb::cast<std::string>(nb::isinstance<nb::str>(own) ? own : nb::getattr(function.type(), "__qualname__"));
}

void launch_host_func(StreamObject& self, nb::callable function, nb::args args, nb::handle name) {
  function_thread().start("Stream.launch_host_func");
  const std::string label = name_of(function, name);
  const auto call = std::make_shared<PythonCall>(function, args);
  const bool portable = support::any_captures() && without_gil([&] { return is_portable(*self.stream); });
  if (portable) record_name(*self.stream, label, call);
  const auto enqueue = [&] {
    if (self.stream->is_closed()) {
      throw Error(Errc::stream_closed, "Stream.launch_host_func", self.stream->describe(),
                  "the stream was closed; create another stream");
    }
    if (self.stream->is_capturing())
      return capture_call(*self.stream, call, label, thrown_of_capture(*self.stream), portable), true;
    const bool enqueued = self.gate->enqueue(call, label);
    function_thread().let_function_end();
    return enqueued;
  };
  self.gate->claim(self);
  while (!without_gil(enqueue)) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

/// Calls `callback(stream, error, argument)`.
class Callback final : public Task {
 public:
  Callback(nb::handle callback, nb::handle stream, nb::handle argument)
      : parts_(nb::make_tuple(callback, stream, argument).release().ptr()) {}
  ~Callback() override { drop_later(parts_); }

  /// Stores the error of the work.
  void fail(std::exception_ptr failure) { failure_ = std::move(failure); }
  void run() override {
    PyObject* const callback = PyTuple_GetItem(parts_, 0);
    PyObject* const error = failure_ ? new_exception(failure_) : Py_NewRef(Py_None);
    PyObject* const result =
        PyObject_CallFunctionObjArgs(callback, PyTuple_GetItem(parts_, 1), error, PyTuple_GetItem(parts_, 2), nullptr);
    leave_child(callback, result);
    if (result == nullptr) PyErr_WriteUnraisable(callback);
    Py_XDECREF(result);
    Py_DECREF(error);
    Py_CLEAR(parts_);
  }
  void abandon() noexcept override {}  // nothing waits for it

 private:
  PyObject* parts_;  // the callback, the stream, the argument
  std::exception_ptr failure_;
};

/// Runs `callback` soon after `event` is complete. Blocks neither streams nor driver threads.
void when_complete(const EventPtr& event, std::shared_ptr<Callback> callback) {
  when_done(event, [callback = std::move(callback)](std::exception_ptr failure) mutable {
    callback->fail(std::move(failure));
    completion_thread().post(std::move(callback));
  });
}

Error error_of(std::error_code status) {
  const bool is_known = status.category() == error_category();
  return Error(is_known ? static_cast<Errc>(status.value()) : Errc::backend_failure, "Stream.add_callback", "",
               status.message());
}

void add_callback(nb::handle_t<StreamObject> self, nb::callable callback, nb::handle argument) {
  Stream& stream = *held_by<StreamObject>(self).stream;
  completion_thread().start("Stream.add_callback");
  auto task = std::make_shared<Callback>(callback, self, argument);
  without_gil([&] {
    if (!stream.device().supports(Feature::stream_callbacks)) return when_complete(stream.record(), std::move(task));
    stream.add_callback([task = std::move(task)](Stream&, std::error_code status) mutable {
      if (status) task->fail(std::make_exception_ptr(error_of(status)));
      completion_thread().post(std::move(task));
    });
  });
}

void call_when_complete(const EventObject& event, nb::callable callback) {
  completion_thread().start("Event.__await__");
  when_complete(event.ptr, std::make_shared<Callback>(callback, nb::none(), nb::none()));
}

}  // namespace

void check_may_wait(const char* operation) {
  if (!is_host_thread()) return;
  throw Error(
      Errc::called_from_host_function, operation, "",
      "a function that a stream calls waits for work, and all other such functions would wait behind it; wait on another "
      "thread");
}

void raise_thrown(const Stream& stream) {
  if (const auto gate = HostFunctionGate::find(stream)) gate->raise();
}

void bind_host_functions(nb::module_& module) {
  auto stream = bound<StreamObject>();
  stream.def(
      "launch_host_func", &launch_host_func, nb::lock_self(), nb::arg("function"), nb::arg("args"),
      nb::arg("name") = nb::none(),
      nb::sig("def launch_host_func(self, function: Callable[[Unpack[_Ts]], object], *args: Unpack[_Ts], "
              "name: str | None = None) -> None"),
      "Calls ``function(*args)`` in stream order; later work waits until it has returned. A thread of the package calls\n"
      "it, never a driver thread. The function may enqueue work but must not wait for work. If it raises, the stream's\n"
      "next ``sync`` raises the exception; later work still runs. In a capture, the function becomes part of the graph\n"
      "and runs at every launch.\n\n"
      "Blocks while 256 functions of the stream are pending (32 where a driver host function reports that the stream is\n"
      "ready), until Ctrl-C or ``close``.\n\n"
      "``name`` (default: the function's ``__qualname__``) is shown by tools and ``pending``, and identifies the\n"
      "function in a saved graph. In a capture with ``portable=True`` a name stands for one function; ``args`` are not\n"
      "saved.\n\n"
      "A thread that holds the GIL in a call that waits for this stream waits for ever: the function needs the GIL.\n"
      "Feature ``host_functions``.");
  stream.def(
      "add_callback", &add_callback, nb::arg("callback"), nb::arg("arg") = nb::none(),
      nb::sig("def add_callback(self, callback: Callable[[Stream, Error | None, Any], object], "
              "arg: Any = None) -> None"),
      "Calls ``callback(stream, error, arg)`` soon after all work enqueued so far is done; ``error`` is None, or the\n"
      "error if the stream has failed. No work waits for the callback, so a thread that holds the GIL delays only the\n"
      "callback. Exceptions go to ``sys.unraisablehook``. Cannot be captured.");
  module.def("_when_complete", &call_when_complete, nb::arg("event"), nb::arg("callback"));
  module.def(
      "_raise_thrown", [](const StreamObject& s) { raise_thrown(*s.stream); }, nb::arg("stream"));
  const auto await = [](nb::object self) {
    return nb::module_::import_("weir._aio").attr("wait")(self).attr("__await__")();
  };
  bound<EventObject>().def(
      "__await__", await, nb::sig("def __await__(self) -> Generator[Any, None, None]"),
      "Waits until the event is done; other tasks run meanwhile. Raises the device's error if the work failed.");
  stream.def("__await__", await, nb::sig("def __await__(self) -> Generator[Any, None, None]"),
             "Waits until all work enqueued so far is done; other tasks run meanwhile. Raises what ``sync`` raises.");
}

}  // namespace weir::python
