// SPDX-License-Identifier: Apache-2.0
#include "core/reclaimer.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <new>
#include <utility>

#include "core/no_destructor.hpp"
#include "weir/plugin/support.hpp"

namespace weir {

using namespace std::chrono_literals;

Reclaimer& Reclaimer::instance() noexcept {
  static detail::NoDestructor<Reclaimer> reclaimer;
  return *reclaimer;
}

Reclaimer& Reclaimer::of_modules() noexcept {
  static detail::NoDestructor<Reclaimer> reclaimer;
  return *reclaimer;
}

void Reclaimer::dispose(RefCounted* object) noexcept {
  const std::lock_guard lock(mutex_);
  object->next_reclaimed_ = nullptr;
  *end_ = object;
  end_ = &object->next_reclaimed_;
  (void)start();
}

bool Reclaimer::retry(UniqueFunction<bool()>&& try_to_end) noexcept {
  auto* const kept = new (std::nothrow) Retry(std::move(try_to_end));  // leaks where it cannot be tried
  if (kept == nullptr) return false;
  const std::lock_guard lock(mutex_);
  if (!start()) return false;
  try {
    retries_.push_back(std::move(*kept));
  } catch (const std::bad_alloc&) {
    return false;
  }
  delete kept;
  return true;
}

/// The caller holds the lock. False, with a line in the log, if there is no thread.
bool Reclaimer::start() {
  if (thread_ == nullptr) {
    try {
      process_ = ::getpid();
      const support::SignalsBlocked no_signals;
      thread_ = std::make_unique<std::thread>([this] { thread_main(); });
    } catch (const std::exception& e) {
      support::log(support::LogLevel::error, "what cannot end yet is leaked, for lack of a thread: ", e.what());
      return false;
    }
    // Handlers run in the reverse order of their registration, and the driver's was registered when it was opened.
    std::atexit(this == &instance() ? [] { instance().stop(); } : [] { of_modules().stop(); });
  }
  changed_.notify_one();
  return true;
}

void Reclaimer::thread_main() noexcept {
  constexpr auto shortest = 100us, longest = std::chrono::microseconds(5ms);
  auto nap = shortest;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (RefCounted* const object = first_) {
      first_ = object->next_reclaimed_;
      if (first_ == nullptr) end_ = &first_;
      lock.unlock();
      object->dispose();
      lock.lock();
      continue;
    }
    if (retries_.empty()) {
      changed_.wait(lock, [this] { return stopping_ || first_ != nullptr || !retries_.empty(); });
      nap = shortest;
      continue;
    }
    std::vector<Retry> round = std::exchange(retries_, {});
    lock.unlock();
    const std::size_t before = round.size();
    std::erase_if(round, [](Retry& try_to_end) { return try_to_end(); });
    nap = round.size() < before ? shortest : std::min(nap * 2, longest);
    lock.lock();
    round.insert(round.end(), std::make_move_iterator(retries_.begin()), std::make_move_iterator(retries_.end()));
    retries_.swap(round);
    if (!retries_.empty()) changed_.wait_for(lock, nap, [this] { return stopping_ || first_ != nullptr; });
  }
  has_stopped_ = true;
  changed_.notify_all();
}

void Reclaimer::stop() {
  if (process_ != ::getpid()) return;  // a forked child has no such thread
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  // A driver may wait for work that never ends.
  if (!changed_.wait_for(lock, 2s, [this] { return has_stopped_; })) {
    thread_->detach();
    return;
  }
  lock.unlock();
  thread_->join();
}

bool support::reclaim(UniqueFunction<bool()>&& try_to_end) noexcept {
  return Reclaimer::instance().retry(std::move(try_to_end));
}

bool support::reclaim_module(UniqueFunction<bool()>&& try_to_end) noexcept {
  return Reclaimer::of_modules().retry(std::move(try_to_end));
}

}  // namespace weir
