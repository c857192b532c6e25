// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

/// Memory that a thread keeps between blocks, so that blocks do not allocate.
namespace weir::host {

/// A stack of pieces: the last one taken is returned first. For one thread.
class WorkerMemory {
 public:
  /// The calling thread's.
  static WorkerMemory& mine();

  /// Aligned to 64 bytes; uninitialized. Throws std::bad_alloc.
  void* take(std::size_t bytes);
  void give_back(void* memory) noexcept;
  /// Takes everything back: kernels are compiled without exceptions, so a block that finds no memory returns nothing.
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
