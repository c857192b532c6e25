// SPDX-License-Identifier: Apache-2.0
#include "weir/await.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

#include "core/base/background_thread.hpp"
#include "core/base/no_destructor.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

// `when_done`: a thread that polls events and calls functions when they are complete.
namespace weir {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// For this long after work was completed or added, the thread polls without pauses. A query of a driver takes about a
// microsecond.
constexpr Clock::duration eager = 200us;

/// The pause between two polls. It is 1/256 of the time waited so far, so that completion is detected with a small relative
/// delay. Timers of Linux add about 4 us.
Clock::duration pause_after(Clock::duration waited) { return std::clamp<Clock::duration>(waited / 256, 2us, 500us); }

/// Throws `captured_event` if the event was last recorded in a capture, because it then never completes by itself.
void throw_captured_event(const Event& event) {
  if (detail::impl(event).is_captured()) (void)event.is_complete();  // throws the error
}

struct Awaited {
  Ptr<Event> event;
  StreamPtr stream;  // the stream whose work is awaited; null if the program waits for an event
  UniqueFunction<void(std::exception_ptr)> function;

  /// Whether the event is complete. Sets `error` if the work failed.
  bool is_over(std::exception_ptr& error) const {
    try {
      throw_captured_event(*event);
      if (!detail::impl(std::as_const(*event)).do_look()) return false;  // a query that invalidates no capture
      tell_tools();
      if (stream) error = detail::impl(*stream).do_take_host_error();
    } catch (...) {
      error = std::current_exception();
    }
    return true;
  }

 private:
  /// Reports to tools that a query has found the event complete. Tools cannot refuse this operation.
  void tell_tools() const {
    detail::perform_always(event->device(), OperationKind::query, "when_done",
                           [this](ToolNotice& notice) {
                             notice->event = event.get();
                             notice->is_complete = true;
                           },
                           [] {});
  }
};

/// The polling thread and its list of awaited work. The thread starts when work is first added, and stops at exit, before
/// drivers shut down.
class Completions {
 public:
  static Completions& instance() noexcept {
    static detail::NoDestructor<Completions> completions;
    return *completions;
  }

  void add(Awaited&& awaited) {
    const std::lock_guard lock(thread_.mutex);
    if (thread_.is_stopping) return;
    if (thread_.start([this] { run(); })) std::atexit([] { instance().thread_.stop(); });
    added_.push_back(std::move(awaited));
    thread_.changed.notify_one();
  }

 private:
  void run() noexcept {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    std::vector<Awaited> open;
    Clock::time_point since{};  // when work was last completed or added
    for (;;) {
      {
        std::unique_lock lock(thread_.mutex);
        const auto is_called = [this] { return thread_.is_stopping || !added_.empty(); };
        if (const auto waited = Clock::now() - since; open.empty()) {
          thread_.changed.wait(lock, is_called);
        } else if (waited > eager) {
          thread_.changed.wait_for(lock, pause_after(waited), is_called);
        }
        if (!added_.empty()) since = Clock::now();
        std::move(added_.begin(), added_.end(), std::back_inserter(open));
        added_.clear();
        if (thread_.is_stopping) break;
      }
      if (call_those_that_are_over(open)) since = Clock::now();
    }
    open.clear();  // now, because destroying events calls the driver, which still works
  }

  /// Calls the functions of all completed work and removes it from `open`. Returns whether any work was complete.
  static bool call_those_that_are_over(std::vector<Awaited>& open) noexcept {
    bool any = false;
    for (std::size_t i = 0; i < open.size();) {
      std::exception_ptr error;
      if (!open[i].is_over(error)) {
        ++i;
        continue;
      }
      any = true;
      Awaited over = std::move(open[i]);
      if (i + 1 != open.size()) open[i] = std::move(open.back());
      open.pop_back();
      try {
        over.function(std::move(error));
      } catch (const std::exception& e) {
        support::log(support::LogLevel::error, "a function passed to when_done threw: ", e.what());
      } catch (...) {
        support::log(support::LogLevel::error, "a function that was called when work was done threw");
      }
    }
    return any;
  }

  detail::BackgroundThread thread_;
  std::vector<Awaited> added_;  // guarded by the thread's mutex
};

void check_function(const UniqueFunction<void(std::exception_ptr)>& function) {
  if (!function) throw Error(Errc::invalid_argument, "when_done", "", "the function is empty");
}

}  // namespace

void when_done(StreamRef awaited, UniqueFunction<void(std::exception_ptr)> function) {
  if (!awaited) throw Error(Errc::invalid_argument, "when_done", "", "the stream is null");
  check_function(function);
  Stream& stream = *awaited;
  StreamCall(stream, "when_done").check_host_wait();
  Completions::instance().add({stream.record(), StreamPtr(&stream), std::move(function)});
}

void when_done(Ref<Event> event, UniqueFunction<void(std::exception_ptr)> function) {
  if (!event) throw Error(Errc::invalid_argument, "when_done", "", "the event is null");
  check_function(function);
  const Call call(*event, "when_done");
  throw_captured_event(*event);
  Completions::instance().add({Ptr<Event>(event.get()), nullptr, std::move(function)});
}

}  // namespace weir
