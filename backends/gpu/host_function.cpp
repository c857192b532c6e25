// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/host_function.hpp"

#include <new>
#include <string>
#include <utility>

#include "core/base/no_destructor.hpp"
#include "weir/plugin/support.hpp"

namespace weir::gpu {
namespace {

FreeList<HostCalls>& pool() {
  static detail::NoDestructor<FreeList<HostCalls>> list;
  return *list;
}

/// Prefetches the next slot for writing, because the driver's thread used it last.
template <class T>
void fetch_to_write(const T& object) noexcept {
  for (std::size_t line = 0; line < sizeof(T); line += 64) {
    const char* const place = reinterpret_cast<const char*>(&object) + line;
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*place));  // a no-op on processors without this instruction
#else
    __builtin_prefetch(place, 1);
#endif
  }
}

void log_current(const Device& device) noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& e) {
      support::log(support::LogLevel::error, device.describe() + ": a host function threw: " + e.what());
    } catch (...) {
      support::log(support::LogLevel::error,
                   device.describe() + ": a host function threw an object that is not a std::exception");
    }
  } catch (const std::exception&) {
    // There is no memory for the log message. The exception itself is already stored.
  }
}

}  // namespace

HostErrors::~HostErrors() {
  for (Node* node = newest_.load(std::memory_order_relaxed); node != nullptr;) {
    Node* const older = node->older;
    delete node;
    node = older;
  }
}

void HostErrors::add_current() noexcept {
  log_current(device_);
  auto* const node = new (std::nothrow) Node{std::current_exception(), nullptr};
  if (node == nullptr) return;
  node->older = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(node->older, node, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

std::exception_ptr HostErrors::take() noexcept {
  if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  std::exception_ptr oldest;
  for (Node* node = newest_.exchange(nullptr, std::memory_order_acquire); node != nullptr;) {
    Node* const older = node->older;
    oldest = std::move(node->error);
    delete node;
    node = older;
  }
  return oldest;
}

// --- Enqueued functions -----------------------------------------------------------------------------------------------

HostCalls::Ring::Ring(HostCalls* owner, std::uint32_t size, Ring* before)
    : mask(size - 1), slots(new Slot[size]), older(before) {
  for (std::uint32_t i = 0; i < size; ++i) slots[i].owner = owner;
}

HostCalls* HostCalls::take(const Ptr<HostErrors>& errors) {
  HostCalls* calls = pool().take();
  if (calls == nullptr) calls = new HostCalls;
  calls->errors_ = errors;
  return calls;
}

void* HostCalls::put(HostFunction&& function) {
  for (;;) {
    Ring* const ring = ring_.load(std::memory_order_acquire);
    if (ring != nullptr) {
      // `next` is only a hint where to begin; each slot's own `busy` flag decides whether it is free. Threads that take
      // slots at the same time may skip each other's, so the ring grows only if every slot was busy.
      const std::uint32_t start = ring->next.load(std::memory_order_relaxed);
      for (std::uint32_t place = start; place != start + ring->mask + 1; ++place) {
        Slot& slot = ring->slots[place & ring->mask];
        std::uint32_t idle = slot.busy.load(std::memory_order_relaxed);
        if (idle != 0 || !slot.busy.compare_exchange_strong(idle, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
          continue;
        }
        ring->next.store(place + 1, std::memory_order_relaxed);
        slot.function = std::move(function);
        fetch_to_write(ring->slots[(place + 1) & ring->mask]);
        return &slot;
      }
    }
    grow(ring);
  }
}

void HostCalls::grow(const Ring* full) {
  const std::lock_guard lock(growth_);
  Ring* const newest = ring_.load(std::memory_order_relaxed);
  if (newest != full) return;  // another thread has already grown it
  ring_.store(new Ring(this, newest != nullptr ? (newest->mask + 1) * 2 : 16, newest), std::memory_order_release);
}

void HostCalls::take_back(void* slot) noexcept {
  auto* const self = static_cast<Slot*>(slot);
  self->function.reset();
  self->owner->finish(*self);
}

void HostCalls::call_enqueued(void* slot) noexcept {
  auto* const self = static_cast<Slot*>(slot);
  const support::HostFunctionScope scope;
  try {
    self->function();
  } catch (...) {
    self->owner->errors_->add_current();
  }
  self->function.reset();
  self->owner->finish(*self);
}

void HostCalls::finish(Slot& slot) noexcept {
  // Sequentially consistent with the store to `closed_`: either `close` sees that this slot is free, or this thread sees
  // `closed_`.
  slot.busy.store(0, std::memory_order_seq_cst);
  if (closed_.load(std::memory_order_seq_cst) != 0) [[unlikely]] give_back_if_idle();
}

void HostCalls::close() noexcept {
  closed_.store(++life_, std::memory_order_seq_cst);
  give_back_if_idle();
}

void HostCalls::give_back_if_idle() noexcept {
  std::uint32_t life = closed_.load(std::memory_order_seq_cst);
  if (life == 0) return;
  for (const Ring* ring = ring_.load(std::memory_order_acquire); ring != nullptr; ring = ring->older.get()) {
    for (std::uint32_t i = 0; i <= ring->mask; ++i) {
      if (ring->slots[i].busy.load(std::memory_order_seq_cst) != 0) return;
    }
  }
  // Several threads may get here, because each sees that no slot is busy. Only one of them returns this object to the pool.
  // The number differs for each stream that uses the object, so a late thread cannot match a later stream's.
  if (!closed_.compare_exchange_strong(life, 0, std::memory_order_acq_rel)) return;
  errors_.reset();
  pool().give_back(this);
}

// --- Captured functions -----------------------------------------------------------------------------------------------

void CapturedHostFunction::call_captured(void* captured) noexcept {
  auto* const self = static_cast<CapturedHostFunction*>(captured);
  const support::HostFunctionScope scope;
  try {
    self->function();
  } catch (...) {
    self->errors->add_current();
  }
}

void CapturedHostFunction::destroy(void* captured) noexcept {
  // The driver may call this on its own thread, where the destructors of captured objects must not call the driver.
  const support::HostFunctionScope scope;
  delete static_cast<CapturedHostFunction*>(captured);
}

}  // namespace weir::gpu
