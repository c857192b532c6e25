// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "weir/plugin/communicator.hpp"

/// The last operations of a communicator, for the record that it leaves when it fails.
namespace weir {

/// The last operations of one rank of a communicator. One thread at a time adds operations, another one marks what has
/// begun and ended, and any thread reads. Nothing locks.
class FlightRecorder {
 public:
  /// The number of operations that it holds.
  static constexpr std::uint64_t capacity = 1024;

  /// One operation. Times are of the system's clock; 0 if it has not happened, or if the plugin does not see it.
  struct Entry {
    CollectiveCall call;  ///< without addresses and objects
    bool is_captured = false, is_refused = false;
    std::chrono::nanoseconds enqueued{0}, started{0}, done{0};
  };

  explicit FlightRecorder(int ranks) : messages_(static_cast<std::size_t>(ranks)) {}

  /// Records a call as enqueued, and sets its numbers.
  void add(CollectiveCall& call) noexcept {
    const std::uint64_t number = call.number = ++calls_;
    call.match = call.capture ? 0 : ++counter_of(call);
    Slot& slot = slots_[number % capacity];
    slot.number.store(0, std::memory_order_relaxed);  // a reader drops the slot while it changes
    std::atomic_thread_fence(std::memory_order_release);
    slot.match.store(call.match, std::memory_order_relaxed);
    slot.count.store(call.count, std::memory_order_relaxed);
    slot.what.store(static_cast<std::uint64_t>(call.kind) | static_cast<std::uint64_t>(call.type) << 8U |
                        static_cast<std::uint64_t>(call.reduction) << 16U | (call.capture ? captured : 0) |
                        static_cast<std::uint64_t>(call.peer) << 32U,
                    std::memory_order_relaxed);
    slot.enqueued.store(sees_starts_ ? 0 : ticks(), std::memory_order_relaxed);
    slot.started.store(0, std::memory_order_relaxed);
    slot.done.store(0, std::memory_order_relaxed);
    slot.number.store(number, std::memory_order_release);
  }
  /// Records that the library has taken this call and those before it, so that they count whatever happens afterwards.
  void accept(std::uint64_t number) noexcept { accepted_ = std::max(accepted_, number); }
  /// Records that the library has refused a call, which then does not count, unless it was accepted. Call it for the last
  /// calls, the last one first.
  void refuse(const CollectiveCall& call) noexcept {
    if (call.number <= accepted_) return;
    if (Slot* const slot = find(call.number)) slot->what.fetch_or(refused, std::memory_order_relaxed);
    if (!call.capture) --counter_of(call);
  }
  /// Records that the stream has reached a call; of a captured one, at the last launch.
  void mark_started(std::uint64_t number) noexcept {
    if (Slot* const slot = find(number)) slot->started.store(ticks(), std::memory_order_relaxed);
  }
  /// Records that a call is done; of a captured one, at the last launch.
  void mark_done(std::uint64_t number) noexcept {
    if (Slot* const slot = find(number)) slot->done.store(ticks(), std::memory_order_relaxed);
  }

  /// Set by a plugin that marks the end of each operation; otherwise one without an end may be complete. `starts`: it also
  /// marks the starts. Then the time of the call is not taken, which saves half of the cost of `add`.
  void set_marks(bool starts) noexcept {
    sees_ends_ = true;
    sees_starts_ = starts;
  }
  /// Whether the plugin marks the end of each operation.
  bool sees_ends() const noexcept { return sees_ends_; }

  /// Copies the operations, the oldest first.
  std::vector<Entry> entries() const {
    const std::uint64_t ticks_now = ticks();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const double nanoseconds_of_tick = std::chrono::duration<double, std::nano>(now - made_).count() /
                                       static_cast<double>(std::max<std::uint64_t>(1, ticks_now - ticks_made_));
    const auto time = [&](std::uint64_t tick) {
      if (tick == 0) return std::chrono::nanoseconds(0);
      const double before = static_cast<double>(static_cast<std::int64_t>(ticks_now - tick)) * nanoseconds_of_tick;
      return std::chrono::duration_cast<std::chrono::nanoseconds>(now) -
             std::chrono::nanoseconds(static_cast<std::int64_t>(before));
    };
    std::vector<Entry> all;
    for (const Slot& slot : slots_) {
      Entry entry;
      entry.call.number = slot.number.load(std::memory_order_acquire);
      if (entry.call.number == 0) continue;
      entry.call.match = slot.match.load(std::memory_order_relaxed);
      const std::uint64_t what = slot.what.load(std::memory_order_relaxed);
      entry.call.kind = static_cast<CollectiveCall::Kind>(what & 0xffU);
      entry.call.type = static_cast<ElementType>(what >> 8U & 0xffU);
      entry.call.reduction = static_cast<Reduction>(what >> 16U & 0xffU);
      entry.call.peer = static_cast<int>(what >> 32U);
      entry.call.count = slot.count.load(std::memory_order_relaxed);
      entry.is_captured = (what & captured) != 0;
      entry.is_refused = (what & refused) != 0;
      entry.enqueued = time(slot.enqueued.load(std::memory_order_relaxed));
      entry.started = time(slot.started.load(std::memory_order_relaxed));
      entry.done = time(slot.done.load(std::memory_order_relaxed));
      std::atomic_thread_fence(std::memory_order_acquire);
      if (slot.number.load(std::memory_order_relaxed) == entry.call.number) all.push_back(entry);
    }
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.call.number < b.call.number; });
    return all;
  }

 private:
  static constexpr std::uint64_t captured = 1U << 24U, refused = 1U << 25U;
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> number{0}, match{0}, count{0}, what{0}, enqueued{0}, started{0}, done{0};
  };

  // The processor's counter takes a third of the time of a clock; `entries` converts it.
  static std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }
  // The slot of a call; null if a later call has taken it.
  Slot* find(std::uint64_t number) noexcept {
    Slot& slot = slots_[number % capacity];
    return slot.number.load(std::memory_order_relaxed) == number ? &slot : nullptr;
  }
  std::uint64_t& counter_of(const CollectiveCall& call) noexcept {
    if (call.kind == CollectiveCall::Kind::send) return messages_[static_cast<std::size_t>(call.peer)].first;
    if (call.kind == CollectiveCall::Kind::receive) return messages_[static_cast<std::size_t>(call.peer)].second;
    return collectives_;
  }

  const std::uint64_t ticks_made_ = ticks();
  const std::chrono::system_clock::duration made_ = std::chrono::system_clock::now().time_since_epoch();
  bool sees_ends_ = false, sees_starts_ = false;
  std::uint64_t calls_ = 0, accepted_ = 0, collectives_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> messages_;  // sent to each rank, and received from it
  std::array<Slot, capacity> slots_;
};

}  // namespace weir
