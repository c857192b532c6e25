// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>

/// Objects kept for reuse, shared by all threads.
namespace weir::gpu {

/// What an object needs to be kept in a `FreeList`.
struct FreeListHook {
  std::uint32_t number = 0;              // its place in the list's table, from 1
  std::atomic<std::uint32_t> next{0};    // the number of the object below it while it is in the list
};

/// A stack of spent objects. Taking and giving back take no lock, so that neither a host function that is running nor a
/// thread that is not can hold up a submission. Objects belong to the list for the life of the process: what a thread reads
/// of an object that another has just taken is stale, but it is there to be read.
///
/// `T` has a member `FreeListHook pool_hook`.
template <class T>
class FreeList {
 public:
  /// Null if there is none.
  T* take() noexcept {
    std::uint64_t top = top_.load(std::memory_order_acquire);
    while (number_of(top) != 0) {
      T* const object = at(number_of(top));
      const std::uint64_t below = packed(tag_of(top) + 1, object->pool_hook.next.load(std::memory_order_relaxed));
      if (top_.compare_exchange_weak(top, below, std::memory_order_acquire, std::memory_order_acquire)) return object;
    }
    return nullptr;
  }

  void give_back(T* object) noexcept {
    std::uint64_t top = top_.load(std::memory_order_relaxed);
    do {
      object->pool_hook.next.store(number_of(top), std::memory_order_relaxed);
    } while (!top_.compare_exchange_weak(top, packed(tag_of(top) + 1, object->pool_hook.number), std::memory_order_release,
                                         std::memory_order_relaxed));
  }

  /// Makes a new object known, so that it can be given back later. Throws `std::bad_alloc`.
  void adopt(T* object) {
    std::lock_guard lock(growth_);
    const std::uint32_t number = count_ + 1;
    const auto [row, column] = place(number);
    if (rows_[row].load(std::memory_order_relaxed) == nullptr) {
      rows_[row].store(new std::atomic<T*>[std::size_t{first_row} << row](), std::memory_order_release);
    }
    rows_[row].load(std::memory_order_relaxed)[column].store(object, std::memory_order_release);
    object->pool_hook.number = number;
    count_ = number;
  }

 private:
  // The tag changes with each exchange, so that a thread that was held up does not mistake a top that has come back for one
  // that never went.
  static constexpr std::uint64_t packed(std::uint32_t tag, std::uint32_t number) noexcept {
    return std::uint64_t{tag} << 32U | number;
  }
  static constexpr std::uint32_t tag_of(std::uint64_t top) noexcept { return static_cast<std::uint32_t>(top >> 32U); }
  static constexpr std::uint32_t number_of(std::uint64_t top) noexcept { return static_cast<std::uint32_t>(top); }

  static constexpr std::uint32_t first_row = 64;
  struct Place {
    std::uint32_t row, column;
  };
  // Rows double in length, so that a row, once made, stays where it is.
  static constexpr Place place(std::uint32_t number) noexcept {
    const std::uint32_t shifted = number - 1 + first_row;
    const auto row = static_cast<std::uint32_t>(std::bit_width(shifted / first_row)) - 1;
    return {row, shifted - (first_row << row)};
  }
  T* at(std::uint32_t number) const noexcept {
    const auto [row, column] = place(number);
    return rows_[row].load(std::memory_order_acquire)[column].load(std::memory_order_acquire);
  }

  std::atomic<std::uint64_t> top_{0};
  std::array<std::atomic<std::atomic<T*>*>, 26> rows_{};
  std::mutex growth_;
  std::uint32_t count_ = 0;
};

}  // namespace weir::gpu
