// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/host/engine/signal.hpp"
#include "weir/plugin/memory.hpp"

namespace weir::host {

class Queue;

/// The alignment of all allocations, as on GPUs.
inline constexpr std::size_t allocation_alignment = 256;

/// Allocates aligned memory. Throws `out_of_memory`.
void* allocate_aligned(const Device& device, const char* operation, std::size_t bytes);
void free_aligned(void* memory) noexcept;

/// Frees `memory` after all work that is in queues at the time of the call. So memory that the program drops while work uses
/// it stays valid, and the caller does not wait.
void free_behind_work(void* memory);
/// Call this before allocating. Waits, for at most 100 ms, while much memory from `free_behind_work` is still to be freed.
void wait_for_room();

/// A pool of memory that is freed and reused in stream order. Each block points to its pool. The queue that frees a block
/// may reuse it at once, because its later work runs after the free. Other queues may use the block only after the free has
/// run.
class HostMemoryPool final : public MemoryPoolImpl {
 public:
  HostMemoryPool(Device& device, const MemoryPoolOptions& options);
  ~HostMemoryPool() override;

  /// Returns a block for work of `queue`.
  void* take(std::size_t bytes, const Queue& queue);
  /// Called before the free of a block is enqueued to `queue`: from now on `queue` may reuse the block.
  static void offer_to(const Queue& queue, void* memory) noexcept;
  /// Runs a free: returns the block to its pool, unless the queue that freed the block has reused it.
  static void give_back(void* memory) noexcept;
  /// Runs a free in the order of `queue`. With WEIR_SCHEDULE it also overwrites the block and records the free.
  static void free_behind(void* memory, const Queue& queue) noexcept;

 protected:
  std::size_t do_used_bytes() const override;
  std::size_t do_reserved_bytes() const override;
  void do_trim_to(std::size_t keep) override;
  void do_set_release_threshold(std::size_t bytes) override;
  Disposal disposal() const noexcept override { return Disposal::anywhere; }

 private:
  struct Header;
  using QueuedFrees = std::multimap<std::pair<const Queue*, std::size_t>, Header*>;
  void forget_queued_free(Header& header) noexcept;
  void free_block(Header* header) noexcept;
  void trim_locked(std::size_t keep) noexcept;

  mutable std::mutex mutex_;
  const std::size_t max_size_;
  std::size_t threshold_;
  std::size_t used_ = 0;
  std::size_t reserved_ = 0;
  std::multimap<std::size_t, Header*> spare_;
  QueuedFrees queued_;  // blocks whose free has not run yet, by queue and size
};

}  // namespace weir::host
