// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/fiber_stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <fstream>
#include <new>
#include <thread>

#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

std::size_t guard_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t slot_bytes() noexcept { return fiber_stack_bytes + guard_bytes(); }

// Counts memory maps. A guard page made by mprotect splits a map and so adds two. A process that has reached its limit of
// maps cannot even load a library, so guard pages use at most half of that limit.
std::atomic<std::size_t> maps_of_guards{0};

std::size_t most_maps() {
  static const std::size_t most = [] {
    std::size_t of_process = 65530;  // the limit of maps in a process, which is Linux's default
    std::ifstream("/proc/sys/vm/max_map_count") >> of_process;
    return of_process / 2;
  }();
  return most;
}

// Offsets the start of each stack. Threads use mostly the ends of their stacks; at equal distances from a page, these would
// share a few sets of the cache.
std::size_t colour(std::size_t number) noexcept { return number % 21 * 192; }

}  // namespace

FiberStacks::FiberStacks(std::uint32_t capacity) : capacity_(capacity), contexts_(capacity) {
  free_.reserve(capacity);
  const std::size_t most = most_maps();
  void* const memory = ::mmap(nullptr, capacity * slot_bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  if (!make_guards(most)) {
    ::munmap(memory_, capacity * slot_bytes());
    maps_of_guards -= maps_;
    throw std::bad_alloc();
  }
}

FiberStacks::~FiberStacks() {
  for (FiberContext& context : contexts_) retire_fiber(context);
  ::munmap(memory_, capacity_ * slot_bytes());
  maps_of_guards -= maps_;
}

bool FiberStacks::make_guards(std::size_t most) noexcept {
  for (std::uint32_t i = 0; i < capacity_; ++i) {
    std::byte* const page = memory_ + i * slot_bytes();
    constexpr int guard_install = 102;  // MADV_GUARD_INSTALL of Linux 6.13: guard pages that need no maps of their own
    if (maps_ == 0 && ::madvise(page, guard_bytes(), guard_install) == 0) continue;
    if (maps_ == 0) {
      maps_ = std::size_t{2} * capacity_;
      if ((maps_of_guards += maps_) > most) return false;
    }
    if (::mprotect(page, guard_bytes(), PROT_NONE) != 0) return false;
  }
  return true;
}

FiberContext& FiberStacks::take(void (*entry)()) noexcept {
  FiberContext& context = *free_.back();
  free_.pop_back();
  const auto number = static_cast<std::size_t>(&context - contexts_.data());
  std::byte* const bottom = memory_ + number * slot_bytes() + guard_bytes();
  prepare_fiber(context, bottom, bottom + fiber_stack_bytes - colour(number), entry);
  return context;
}

void FiberStacks::give_all_back() noexcept {
  free_.clear();
  for (std::uint32_t i = capacity_; i > 0; --i) free_.push_back(&contexts_[i - 1]);
}

bool FiberStacks::overflows(const FiberContext& stack, const void* address) noexcept {
  const auto* const at = static_cast<const std::byte*>(address);
  const auto* const bottom = static_cast<const std::byte*>(stack.bottom);
  return at < bottom && at >= bottom - guard_bytes();
}

FiberStackPool& FiberStackPool::instance() {
  // Never destroyed, because workers may run until the process ends.
  static auto& pool = *new FiberStackPool;
  return pool;
}

std::unique_ptr<FiberStacks> FiberStackPool::find(std::uint32_t fibers) {
  const auto fits = [&](const auto& stacks) { return stacks->capacity() >= fibers; };
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), fits);
  if (found == idle_.rend()) return nullptr;
  std::unique_ptr<FiberStacks> stacks = std::move(*found);
  idle_.erase(std::next(found).base());
  return stacks;
}

std::unique_ptr<FiberStacks> FiberStackPool::borrow(std::uint32_t fibers, bool may_wait) {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::unique_ptr<FiberStacks> stacks = find(fibers);
    if (!stacks) {
      try {
        stacks = std::make_unique<FiberStacks>(std::max(std::bit_ceil(fibers), 64U));
      } catch (const std::bad_alloc&) {
        if (!idle_.empty()) {  // the idle stacks are too few for this block, so free them
          idle_.clear();
          continue;
        }
        if (borrowed_ == 0 || !may_wait) throw;
        if (given_back_.wait_for(lock, std::chrono::minutes(1)) == std::cv_status::timeout) {
          support::log(support::LogLevel::warn,
                       "blocks of a kernel have waited for a minute for stacks that other blocks use; if those blocks wait "
                       "for these, this is a deadlock: launch smaller blocks, or raise vm.max_map_count");
        }
        continue;
      }
    }
    ++borrowed_;
    return stacks;
  }
}

void FiberStackPool::give_back(std::unique_ptr<FiberStacks> stacks) noexcept {
  {
    const std::lock_guard lock(mutex_);
    --borrowed_;
    // Keeps one object for each worker. Cooperative launches may use more threads than there are workers.
    static const std::size_t most = std::max(std::thread::hardware_concurrency(), 1U);
    if (idle_.size() >= most) idle_.erase(idle_.begin());
    try {
      idle_.push_back(std::move(stacks));
    } catch (const std::bad_alloc&) {
      // There is no memory for the list: the destructor frees the stacks.
    }
  }
  given_back_.notify_all();
}

}  // namespace weir::host
