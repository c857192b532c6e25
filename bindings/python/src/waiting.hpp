// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "bindings/python/src/gil.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"

/// Waits for streams, devices and events such that Ctrl-C and other signals interrupt the wait.
namespace weir::python {

/// Throws `called_from_host_function` on the host-function thread, because streams wait for that thread.
void check_may_wait(const char* operation);

/// Raises the exception of one of the stream's Python functions, if there is one.
void raise_thrown(const Stream& stream);

/// The pauses of a polling thread: very short at first, later 1/64 of the time waited so far, at most a millisecond.
class Pauses {
 public:
  Pauses() = default;
  ~Pauses();
  Pauses(const Pauses&) = delete;
  Pauses& operator=(const Pauses&) = delete;

  std::chrono::nanoseconds waited() const noexcept { return std::chrono::steady_clock::now() - begin_; }
  void pause() noexcept;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int former_slack_ = 0;  // the thread's timer slack before it was changed, or 0
};

/// Whether signals such as Ctrl-C interrupt waits on this thread: only on the main thread, where Python handles signals. Not
/// with tools, because they would see each poll; then a wait is one call, as in C++.
bool waits_with_signals() noexcept;

using Seconds = std::chrono::duration<double>;

/// Polls `is_done` without the GIL. Returns false when `timeout` has passed. Raises the exception of a signal handler; the
/// work continues.
template <class Ask>
bool ask_with_signals(Ask&& is_done, Seconds timeout) {
  constexpr std::chrono::milliseconds between_looks{50};
  Pauses pauses;
  for (auto look = between_looks;; look += between_looks) {
    const bool is_over = without_gil([&] {
      for (;; pauses.pause()) {
        if (is_done()) return true;
        if (pauses.waited() >= std::min<Seconds>(look, timeout)) return false;
      }
    });
    if (is_over || pauses.waited() >= timeout) return is_over;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

/// Wait in the same way for a stream, a device or an event. Polling with `synchronize_for` may never end while other threads
/// submit work, and may enqueue a record each time. So the wait for a stream polls one event, and for a device a helper
/// thread waits.
bool wait_with_signals(Stream& stream, Seconds timeout);
bool wait_with_signals(Device& device, Seconds timeout);
inline bool wait_with_signals(const Event& event, Seconds timeout) {
  return ask_with_signals([&] { return event.synchronize_for(std::chrono::nanoseconds{0}); }, timeout);
}

/// Waits without the GIL. After `timeout` seconds, raises TimeoutError with the text of `late`.
template <class Waitable, class Late>
void wait_for(Waitable& object, std::optional<double> timeout, Late&& late) {
  check_may_wait("sync");
  if (timeout && std::isnan(*timeout)) throw nb::value_error("timeout: NaN is not a time");
  const Seconds longest(timeout.value_or(std::numeric_limits<double>::infinity()));
  if (waits_with_signals() ? wait_with_signals(object, longest) : without_gil([&] {
        if (timeout) return object.synchronize_for(longest);
        object.synchronize();
        return true;
      }))
    return;
  PyErr_SetString(PyExc_TimeoutError, std::string(late()).c_str());
  throw nb::python_error();
}

}  // namespace weir::python
