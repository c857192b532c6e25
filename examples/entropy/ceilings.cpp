// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <utility>
#include <vector>

#include "job.hpp"
#include "stopwatch.hpp"

namespace entropy {
namespace {

/// Buffers without any work: a slot is free as soon as it is full.
class BareBuffers final : public ChunkBuffers {
 public:
  explicit BareBuffers(std::vector<std::byte*> buffers) : buffers_(std::move(buffers)), filled_(buffers_.size()) {}

  bool is_free(std::uint64_t chunk) override {
    return filled_[slot_of(chunk)].load(std::memory_order_acquire) >= chunk / buffers_.size();
  }
  std::byte* buffer(std::uint64_t chunk) override { return buffers_[slot_of(chunk)]; }
  void filled(std::uint64_t chunk) override { filled_[slot_of(chunk)].fetch_add(1, std::memory_order_release); }

 private:
  std::size_t slot_of(std::uint64_t chunk) const { return static_cast<std::size_t>(chunk % buffers_.size()); }

  std::vector<std::byte*> buffers_;
  std::vector<std::atomic<std::uint64_t>> filled_;
};

}  // namespace

double Job::time_reading() {
  std::vector<std::byte*> inputs;
  for (const Slot& slot : slots_) inputs.push_back(slot.input);
  BareBuffers buffers(std::move(inputs));
  const Stopwatch time;
  ReaderTeam(file_, plan_, buffers).join();
  return time.seconds();
}

double Job::time_copying() {
  const Stopwatch time;
  for (std::uint64_t chunk = 0; chunk < plan_.chunks(); ++chunk) {
    const Slot& slot = slots_[index_of(chunk)];
    slot.stream->copy_bytes(slot.device_input.data(), slot.input, plan_.bytes_of_chunk(chunk));
  }
  for (const Slot& slot : slots_) slot.stream->synchronize();
  return time.seconds();
}

}  // namespace entropy
