// SPDX-License-Identifier: Apache-2.0
#include "allocator.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

// Implements the program's `operator new`.

namespace {

std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> failing{0};
std::atomic<bool> failed{false};
std::atomic<std::int64_t> live{0};
void* frames[48];
std::atomic<int> frame_count{0};

bool fails() noexcept {
  const std::uint64_t wanted = failing.load(std::memory_order_relaxed);
  if (wanted == 0 || calls.fetch_add(1, std::memory_order_relaxed) + 1 != wanted) return false;
  frame_count = ::backtrace(frames, 48);
  failed = true;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  if (size == 0) size = 1;
  void* const block = alignment <= alignof(std::max_align_t)
                          ? std::malloc(size)
                          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment = 1) {
  if (void* const block = allocate(size, alignment)) return block;
  throw std::bad_alloc();
}

void release(void* block) noexcept {
  if (block != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(block);
}

std::size_t number(std::align_val_t alignment) noexcept { return static_cast<std::size_t>(alignment); }

}  // namespace

void sweep::fail_call(std::uint64_t n) noexcept {
  [[maybe_unused]] static const int loaded = [] {  // backtrace loads a library at its first call
    void* one;
    return ::backtrace(&one, 1);
  }();
  if (n == go_on) return;
  failing = 0;
  calls = 0;
  failed = false;
  failing = n;
}

bool sweep::has_failed() noexcept { return failed; }

std::int64_t sweep::live_blocks() noexcept { return live; }

void sweep::print_failed_call() noexcept { ::backtrace_symbols_fd(frames, frame_count, STDOUT_FILENO); }

// The standard's own forms for arrays call those for single objects.
void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return allocate_or_throw(size, number(alignment)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, number(alignment));
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept { release(block); }
