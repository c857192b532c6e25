// SPDX-License-Identifier: Apache-2.0
#include "backends/host/runtime/memory.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iterator>
#include <new>

#include "backends/host/engine/queue.hpp"
#include "backends/host/run/address_sanitizer.hpp"
#include "backends/host/schedule/scheduled_memory.hpp"
#include "core/base/no_destructor.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir::host {
namespace {

std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + allocation_alignment - 1) / allocation_alignment * allocation_alignment;
}

[[noreturn]] void throw_out_of_memory(const Device& device, const char* operation, std::size_t bytes) {
  throw Error(Errc::out_of_memory, operation, device.describe(),
              std::to_string(bytes) + " bytes cannot be allocated; the machine has " +
                  std::to_string(device.properties().total_memory) + " in all");
}

/// Dropped memory that work may still use, in the order in which it was dropped. A block of memory is freed once each queue
/// has finished the work that it had when the block was dropped. A queue that delays one block also delays all later blocks,
/// so a single waiter, for the first block, is enough.
class DroppedMemory final : private Waiter {
 public:
  struct Block {
    void* memory;
    std::vector<std::pair<Ptr<Queue>, std::uint64_t>> points;
    std::size_t cost = ::malloc_usable_size(memory) + cost_of_block;
    Block* next = nullptr;
  };

  static DroppedMemory& instance() noexcept {
    static detail::NoDestructor<DroppedMemory> dropped;
    return *dropped;
  }

  void add(Block* block) noexcept {
    std::unique_lock lock(mutex_);
    *end_ = block;
    end_ = &block->next;
    cost_.fetch_add(block->cost, std::memory_order_relaxed);
    if (first_ == block) free_done(lock);
  }

  /// Blocks the calling thread while there is too much dropped memory, so that a loop that allocates and drops memory cannot
  /// run far ahead of the work. The wait is bounded, because the work may be waiting for this thread.
  void wait_for_room() {
    if (cost_.load(std::memory_order_relaxed) <= most_cost) [[likely]]
      return;
    HostWait waits(nullptr);
    std::unique_lock lock(mutex_);
    if (!room_.wait_for(lock, longest_wait, [this] { return has_room(); })) waits.give_up();
  }

 private:
  // Added for each block, so that the number of blocks is limited too.
  static constexpr std::size_t cost_of_block = std::size_t{16} << 10U;
  static constexpr std::size_t most_cost = std::size_t{64} << 20U;
  static constexpr std::chrono::milliseconds longest_wait{100};

  // Well below the limit, so that a waiting thread does not wake for each freed block.
  bool has_room() const noexcept { return cost_.load(std::memory_order_relaxed) <= most_cost / 2; }

  void reached() noexcept override {
    std::unique_lock lock(mutex_);
    free_done(lock);
  }

  /// Frees the blocks that no work uses any longer, and starts to wait for the work of the next block. Unlocks `lock`.
  void free_done(std::unique_lock<std::mutex>& lock) noexcept {
    Block* const done = first_;
    Block** last = &first_;
    std::size_t freed = 0;
    for (; *last != nullptr && !waits_for(**last); last = &(*last)->next) freed += (*last)->cost;
    first_ = std::exchange(*last, nullptr);
    if (first_ == nullptr) end_ = &first_;
    const bool had_room = has_room();
    cost_.fetch_sub(freed, std::memory_order_relaxed);
    if (!had_room && has_room()) room_.notify_all();
    lock.unlock();
    if (last == &first_) return;
    for (Block* block = done; block != nullptr;) {
      free_aligned(block->memory);
      // Outside the lock, because this may destroy a queue and run the program's code.
      delete std::exchange(block, block->next);
    }
  }

  bool waits_for(Block& block) noexcept {
    return std::any_of(block.points.begin(), block.points.end(),
                       [this](const auto& each) { return each.first->wait(*this, each.second); });
  }

