// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/worker_memory.hpp"

#include <algorithm>

#include "kernels/kernel_abi.hpp"

namespace weir::host {

WorkerMemory& WorkerMemory::mine() {
  // Aligned because AddressSanitizer before LLVM 16 misreads thread-local memory that begins 16 bytes into a page.
  alignas(64) thread_local WorkerMemory memory;
  return memory;
}

void* WorkerMemory::take(std::size_t bytes) {
  bytes = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  std::size_t at = current_;
  while (at < chunks_.size() && chunks_[at].size - chunks_[at].used < bytes) {
    if (chunks_[at].used == 0) {  // unused, but too small
      chunks_.resize(at);
    } else {
      ++at;
    }
  }
  if (at == chunks_.size()) {
    const std::size_t size = std::max(bytes, at == 0 ? least_chunk : 2 * chunks_.back().size);
    chunks_.push_back({std::unique_ptr<std::byte[], Free>(new (std::align_val_t{alignment}) std::byte[size]), size, 0});
  }
  current_ = at;
  Chunk& chunk = chunks_[current_];
  void* const memory = chunk.memory.get() + chunk.used;
  chunk.used += bytes;
  return memory;
}

void WorkerMemory::give_back(void* memory) noexcept {
  chunks_[current_].used = static_cast<std::size_t>(static_cast<std::byte*>(memory) - chunks_[current_].memory.get());
  while (current_ > 0 && chunks_[current_].used == 0) --current_;
}

void WorkerMemory::reset() noexcept {
  for (Chunk& chunk : chunks_) chunk.used = 0;
  current_ = 0;
}

}  // namespace weir::host
