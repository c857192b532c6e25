// SPDX-License-Identifier: Apache-2.0
#include "python/src/waiting.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

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
  if (former_slack_ == 0) {  // Linux lets each pause be 50 us longer otherwise
    former_slack_ = std::max(prctl(PR_GET_TIMERSLACK), 1);
    prctl(PR_SET_TIMERSLACK, 1);
  }
  std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(so_far / 64, 1ms));
}

bool waits_with_signals() noexcept {
  thread_local const bool is_main = gettid() == getpid();
  return is_main && !detail::tools_look();
}

}  // namespace weir::python
