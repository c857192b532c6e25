// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/backlog.hpp"

#include <mutex>
#include <new>

#include "backends/host/engine/executable.hpp"
#include "core/base/no_destructor.hpp"
#include "core/base/spin_lock.hpp"

namespace weir::host {

namespace {

constexpr std::size_t block_bytes = 4080;  // one page minus the heap's own header

// The free blocks, kept for reuse: at most 16 MiB.
struct Kept {
  SpinLock lock;
  Backlog::Block* first = nullptr;
  std::size_t count = 0;
  static constexpr std::size_t most = 4096;

  static Kept& instance() noexcept {
    static detail::NoDestructor<Kept> kept;
    return *kept;
  }
};

}  // namespace

Backlog::Block* Backlog::take_block() {
  Kept& kept = Kept::instance();
  {
    const std::lock_guard lock(kept.lock);
    if (Block* const block = kept.first) {
      kept.first = std::exchange(block->next, nullptr);
      --kept.count;
      return block;
    }
  }
  static_assert(alignof(Operation) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ && sizeof(Block) % alignof(Operation) == 0);
  return ::new (::operator new(block_bytes)) Block;
}

void Backlog::give_back(Block* blocks) noexcept {
  Kept& kept = Kept::instance();
  while (blocks != nullptr) {
    Block* block = std::exchange(blocks, blocks->next);
    {
      const std::lock_guard lock(kept.lock);
      if (kept.count < Kept::most) {
        block->next = std::exchange(kept.first, block);
        ++kept.count;
        block = nullptr;
      }
    }
    if (block != nullptr) ::operator delete(block);
  }
}

void Backlog::start_anew() noexcept {
  own_.block = {};
  last_ = block_ = seen_block_ = &own_.block;
  next_ = seen_ = end_ = own_.block.data();
  room_ = sizeof(own_.data);
}

void Backlog::extend(Block* block) noexcept {
  last_->end = end_;
  last_->next = block;
  last_ = block;
  end_ = block->data();
  room_ = block_bytes - sizeof(Block);
}

Backlog::Block* Backlog::leave_block() noexcept {
  Block* const left = std::exchange(block_, block_->next);
  next_ = block_->data();
  if (left == &own_.block) return nullptr;
  *left = {};
  return left;
}

bool Backlog::look(Block*& idle) noexcept {
  if (next_ == end_) {
    if (last_ != &own_.block) idle = last_;
    start_anew();
    return false;
  }
  if (block_ != last_ && next_ == block_->end) idle = leave_block();
  seen_ = end_;
  seen_block_ = last_;
  return true;
}

Backlog::Operation& Backlog::take_first() noexcept {
  Operation* const operation = first();
  next_ += operation->bytes_;
  return *operation;
}

void Backlog::destroy(Operation& operation) noexcept {
  if (operation.is_function_) {
    operation.function().~HostFunction();
  } else {
    operation.work().~Work();
  }
}

}  // namespace weir::host
