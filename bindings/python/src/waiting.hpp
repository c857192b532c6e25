// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "bindings/python/src/gil.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"

/// How a thread waits for streams and events.
namespace weir::python {

/// Throws `called_from_host_function` on the host-function thread: the stream waits for that thread.
void check_may_wait(const char* operation);

/// Raises the exception of a Python function of the stream, if there is one.
void raise_thrown(const Stream& stream);

/// The pauses of a polling thread: hardly any at first, later 1/64 of the time waited so far, at most a millisecond.
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
  int former_slack_ = 0;  // the thread's former timer slack, once it was changed
};

/// Whether Ctrl-C ends this thread's waits: Python handles signals on the main thread. Tools would see every poll, so with
/// tools a wait is one call, as in C++.
bool waits_with_signals() noexcept;

using Seconds = std::chrono::duration<double>;

/// Polls `is_done` without the GIL. False if `timeout` has passed. Raises a signal handler's exception; the work continues.
template <class Ask>
bool ask_with_signals(Ask&& is_done, Seconds timeout) {
  enum class Answer { done, late, not_yet };
  constexpr std::chrono::milliseconds between_looks{50};
  Pauses pauses;
  for (auto look = between_looks;; look += between_looks) {
    const Answer answer = without_gil([&] {
      for (;; pauses.pause()) {
        if (is_done()) return Answer::done;
        if (pauses.waited() >= timeout) return Answer::late;
        if (pauses.waited() >= look) return Answer::not_yet;
      }
    });
    if (answer != Answer::not_yet) return answer == Answer::done;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

/// The same for a stream, a device or an event. Polls by `synchronize_for` might never end while other threads submit, and
/// may enqueue a record each time. So the wait for a stream polls one event, and a helper thread waits for a device.
bool wait_with_signals(Stream& stream, Seconds timeout);
bool wait_with_signals(Device& device, Seconds timeout);
inline bool wait_with_signals(const Event& event, Seconds timeout) {
  return ask_with_signals([&] { return event.synchronize_for(std::chrono::nanoseconds{0}); }, timeout);
}

/// Waits without the GIL. Raises TimeoutError, with the text of `late`, after `timeout` seconds.
template <class Waitable, class Late>
void wait_for(Waitable& object, std::optional<double> timeout, Late&& late) {
  check_may_wait("sync");
  if (timeout && std::isnan(*timeout)) throw nb::value_error("timeout: NaN is no time");
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
