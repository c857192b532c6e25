// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/gil.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bindings/python/src/host_thread.hpp"
#include "bindings/python/src/host_function_errors.hpp"

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
  stop_host_thread();
  if (!forked) report_left();
  while (taking != 0) without_gil([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
}

void set_forked() {
  forked = has_host_thread();
  taking = 0;
}

}  // namespace

bool is_forked() noexcept { return forked; }
bool is_finalizing() noexcept { return finalizing; }

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
