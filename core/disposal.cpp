// SPDX-License-Identifier: Apache-2.0
#include "core/disposal.hpp"

#include <thread>

#include "core/immortal.hpp"
#include "core/thread_state.hpp"
#include "weir/backend_support.hpp"
#include "weir/error.hpp"

namespace weir {
namespace detail {

constinit thread_local ThreadState thread_state;

std::uint64_t new_thread_token() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void check_barred(const char* operation) {
  if (forked()) {
    throw Error(Errc::forked_process, operation, "",
                "this process was forked from one that had opened Weir, and drivers do not survive a fork; open Weir in the "
                "child only, or start the child with exec");
  }
  if (!thread_state.in_host_function) return;
  throw Error(
      Errc::called_from_host_function, operation, "",
      "a host function or callback may not call Weir, since drivers deadlock on it; hand the work to another thread, "
      "or enqueue it behind the host function");
}

}  // namespace detail

namespace support {

HostFunctionScope::HostFunctionScope() noexcept : outer_(detail::thread_state.in_host_function) {
  detail::thread_state.in_host_function = true;
}
HostFunctionScope::~HostFunctionScope() { detail::thread_state.in_host_function = outer_; }

}  // namespace support

void RefCounted::last_release() const noexcept {
  // In a forked child the drivers are gone, and threads that no longer exist may hold locks: leak the object.
  if (detail::forked()) [[unlikely]] return;
  auto* const self = const_cast<RefCounted*>(this);
  if (detail::thread_state.in_host_function && disposal() == Disposal::driver) {
    DisposalQueue::instance().add(self);
    return;
  }
  self->dispose();
}

DisposalQueue& DisposalQueue::instance() noexcept {
  static detail::Immortal<DisposalQueue> queue;
  return *queue;
}

void DisposalQueue::add(RefCounted* object) noexcept {
  std::lock_guard lock(mutex_);
  object->next_deferred_ = nullptr;
  *end_ = object;
  end_ = &object->next_deferred_;
  if (!running_) {
    try {
      const support::SignalsBlocked no_signals;
      std::thread([this] { run(); }).detach();
      running_ = true;
    } catch (const std::exception& e) {
      support::log(support::LogLevel::error, "objects dropped in host functions leak: no thread to end them: ", e.what());
    }
  }
  wake_.notify_one();
}

void DisposalQueue::run() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return first_ != nullptr; });
    RefCounted* const object = first_;
    first_ = object->next_deferred_;
    if (first_ == nullptr) end_ = &first_;
    lock.unlock();
    object->dispose();
    lock.lock();
  }
}

}  // namespace weir
