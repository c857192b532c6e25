// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "entropy_map.hpp"
#include "input_file.hpp"
#include "kernels.hpp"
#include "plan.hpp"
#include "reader_team.hpp"
#include "ring.hpp"
#include "weir/weir.hpp"

namespace entropy {

/// The main job: streams a file through a ring of slots, each with its own stream, so that reading, copying and counting
/// overlap.
///
///   readers         fill slot 0 │ fill slot 1 │ fill slot 2 │ …             as soon as a slot is drained
///   slot's stream   until filled → copy in → count blocks → copy out → drained
///
/// Each slot captures its round once as a graph and then launches the graph. Without graph capture, and for the last chunk,
/// which is shorter, it enqueues each step.
class Job final : private ChunkBuffers {
 public:
  /// `file` and `plan` must outlive the job.
  Job(weir::Device& device, const InputFile& file, const Plan& plan);
  ~Job() override = default;

  /// Measures the file. `done`: counts the bytes measured so far. May be called again.
  Findings run(std::atomic<std::uint64_t>& done);

  bool replays_graphs() const noexcept { return slots_.front().round != nullptr; }
  std::string_view ring_means() const noexcept { return ring_->means(); }

  /// Measure two parts alone, as upper limits for the speed of the whole job, and return the time in seconds. `time_reading`
  /// reads the file into the slots with the same threads; `time_copying` copies as many bytes from the slots to the device.
  double time_reading();
  double time_copying();

 private:
  struct Slot {
    weir::StreamPtr stream;
    weir::Buffer<std::byte> staging;  // pinned, with extra bytes for alignment
    std::byte* input = nullptr;       // the part of `staging` that is aligned for direct reads
    weir::Buffer<std::byte> device_input;
    weir::Buffer<float> device_entropy;
    weir::Buffer<float> entropy;         // pinned
    weir::Buffer<std::uint32_t> totals;  // the counts of each block, summed over all rounds
    weir::Buffer<unsigned long long> device_sums;
    weir::Buffer<unsigned long long> sums;  // pinned
    weir::GraphExecPtr round;               // the captured round of a full chunk; null without capture
  };

  bool is_free(std::uint64_t chunk) override;
  std::byte* buffer(std::uint64_t chunk) override { return slots_[index_of(chunk)].input; }
  void filled(std::uint64_t chunk) override;

  void make_slot(Slot& slot);
  void enqueue_steps(weir::Stream& stream, const Slot& slot, std::size_t bytes);
  void enqueue_round(std::uint64_t chunk);
  void submit_all(const ReaderTeam& readers);
  void await(const ReaderTeam& readers, std::uint64_t chunk, bool (Ring::*reached)(std::size_t, std::uint32_t) const);
  void harvest(std::uint64_t chunk);
  void add_up();
  void settle() noexcept;

  std::size_t index_of(std::uint64_t chunk) const noexcept { return static_cast<std::size_t>(chunk % slots_.size()); }
  std::uint32_t round_of(std::uint64_t chunk) const noexcept {
    return static_cast<std::uint32_t>(chunk / slots_.size()) + 1;
  }
  std::uint32_t bin_stride() const noexcept { return kernels_.interleaved ? plan_.blocks_per_chunk() : 1; }
  std::uint32_t block_stride() const noexcept { return kernels_.interleaved ? 1 : 256; }

  weir::Device& device_;
  const InputFile& file_;
  const Plan& plan_;
  Kernels kernels_;
  std::unique_ptr<Ring> ring_;
  std::vector<Slot> slots_;

  // The state of the current run.
  Findings* findings_ = nullptr;
  std::atomic<std::uint64_t>* done_ = nullptr;
  std::mutex harvest_mutex_;
};

}  // namespace entropy
