// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "backends/host/engine/work.hpp"

/// The unfinished operations of a queue, in order. They are stored contiguously, because one heap allocation of the largest
/// size for each would cost more than an empty host function. The first few are in the queue itself, which is enough for a
/// queue that keeps up. The others are in blocks that all queues share.
namespace weir::host {

class Backlog {
 public:
  /// The header of an operation. The host function or the work follows it in memory.
  class alignas(16) Operation {
   public:
    bool is_function() const noexcept { return is_function_; }
    const Work& work() const noexcept { return *std::launder(reinterpret_cast<const Work*>(this + 1)); }
    HostFunction& function() noexcept { return *std::launder(reinterpret_cast<HostFunction*>(this + 1)); }
    Work& work() noexcept { return *std::launder(reinterpret_cast<Work*>(this + 1)); }

   private:
    friend class Backlog;
    std::uint32_t bytes_;
    bool is_function_;
  };

  struct Block {
    Block* next = nullptr;
    std::byte* end = nullptr;  // of its operations, once a next block exists
    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* data() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
  };
  /// Returns a free block or a new one. Throws `std::bad_alloc`.
  static Block* take_block();
  static void give_back(Block* blocks) noexcept;

  Backlog() noexcept { start_anew(); }
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  // For enqueuing threads, under the queue's lock.

  template <class Payload>
  bool has_room() const noexcept {
    return bytes_of<Payload> <= room_;
  }
  /// Makes room; takes ownership of the block.
  void extend(Block* block) noexcept;
  /// Adds a `HostFunction` or a `Work`, for which there must be room.
  template <class Payload>
  Operation& append(Payload&& payload) noexcept {
    using Stored = std::decay_t<Payload>;
    static_assert(std::is_nothrow_constructible_v<Stored, Payload&&>);
    auto* const operation = ::new (end_) Operation;
    operation->bytes_ = bytes_of<Stored>;
    operation->is_function_ = std::is_same_v<Stored, HostFunction>;
    ::new (operation + 1) Stored(std::forward<Payload>(payload));
    end_ += bytes_of<Stored>;
    room_ -= bytes_of<Stored>;
    return *operation;
  }

  // For the thread that runs the queue.

  /// Under the queue's lock: makes new operations visible to `next`. Returns false if all are done. `idle`: set to a block
  /// to return, or null.
  bool look(Block*& idle) noexcept;
  /// The next visible operation, or null.
  Operation* first() const noexcept { return next_ != seen_ ? std::launder(reinterpret_cast<Operation*>(next_)) : nullptr; }
  /// Whether all operations of the first block have been removed and the next ones are in another block.
  bool is_block_spent() const noexcept { return block_ != seen_block_ && next_ == block_->end; }

  // For the thread that runs the queue, while no thread peeks.

  /// Removes the first operation, which the caller destroys.
  Operation& take_first() noexcept;
  static void destroy(Operation& operation) noexcept;
  /// Leaves the first block, which is used up. The caller must return the result, a block or null, to the free blocks.
  Block* leave_block() noexcept;

  // For any thread, under the queue's lock, while the running thread calls none of the above.

  /// The first operation, visible or not; null if the backlog is empty.
  const Operation* peek() const noexcept {
    Cursor cursor{block_, next_};
    return operation_at(cursor);
  }
  /// Calls `function(operation)` for each, in order.
  template <class F>
  void for_each(F&& function) const {
    Cursor cursor{block_, next_};
    while (const Operation* const operation = operation_at(cursor)) {
      function(*operation);
      cursor.next += operation->bytes_;
    }
  }

 private:
  template <class Payload>
  static constexpr std::uint32_t bytes_of =
      (sizeof(Operation) + sizeof(std::decay_t<Payload>) + alignof(Operation) - 1) / alignof(Operation) * alignof(Operation);

  void start_anew() noexcept;
  struct Cursor {
    const Block* block;
    const std::byte* next;
  };
  /// Null after the last one. At the end of a block the cursor moves to the next block.
  const Operation* operation_at(Cursor& cursor) const noexcept {
    if (cursor.block != last_ && cursor.next == cursor.block->end) cursor = {cursor.block->next, cursor.block->next->data()};
    return cursor.next != end_ ? std::launder(reinterpret_cast<const Operation*>(cursor.next)) : nullptr;
  }

  // The running thread and the enqueuing threads write to separate parts of this object, with `own_` in between: on one
  // cache line they would contend at every operation.
  Block* block_;  // contains the first operation
  std::byte* next_;
  std::byte* seen_;
  Block* seen_block_;  // contains `seen_`

  struct alignas(Operation) {
    Block block;
    std::byte data[352];
  } own_;

  Block* last_;
  std::byte* end_;      // of the last block's operations: the next one is added here
  std::uint32_t room_;  // bytes left after it
};

}  // namespace weir::host
