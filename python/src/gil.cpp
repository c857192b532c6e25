// SPDX-License-Identifier: Apache-2.0
#include "python/src/gil.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace weir::python {
namespace {

std::atomic<bool> finalizing{false};
std::atomic<int> taking{0};  // threads that are about to take the lock
std::atomic<std::thread::id> last_thread{};

[[noreturn]] void sleep_forever() {
  for (;;) pause();
}

// Called by atexit, with the lock: threads that are about to take the lock get it, and no other will want it.
void finalize() {
  last_thread = std::this_thread::get_id();
  finalizing = true;
  while (taking != 0) {
    PyThreadState* const state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
  }
}

}  // namespace

bool is_finalizing() noexcept { return finalizing; }

WithoutGil::~WithoutGil() {
  ++taking;
  if (finalizing && last_thread.load() != std::this_thread::get_id()) {
    --taking;
    sleep_forever();
  }
  PyEval_RestoreThread(state_);
  --taking;
}

void bind_gil(nb::module_& module) {
  module.def("_finalize", &finalize);
  nb::module_::import_("atexit").attr("register")(module.attr("_finalize"));
}

}  // namespace weir::python
