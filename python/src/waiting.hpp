// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "python/src/gil.hpp"

/// How a thread waits for streams and events.
namespace weir::python {

/// Throws `called_from_host_function` on the thread of host functions: the stream waits for that thread.
void check_may_wait(const char* operation);

/// Raises what a function of the stream in Python raised, if one did.
void raise_thrown(const Stream& stream);

/// The pauses of a thread that asks again and again whether work is done. None to speak of at first; later a 64th of the
/// time that it has waited, at most a millisecond.
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
  int former_slack_ = 0;  // of the thread's timers, once it was changed
};

/// Whether the wait of this thread is to be ended by Ctrl-C: Python handles signals on the main thread. Tools would be told
/// of each question, so with them a wait is one call, as C++ has it.
bool waits_with_signals() noexcept;

/// False once `timeout` has passed. Raises what the handler of a signal raises; the work goes on.
template <class Waitable>
bool wait_with_signals(Waitable& object, std::chrono::duration<double> timeout) {
  enum class Answer { done, late, not_yet };
  constexpr std::chrono::milliseconds between_looks{50};
  Pauses pauses;
  for (auto look = between_looks;; look += between_looks) {
    const Answer answer = without_gil([&] {
      for (;; pauses.pause()) {
        if (object.synchronize_for(std::chrono::nanoseconds{0})) return Answer::done;
        if (pauses.waited() >= timeout) return Answer::late;
        if (pauses.waited() >= look) return Answer::not_yet;
      }
    });
    if (answer != Answer::not_yet) return answer == Answer::done;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

/// Waits without the interpreter's lock. Raises TimeoutError, with the text of `late`, when `timeout` seconds have passed.
template <class Waitable, class Late>
void wait_for(Waitable& object, std::optional<double> timeout, Late&& late) {
  check_may_wait("sync");
  constexpr std::chrono::duration<double> forever{std::numeric_limits<double>::infinity()};
  const auto longest = timeout ? std::chrono::duration<double>(*timeout) : forever;
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
