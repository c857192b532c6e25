// SPDX-License-Identifier: Apache-2.0
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

#include "injector.hpp"

// The program's `operator new`, also for the libraries that it loads. It counts calls, and fails on request.

namespace {

std::atomic<std::uint64_t> counted{0};
std::atomic<std::uint64_t> failing{0};
std::atomic<bool> was_injected{false};
std::atomic<std::int64_t> live{0};
void* frames[48];
std::atomic<int> frame_count{0};

bool fails() noexcept {
  const std::uint64_t wanted = failing.load(std::memory_order_relaxed);
  if (wanted == 0 || counted.fetch_add(1, std::memory_order_relaxed) + 1 != wanted) return false;
  frame_count = ::backtrace(frames, 48);
  was_injected = true;
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

namespace sweep {
namespace {

class Allocations final : public Injector {
 public:
  Allocations() {
    void* one;
    ::backtrace(&one, 1);  // loads a library at its first call
  }
  void arm(std::uint64_t n) noexcept override {
    failing = 0;
    counted = 0;
    was_injected = false;
    failing = n;
  }
  std::uint64_t calls() const noexcept override { return counted; }
  bool has_failed() const noexcept override { return was_injected; }
  const char* function() const noexcept override { return "operator new"; }
  void print_stack() const noexcept override { ::backtrace_symbols_fd(frames, frame_count, STDOUT_FILENO); }
  bool fits(const weir::Error*) const override { return true; }
  // A free that needs memory itself may leak, with a line in the log.
  bool may_leave_something(const std::string& logged, bool) const override {
    return logged.find("leaked") != std::string::npos;
  }
};

}  // namespace

Injector& allocations() {
  static Allocations all;
  return all;
}

std::int64_t live_blocks() noexcept { return live; }

}  // namespace sweep

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