  std::mutex mutex_;
  std::condition_variable room_;
  std::atomic<std::size_t> cost_{0};
  Block* first_ = nullptr;
  Block** end_ = &first_;
};

}  // namespace

void* allocate_aligned(const Device& device, const char* operation, std::size_t bytes) {
  // Refuses requests beyond the total memory: Linux would grant such a request and later kill the process when it uses the
  // memory.
  void* memory = nullptr;
  // The size is not rounded up, so that AddressSanitizer detects accesses beyond the end.
  if (bytes > device.properties().total_memory ||
      ::posix_memalign(&memory, allocation_alignment, std::max<std::size_t>(bytes, 1)) != 0)
    throw_out_of_memory(device, operation, bytes);
  return memory;
}

void free_aligned(void* memory) noexcept {
  unwatch_memory(memory);
  std::free(memory);
}

void free_behind_work(void* memory) {
  std::vector<std::pair<Ptr<Queue>, std::uint64_t>> points;
  // Considers the queues of all devices, because streams of other devices may use pinned host memory and peer memory.
  for (Ptr<Queue>& queue : BusyQueues::instance().matching([](const Queue&) { return true; })) {
    const std::uint64_t point = queue->submitted();
    points.emplace_back(std::move(queue), point);
  }
  if (points.empty()) {
    free_aligned(memory);
  } else {
    DroppedMemory::instance().add(new DroppedMemory::Block{memory, std::move(points)});
  }
}

void wait_for_room() { DroppedMemory::instance().wait_for_room(); }

// --- Pool -------------------------------------------------------------------------------------------------------------

struct HostMemoryPool::Header {
  HostMemoryPool* const pool;       // counts as a reference to the pool while the block is in use
  const std::size_t size;           // bytes without this header
  const Queue* freed_on = nullptr;  // the queue that may reuse the block, while the block is in `queued_`
  // Number of enqueued frees of this block that do not return it, because the queue has reused it since.
  std::uint32_t frees_to_skip = 0;
  std::size_t bytes_behind = 0;  // bytes that the queue uses after the last of those frees

  static Header& of(void* memory) noexcept {
    return *reinterpret_cast<Header*>(static_cast<std::byte*>(memory) - allocation_alignment);
  }
  void* memory() noexcept { return reinterpret_cast<std::byte*>(this) + allocation_alignment; }
  /// For AddressSanitizer: makes only the first `bytes` accessible.
  void show(std::size_t bytes) noexcept {
    poison(this + 1, allocation_alignment - sizeof(Header));
    unpoison(memory(), bytes);
    poison(static_cast<std::byte*>(memory()) + bytes, size - bytes);
  }
};

HostMemoryPool::HostMemoryPool(Device& device, const MemoryPoolOptions& options)
    : MemoryPoolImpl(device, this), max_size_(options.max_size), threshold_(options.release_threshold) {}

HostMemoryPool::~HostMemoryPool() { trim_locked(0); }

