// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/reclaimer.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/base/no_destructor.hpp"
#include "weir/plugin/support.hpp"

// Implements `Reclaimer`: the thread, and its end at process exit.
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

namespace {
std::atomic<pid_t> exiting_thread{0};  // the id of the thread that runs the exit handlers; 0 before
}  // namespace

// Exit handlers run in reverse order of registration, and a driver registers its handler when it is opened. So this handler
// must be registered after that.
void Reclaimer::stop_at_exit() noexcept {
  std::atexit([] {
    exiting_thread = ::gettid();
    instance().thread_.stop();
    of_modules().thread_.stop();
  });
}

void Reclaimer::dispose(RefCounted* object) noexcept {
  const std::lock_guard lock(thread_.mutex);
  object->next_reclaimed_ = nullptr;
  *end_ = object;
  end_ = &object->next_reclaimed_;
  (void)start();
}

bool Reclaimer::retry(UniqueFunction<bool()>&& try_to_end) noexcept {
  // Null: `try_to_end` is destroyed, so the object leaks.
  auto* const kept = new (std::nothrow) Retry{std::move(try_to_end)};
  if (kept == nullptr) return false;
  const std::lock_guard lock(thread_.mutex);
  if (!start()) return false;
  kept->next = std::exchange(retries_, kept);
  return true;
}

/// Starts or wakes the thread. The caller must hold the mutex. If the thread cannot be started, logs an error and returns
/// false.
bool Reclaimer::start() {
  try {
    if (thread_.start([this] { run(); })) stop_at_exit();
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error,
                 "objects that cannot be destroyed yet are leaked, because no thread could be started: ", e.what());
    return false;
  }
  thread_.changed.notify_one();
  return true;
}

void Reclaimer::run() noexcept {
  constexpr auto shortest = 100us, longest = std::chrono::microseconds(5ms);
  auto nap = shortest;
  std::unique_lock lock(thread_.mutex);
  while (!thread_.is_stopping) {
    if (RefCounted* const object = first_) {
      first_ = object->next_reclaimed_;
      if (first_ == nullptr) end_ = &first_;
      lock.unlock();
      object->dispose();
      lock.lock();
      continue;
    }
    if (retries_ == nullptr) {
      thread_.changed.wait(lock, [this] { return thread_.is_stopping || first_ != nullptr || retries_ != nullptr; });
      nap = shortest;
      continue;
    }
    Retry* round = std::exchange(retries_, nullptr);
    lock.unlock();
    nap = std::min(nap * 2, longest);
    Retry** last = &round;
    while (Retry* const retry = *last) {
      if (retry->try_to_end()) {
        *last = retry->next;
        delete retry;
        nap = shortest;
      } else {
        last = &retry->next;
      }
    }
    lock.lock();
    *last = retries_;
    retries_ = round;
    if (retries_ != nullptr)
      thread_.changed.wait_for(lock, nap, [this] { return thread_.is_stopping || first_ != nullptr; });
  }
}

void support::wait_for_exit() noexcept {
  const pid_t exiting = exiting_thread;
  if (exiting != 0 && exiting != ::gettid()) std::this_thread::sleep_for(2s);
}

bool support::reclaim(UniqueFunction<bool()>&& try_to_end) noexcept {
  return Reclaimer::instance().retry(std::move(try_to_end));
}

bool support::reclaim_module(UniqueFunction<bool()>&& try_to_end) noexcept {
  return Reclaimer::of_modules().retry(std::move(try_to_end));
}

}  // namespace weir
