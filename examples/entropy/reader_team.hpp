// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "input_file.hpp"
#include "plan.hpp"

namespace entropy {

/// The buffers that the readers fill.
class ChunkBuffers {
 public:
  virtual ~ChunkBuffers() = default;
  /// Whether the buffer of `chunk` may be overwritten. Called on several threads at the same time.
  virtual bool is_free(std::uint64_t chunk) = 0;
  virtual std::byte* buffer(std::uint64_t chunk) = 0;
  /// Called when all of `chunk` is in its buffer: once for each chunk, on the thread of a reader.
  virtual void filled(std::uint64_t chunk) = 0;
};

/// Threads that read a file together into a ring of buffers. They read it piece by piece, in the order of the file.
class ReaderTeam {
 public:
  /// Starts reading.
  ReaderTeam(const InputFile& file, const Plan& plan, ChunkBuffers& buffers);
  /// Waits until the readers have ended.
  ~ReaderTeam() = default;

  /// Makes the readers stop early.
  void stop() noexcept { stopped_.store(true, std::memory_order_release); }
  /// Whether the readers were stopped or one has failed, so that no more chunks will be filled.
  bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
  /// Waits until the readers have ended. Rethrows a reader's exception.
  void join();

 private:
  void run();

  const InputFile& file_;
  const Plan& plan_;
  ChunkBuffers& buffers_;
  std::atomic<std::uint64_t> next_piece_{0};
  std::unique_ptr<std::atomic<std::uint64_t>[]> unread_;  // by slot: number of unread pieces of its chunk
  std::atomic<bool> stopped_{false};
  std::once_flag first_failure_;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // last, because the threads use the members above
};

}  // namespace entropy
