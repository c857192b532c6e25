// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/retirement.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <new>
#include <utility>

#include "weir/backend_support.hpp"

namespace weir::gpu {

using namespace std::chrono_literals;

Retirement& Retirement::instance() {
  static auto* const retirement = new Retirement;
  return *retirement;
}

Retirement& Retirement::of_modules() {
  static auto* const retirement = new Retirement;
  return *retirement;
}

bool Retirement::retire(UniqueFunction<bool()>&& try_to_end) noexcept {
  auto* const kept = new (std::nothrow) Retired(std::move(try_to_end));
  if (kept == nullptr) return false;
  try {
    add(std::move(*kept));
    delete kept;
    return true;
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, "what cannot end yet is leaked: ", e.what());  // with `kept`
    return false;
  }
}

void Retirement::add(Retired&& retired) {
  const std::lock_guard lock(mutex_);
  retired_.reserve(retired_.size() + 1);
  if (!thread_) {
    process_ = ::getpid();
    const support::SignalsBlocked no_signals;
    thread_ = std::make_unique<std::thread>([this] { run(); });
    // Handlers run in the reverse order of their registration, and the driver's was registered when it was opened.
    std::atexit(this == &instance() ? [] { instance().stop(); } : [] { of_modules().stop(); });
  }
  retired_.push_back(std::move(retired));
  changed_.notify_one();
}

void Retirement::run() {
  constexpr auto shortest = 100us, longest = std::chrono::microseconds(5ms);
  auto nap = shortest;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (retired_.empty()) {
      changed_.wait(lock, [this] { return stopping_ || !retired_.empty(); });
      nap = shortest;
      continue;
    }
    std::vector<Retired> round = std::exchange(retired_, {});
    lock.unlock();
    const std::size_t before = round.size();
    std::erase_if(round, [](Retired& try_to_end) { return try_to_end(); });
    nap = round.size() < before ? shortest : std::min(nap * 2, longest);
    lock.lock();
    std::move(round.begin(), round.end(), std::back_inserter(retired_));
    if (!retired_.empty()) changed_.wait_for(lock, nap, [this] { return stopping_; });
  }
  has_stopped_ = true;
  changed_.notify_all();
}

void Retirement::stop() {
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

}  // namespace weir::gpu
