// SPDX-License-Identifier: Apache-2.0
#include "python/src/completions.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "python/src/common.hpp"
#include "weir/error.hpp"

namespace weir::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

class Completions {
 public:
  void add(EventPtr event, std::shared_ptr<Completion> completion) {
    const std::lock_guard lock(mutex_);
    if (!started_) {
      std::thread([this] { poll(); }).detach();
      started_ = true;
    }
    added_.push_back({std::move(event), std::move(completion)});
    wake_.notify_one();
  }

 private:
  struct Entry {
    EventPtr event;
    std::shared_ptr<Completion> completion;
  };

  static bool is_over(const Entry& entry) {
    try {
      return entry.event->is_complete();
    } catch (const Error& error) {
      if (error.errc() == Errc::capture_unsupported) return false;  // an open capture forbids to ask
      entry.completion->fail(error);
      return true;
    }
  }

  void poll() {
    std::vector<Entry> entries;
    auto since = Clock::now();  // of the newest
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        const auto is_new = [this] { return !added_.empty(); };
        if (entries.empty()) wake_.wait(lock, is_new);
        // It is noticed late by a small part of the time for which it was awaited.
        else
          wake_.wait_for(
              lock, std::clamp<Clock::duration>((Clock::now() - since) / 16, microseconds(10), microseconds(1000)), is_new);
        if (is_new()) since = Clock::now();
        std::move(added_.begin(), added_.end(), std::back_inserter(entries));
        added_.clear();
      }
      std::erase_if(entries, [](Entry& entry) {
        if (!is_over(entry)) return false;
        post(std::move(entry.completion));
        return true;
      });
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> added_;
  bool started_ = false;
};

}  // namespace

void when_complete(EventPtr event, std::shared_ptr<Completion> completion) {
  static Completions* const completions = new Completions;  // never destroyed: its thread goes on
  completions->add(std::move(event), std::move(completion));
}

}  // namespace weir::python
