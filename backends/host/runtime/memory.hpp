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

/// Aligned memory. Throws `out_of_memory`.
void* allocate_aligned(const Device& device, const char* operation, std::size_t bytes);
void free_aligned(void* memory) noexcept;

/// Frees `memory` after all work that queues have at the time of the call. So memory that is dropped during its use stays
/// valid, and the caller does not wait.
void free_behind_work(void* memory);
/// Call it before allocating: waits, for at most 100 ms, while much memory is waiting to be freed after work.
void wait_for_room();

/// Memory that is freed and reused in stream order. Blocks contain their pool. A queue gets a block that it has freed again
/// at once, because its next use comes after the free; other queues get it when the free has run.
class HostMemoryPool final : public MemoryPoolImpl {
 public:
  HostMemoryPool(Device& device, const MemoryPoolOptions& options);
  ~HostMemoryPool() override;

  /// For work of `queue`.
  void* take(std::size_t bytes, const Queue& queue);
  /// Called before the free of a block is enqueued there: from now on the queue may reuse the block.
  static void offer_to(const Queue& queue, void* memory) noexcept;
  /// A free: returns the block to its pool, unless the queue that it was offered to has reused it.
  static void give_back(void* memory) noexcept;
  /// The same, called in the order of `queue`. With WEIR_SCHEDULE it overwrites the block and records that.
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
  QueuedFrees queued_;  // blocks whose frees have not run, by queue and size
};

}  // namespace weir::host
