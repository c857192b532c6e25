// SPDX-License-Identifier: Apache-2.0
#include "core/disposal.hpp"

#include <new>
#include <thread>

#include "core/captures.hpp"
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

void throw_barred(const char* operation) {
  if (forked()) {
    throw Error(Errc::forked_process, operation, "",
                "this process was forked from one that had opened Weir, and drivers do not survive a fork; open Weir in the "
                "child only, or start the child with exec");
  }
  throw Error(Errc::called_from_host_function, operation, "",
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
  // In a forked child locks may be held by threads that did not come along, and drivers are gone: leak instead.
  if (detail::forked()) [[unlikely]] return;
  auto* const self = const_cast<RefCounted*>(this);
  const Disposal rule = disposal();
  if (rule != Disposal::anywhere) {
    if (detail::thread_state.in_host_function) {
      DisposalQueue::instance().after_host_function(self);
      return;
    }
    if (rule == Disposal::driver_unsafe && detail::open_captures.load(std::memory_order_acquire) != 0) {
      DisposalQueue::instance().after_captures(self);
      return;
    }
  }
  self->dispose();
}

DisposalQueue& DisposalQueue::instance() noexcept {
  alignas(DisposalQueue) static std::byte place[sizeof(DisposalQueue)];
  static auto* const queue = ::new (place) DisposalQueue;
  return *queue;
}

void DisposalQueue::after_host_function(RefCounted* object) noexcept {
  std::lock_guard lock(mutex_);
  object->next_deferred_ = from_host_functions_;
  from_host_functions_ = object;
  if (!running_) {
    try {
      std::thread([this] { run(); }).detach();
      running_ = true;
    } catch (const std::exception& e) {
      support::log(support::LogLevel::error, std::string("objects dropped in host functions leak: no thread to end them: ") +
                                                 e.what());
    }
  }
  wake_.notify_one();
}

void DisposalQueue::after_captures(RefCounted* object) noexcept {
  {
    std::lock_guard lock(mutex_);
    // The last capture may have ended since the caller looked, and then nobody would come for the object: either its end sees
    // the mark, or this sees its end.
    any_from_captures_.store(true, std::memory_order_seq_cst);
    if (detail::open_captures.load(std::memory_order_seq_cst) != 0) {
      object->next_deferred_ = from_captures_;
      from_captures_ = object;
      return;
    }
  }
  object->dispose();
}

void DisposalQueue::captures_ended() noexcept {
  if (!any_from_captures_.load(std::memory_order_seq_cst)) return;
  RefCounted* list = nullptr;
  {
    std::lock_guard lock(mutex_);
    list = std::exchange(from_captures_, nullptr);
    any_from_captures_.store(false, std::memory_order_relaxed);
  }
  dispose_all(list);
}

void DisposalQueue::dispose_of(RefCounted* object) noexcept {
  object->next_deferred_ = nullptr;
  // Looked at anew: a capture may be open by now.
  object->retain();
  object->release();
}

void DisposalQueue::dispose_all(RefCounted* newest) noexcept {
  RefCounted* oldest = nullptr;
  while (newest) {
    RefCounted* const next = newest->next_deferred_;
    newest->next_deferred_ = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    RefCounted* const object = oldest;
    oldest = object->next_deferred_;
    dispose_of(object);
  }
}

void DisposalQueue::run() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return from_host_functions_ != nullptr; });
    RefCounted* const list = std::exchange(from_host_functions_, nullptr);
    lock.unlock();
    dispose_all(list);
    lock.lock();
  }
}

}  // namespace weir
