// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

/// Memory that each worker keeps from block to block, so that blocks do not allocate.
namespace weir::host {

/// A stack of pieces of memory: the piece that was taken last must be returned first. Used by one thread.
class WorkerMemory {
 public:
  /// The memory of the calling thread.
  static WorkerMemory& mine();

  /// Returns memory aligned to 64 bytes and uninitialized. Throws std::bad_alloc.
  void* take(std::size_t bytes);
  void give_back(void* memory) noexcept;
  /// Makes all pieces free. Needed after a block that ran out of memory, which returns no piece because kernels are compiled
  /// without exceptions.
  void reset() noexcept;

 private:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t least_chunk = std::size_t{256} << 10U;
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::operator delete[](memory, std::align_val_t{alignment}); }
  };
  struct Chunk {
    std::unique_ptr<std::byte[], Free> memory;
    std::size_t size;
    std::size_t used;
  };

  std::vector<Chunk> chunks_;
  std::size_t current_ = 0;
};

}  // namespace weir::host