void* HostMemoryPool::take(std::size_t bytes, const Queue& queue) {
  if (bytes > device().properties().total_memory) throw_out_of_memory(device(), "Stream::allocate_async", bytes);
  const std::size_t size = rounded(bytes);
  const auto hand_out = [this, bytes](Header* header) {
    used_ += header->size;
    retain();
    unpoison(header->memory(), header->size);
    watch_memory(header->memory(), header->size, Watch::pool);  // fills the block as if it were new
    header->show(bytes);
    return header->memory();
  };
  std::lock_guard lock(mutex_);
  // Blocks of more than twice the requested size are left for larger requests.
  if (const auto found = queued_.lower_bound({&queue, size});
      found != queued_.end() && found->first.first == &queue && found->first.second <= 2 * size) {
    Header& header = *found->second;
    queued_.erase(found);
    header.freed_on = nullptr;
    ++header.frees_to_skip;
    // Work that was enqueued earlier may still use the block with its former size. So the accessible part shrinks only when
    // the last of these frees runs.
    header.bytes_behind = bytes;
    unpoison(header.memory(), bytes);
    return header.memory();  // the block is still in `used_`
  }
  if (const auto found = spare_.lower_bound(size); found != spare_.end() && found->first <= 2 * size) {
    Header* const header = found->second;
    spare_.erase(found);
    return hand_out(header);
  }
  if (max_size_ != 0 && reserved_ + size > max_size_) trim_locked(0);
  if (max_size_ != 0 && reserved_ + size > max_size_) {
    throw Error(Errc::out_of_memory, "Stream::allocate_async", device().describe(),
                std::to_string(bytes) + " bytes do not fit into the pool: " + std::to_string(used_) + " of at most " +
                    std::to_string(max_size_) + " are in use");
  }
  auto* const header =
      new (allocate_aligned(device(), "Stream::allocate_async", size + allocation_alignment)) Header{this, size};
  reserved_ += size;
  return hand_out(header);
}

void HostMemoryPool::offer_to(const Queue& queue, void* memory) noexcept {
  Header& header = Header::of(memory);
  const std::lock_guard lock(header.pool->mutex_);
  try {
    header.pool->queued_.emplace(std::pair(&queue, header.size), &header);
    header.freed_on = &queue;
  } catch (const std::bad_alloc&) {
    // There is no memory for the list, so the queue cannot reuse the block early. It returns to the pool when the free has
    // run.
  }
}

void HostMemoryPool::forget_queued_free(Header& header) noexcept {
  if (header.freed_on == nullptr) return;
  const auto [first, last] = queued_.equal_range({header.freed_on, header.size});
  queued_.erase(std::find_if(first, last, [&](const auto& each) { return each.second == &header; }));
  header.freed_on = nullptr;
}

void HostMemoryPool::free_behind(void* memory, const Queue& queue) noexcept {
  if (Scheduler::instance().has_policy()) {
    const Header& header = Header::of(memory);
    unpoison(memory, header.size);
    mark_freed(memory, header.size, fmt::format("{}.{}", queue.id(), queue.begun()));
  }
  give_back(memory);
}

void HostMemoryPool::give_back(void* memory) noexcept {
  Header* const header = &Header::of(memory);
  Ptr<HostMemoryPool> pool;  // a reference that is released outside the lock
  std::lock_guard lock(header->pool->mutex_);
  if (header->frees_to_skip != 0) {
    if (--header->frees_to_skip == 0) header->show(header->bytes_behind);
    return;
  }
  pool = Ptr<HostMemoryPool>::attach(header->pool);
  pool->forget_queued_free(*header);
  pool->used_ -= header->size;
  bool kept = false;
  if (pool->reserved_ <= pool->threshold_) {
    try {
      pool->spare_.emplace(header->size, header);
      header->show(0);
      kept = true;
    } catch (const std::bad_alloc&) {
      // There is no memory for the list, so the block returns to the system.
    }
  }
  if (!kept) pool->free_block(header);
}

void HostMemoryPool::free_block(Header* header) noexcept {
  reserved_ -= header->size;
  unwatch_memory(header->memory());
  free_aligned(header);
}

void HostMemoryPool::trim_locked(std::size_t keep) noexcept {
  while (reserved_ > keep && !spare_.empty()) {
    const auto last = std::prev(spare_.end());
    free_block(last->second);
    spare_.erase(last);
  }
}

std::size_t HostMemoryPool::do_used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_;
}
std::size_t HostMemoryPool::do_reserved_bytes() const {
  std::lock_guard lock(mutex_);
  return reserved_;
}
void HostMemoryPool::do_trim_to(std::size_t keep) {
  std::lock_guard lock(mutex_);
  trim_locked(keep);
}
void HostMemoryPool::do_set_release_threshold(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  threshold_ = bytes;
}

}  // namespace weir::host
