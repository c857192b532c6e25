// SPDX-License-Identifier: Apache-2.0
#include "core/waiting_frees.hpp"

#include <new>

namespace weir {

WaitingFrees& WaitingFrees::instance() noexcept {
  alignas(WaitingFrees) static std::byte place[sizeof(WaitingFrees)];
  static auto* const frees = ::new (place) WaitingFrees;
  return *frees;
}

bool WaitingFrees::do_add(Allocation* memory, Allocation::Freeing freeing) noexcept {
  // Under the lock, so that whoever closes the stream either finds the memory here, or is found to have closed it.
  const std::lock_guard lock(mutex_);
  if (!memory->stream()->may_wait(freeing)) return false;
  for (Try* t = tries_; t != nullptr; t = t->next) {
    if (t->memory == memory) t->came_back = true;
  }
  memory->next_ = nullptr;
  *end_ = memory;
  end_ = &memory->next_;
  ++waiting_;
  recount();
  return true;
}

void WaitingFrees::do_try_next() noexcept {
  while (try_first() == Outcome::gone) {
  }
}

void WaitingFrees::do_settle(const Stream& stream) noexcept {
  // No tries of this thread's: they run nothing that could close the stream.
  const auto no_thread_tries = [&] { return !is_trying(stream); };
  std::unique_lock lock(mutex_);
  tried_.wait(lock, no_thread_tries);  // what is being tried may come back
  std::size_t tries = waiting_;
  lock.unlock();
  while (tries-- > 0 && try_first() != Outcome::there_was_none) {
  }
  lock.lock();
  tried_.wait(lock, no_thread_tries);
}

WaitingFrees::Outcome WaitingFrees::try_first() noexcept {
  Try current;
  {
    const std::lock_guard lock(mutex_);
    if (first_ == nullptr) return Outcome::there_was_none;
    Allocation* const memory = first_;
    current = {.memory = memory, .stream = memory->stream(), .next = tries_};
    first_ = memory->next_;
    if (first_ == nullptr) end_ = &first_;
    --waiting_;
    tries_ = &current;
    ++trying_;
  }
  // As if its last owner went now: by now it may have to wait for something else.
  current.memory->retain();
  current.memory->release();

  const std::lock_guard lock(mutex_);
  Try** link = &tries_;
  while (*link != &current) link = &(*link)->next;
  *link = current.next;
  --trying_;
  recount();
  tried_.notify_all();
  return current.came_back ? Outcome::waits : Outcome::gone;
}

bool WaitingFrees::is_trying(const Stream& stream) const noexcept {
  for (const Try* t = tries_; t != nullptr; t = t->next) {
    if (t->stream == &stream) return true;
  }
  return false;
}

}  // namespace weir
