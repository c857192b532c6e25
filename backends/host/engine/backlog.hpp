// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "backends/host/engine/work.hpp"

/// The unfinished operations of a queue, in order. They are stored one after the other in blocks of memory, because a heap
/// allocation for each would cost more than an empty host function. The first few are in the queue itself, which is enough
/// for a queue that keeps up with its work. Blocks are shared by all queues.
namespace weir::host {

class Backlog {
 public:
  /// The header of an operation. In memory it is followed by the host function or the work.
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
    std::byte* end = nullptr;  // end of the block's operations, set once there is a next block
    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* data() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
  };
  /// Returns a free block or allocates one. Throws `std::bad_alloc`.
  static Block* take_block();
  static void give_back(Block* blocks) noexcept;

  Backlog() noexcept { start_anew(); }
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  // The next functions are for enqueuing threads, under the queue's lock.

  template <class Payload>
  bool has_room() const noexcept {
    return bytes_of<Payload> <= room_;
  }
  /// Adds `block`, which provides room for more operations. Takes ownership.
  void extend(Block* block) noexcept;
  /// Adds a `HostFunction` or a `Work`. There must be room for it.
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

  // The next functions are for the thread that runs the queue.

  /// Makes new operations visible to `next`. Call it under the queue's lock. Returns false if all operations are done.
  /// `idle`: set to a block that the caller must give back, or null.
  bool look(Block*& idle) noexcept;
  /// The next visible operation, or null.
  Operation* first() const noexcept { return next_ != seen_ ? std::launder(reinterpret_cast<Operation*>(next_)) : nullptr; }
  /// Whether all operations of the first block were removed, and the next operations are in another block.
  bool is_block_spent() const noexcept { return block_ != seen_block_ && next_ == block_->end; }

  // The next functions are for the thread that runs the queue, at times when no other thread calls `peek`.

  /// Removes the first operation and returns it. The caller must destroy it.
  Operation& take_first() noexcept;
  static void destroy(Operation& operation) noexcept;
  /// Leaves the first block, which is used up. Returns a block that the caller must give back, or null.
  Block* leave_block() noexcept;

  // The next functions are for any thread, under the queue's lock, while the thread that runs the queue calls none of the
  // functions above.

  /// The first operation, visible or not; null if the backlog is empty.
  const Operation* peek() const noexcept {
    Cursor cursor{block_, next_};
    return operation_at(cursor);
  }
  /// Calls `function(operation)` for each operation, in order.
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
  /// The operation at the cursor; null after the last one. At the end of a block the cursor moves to the next block.
  const Operation* operation_at(Cursor& cursor) const noexcept {
    if (cursor.block != last_ && cursor.next == cursor.block->end) cursor = {cursor.block->next, cursor.block->next->data()};
    return cursor.next != end_ ? std::launder(reinterpret_cast<const Operation*>(cursor.next)) : nullptr;
  }

  // The members used by the running thread and those used by enqueuing threads are separated by `own_`: on one cache line,
  // the threads would contend at every operation.
  Block* block_;  // contains the first operation
  std::byte* next_;
  std::byte* seen_;
  Block* seen_block_;  // contains `seen_`

  struct alignas(Operation) {
    Block block;
    std::byte data[352];
  } own_;

  Block* last_;
  std::byte* end_;      // end of the last block's operations, where the next one is added
  std::uint32_t room_;  // free bytes after `end_`
};

}  // namespace weir::host
