// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/waiting.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <thread>

#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

namespace weir::python {

Pauses::~Pauses() {
  if (former_slack_ != 0) prctl(PR_SET_TIMERSLACK, former_slack_);
}

void Pauses::pause() noexcept {
  using namespace std::chrono_literals;
  const auto so_far = waited();
  if (so_far < 2us) return;
  if (so_far < 200us) {
    std::this_thread::yield();
    return;
  }
  if (former_slack_ == 0) {  // otherwise Linux may make each pause 50 us longer
    former_slack_ = std::max(prctl(PR_GET_TIMERSLACK), 1);
    prctl(PR_SET_TIMERSLACK, 1);
  }
  std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(so_far / 64, 1ms));
}

bool waits_with_signals() noexcept {
  thread_local const bool is_main = gettid() == getpid();
  return is_main && !detail::tools_look();
}

bool wait_with_signals(Stream& stream, Seconds timeout) {
  EventPtr done;  // the end of the work submitted so far, because other threads may submit more all the time
  const auto is_done = [&] {
    if (done) return done->is_complete();
    if (stream.synchronize_for(std::chrono::nanoseconds{0})) return true;
    done = stream.record();
    return false;
  };
  if (!ask_with_signals(is_done, timeout)) return false;
  // Raises the error of failed work.
  if (done) without_gil([&] { (void)stream.synchronize_for(std::chrono::nanoseconds{0}); });
  return true;
}

bool wait_with_signals(Device& device, Seconds timeout) {
  if (without_gil([&] { return device.synchronize_for(std::chrono::nanoseconds{0}); })) return true;
  // A helper thread waits. It continues to wait if this thread is interrupted.
  std::packaged_task<bool()> wait([timeout, &device] {
    return timeout.count() < std::numeric_limits<double>::infinity() ? device.synchronize_for(timeout)
                                                                     : (device.synchronize(), true);
  });
  std::future<bool> done = wait.get_future();
  {
    const support::SignalsBlocked blocked;  // signals must reach the program's own threads, where Python handles them
    std::thread(std::move(wait)).detach();
  }
  const auto is_over = [&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
  return ask_with_signals(is_over, timeout) && done.get();
}

}  // namespace weir::python
