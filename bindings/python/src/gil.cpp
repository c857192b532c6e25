// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/gil.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bindings/python/src/host_function_gate.hpp"
#include "bindings/python/src/host_thread.hpp"

namespace weir::python {
namespace {

std::atomic<bool> forked{false};
std::atomic<bool> finalizing{false};
std::atomic<int> taking{0};  // number of threads that are about to take the GIL
std::atomic<std::thread::id> last_thread{};

/// Constructed by a thread that is about to take the GIL. During interpreter shutdown the constructor blocks forever, except
/// on the thread that runs atexit functions.
class Taking {
 public:
  Taking() noexcept {
    ++taking;
    if (!finalizing || last_thread.load() == std::this_thread::get_id()) return;
    --taking;
    for (;;) pause();
  }
  ~Taking() { --taking; }
};

// Called by atexit with the GIL held. Threads that are already about to take the GIL still get it. All later ones block
// forever.
void finalize() {
  last_thread = std::this_thread::get_id();
  finalizing = true;
  if (!forked) {
    without_gil([] {
      function_thread().stop();
      completion_thread().stop();
    });
    report_left();
  }
  while (taking != 0) without_gil([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
}

void set_forked() {
  forked = function_thread().is_started() || completion_thread().is_started();
  taking = 0;
}

}  // namespace

bool is_forked() noexcept { return forked; }
bool is_finalizing() noexcept { return finalizing; }

void leave_child(PyObject* callable, PyObject* result) noexcept {
  if (!forked) return;
  if (result == nullptr) PyErr_WriteUnraisable(callable);
  ::_exit(result == nullptr ? 1 : 0);
}

// Reads the Python call stack, which tools show.
Caller::Caller() {
  constexpr std::size_t most = 16;
  std::vector<int> lines;
  // Reads it through attributes, which are stable across Python versions.
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  for (; frame.is_valid() && !frame.is_none() && lines.size() < most; frame = frame.attr("f_back")) {
    const nb::object code = frame.attr("f_code");
    texts_.push_back(nb::cast<nb::str>(code.attr("co_qualname")).c_str());
    texts_.push_back(nb::cast<nb::str>(code.attr("co_filename")).c_str());
    const nb::object line = frame.attr("f_lineno");
    lines.push_back(line.is_none() ? 0 : nb::cast<int>(line));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) frames_.push_back({texts_[2 * i], texts_[2 * i + 1], lines[i]});
  scope_.emplace(frames_);
}

WithoutGil::~WithoutGil() { take_gil(state_); }

Releasing::Releasing() {
  if (is_host_thread()) scope_.emplace();
}

WithGil::WithGil() {
  const Taking here;
  state_ = PyGILState_Ensure();
}

void take_gil(PyThreadState* state) {
  const Taking here;
  PyEval_RestoreThread(state);
}

PyThreadState* attach_thread() {
  const Taking here;
  PyGILState_Ensure();
  return PyThreadState_Get();
}

void bind_gil(nb::module_& module) {
  static decltype(nb::detail::internals) of_main = nullptr;
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    nb::detail::internals = of_main;  // nanobind has replaced it by this interpreter's data
    PyErr_SetString(
        PyExc_ImportError,
        "weir works in the main interpreter only: its streams call Python functions on a thread that belongs to one "
        "interpreter; use processes, started by multiprocessing's method 'spawn'");
    throw nb::python_error();
  }
  of_main = nb::detail::internals;
  // At exit, threads, open captures and functions that were not called may still own objects, which is no defect.
  nb::set_leak_warnings(false);
  pthread_atfork(nullptr, nullptr, set_forked);
  module.def("_finalize", &finalize);
  nb::module_::import_("atexit").attr("register")(module.attr("_finalize"));
}

}  // namespace weir::python
