// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <algorithm>
#include <exception>

#include "patience.hpp"
#include "stopwatch.hpp"

namespace entropy {

Job::Job(weir::Device& device, const InputFile& file, const Plan& plan)
    : device_(device),
      file_(file),
      plan_(plan),
      kernels_(device),
      ring_(Ring::make(device, plan.slots)),
      slots_(plan.slots) {
  for (Slot& slot : slots_) make_slot(slot);
  for (Slot& slot : slots_) slot.stream->synchronize();
}

void Job::make_slot(Slot& slot) {
  using enum weir::MemoryKind;
  constexpr std::size_t alignment = InputFile::direct_alignment;
  const std::size_t blocks = plan_.blocks_per_chunk();

  slot.stream = device_.create_stream();
  slot.staging = device_.allocate<std::byte>(plan_.chunk_bytes + alignment, pinned);
  const auto address = reinterpret_cast<std::uintptr_t>(slot.staging.data());
  slot.input = slot.staging.data() + (alignment - address % alignment) % alignment;
  slot.device_input = device_.allocate<std::byte>(plan_.chunk_bytes);
  slot.device_entropy = device_.allocate<float>(blocks);
  slot.entropy = device_.allocate<float>(blocks, pinned);
  slot.totals = device_.allocate<std::uint32_t>(blocks * 256);
  slot.device_sums = device_.allocate<unsigned long long>(256 * Kernels::parts);
  slot.sums = device_.allocate<unsigned long long>(256 * Kernels::parts, pinned);

  if (device_.supports(weir::Feature::graph_capture)) {
    const auto steps = slot.stream->capture([&](weir::Stream& s) { enqueue_steps(s, slot, plan_.chunk_bytes); });
    slot.round = steps->instantiate();
    if (device_.supports(weir::Feature::graph_upload)) slot.round->upload(*slot.stream);
  }
}

// Enqueues the steps for a chunk: copy it to the device, count its blocks, and copy their entropies back.
void Job::enqueue_steps(weir::Stream& stream, const Slot& slot, std::size_t bytes) {
  const std::size_t blocks = (bytes + plan_.block_bytes - 1) / plan_.block_bytes;
  stream.copy_bytes(slot.device_input.data(), slot.input, bytes);
  stream.launch(kernels_.block_entropy, weir::grid_for(blocks, Kernels::threads), slot.device_input,
                static_cast<unsigned long long>(bytes), plan_.block_bytes, slot.device_entropy, slot.totals, bin_stride(),
                block_stride());
  stream.copy(slot.entropy.subspan(0, blocks), slot.device_entropy.subspan(0, blocks));
}

void Job::enqueue_round(std::uint64_t chunk) {
  Slot& slot = slots_[index_of(chunk)];
  ring_->begin_round(*slot.stream, index_of(chunk), round_of(chunk));
  if (const std::size_t bytes = plan_.bytes_of_chunk(chunk); slot.round && bytes == plan_.chunk_bytes) {
    slot.round->launch(*slot.stream);
  } else {
    enqueue_steps(*slot.stream, slot, bytes);
  }
  ring_->end_round(*slot.stream, index_of(chunk), round_of(chunk));
}

Findings Job::run(std::atomic<std::uint64_t>& done) {
  Findings findings{.map = EntropyMap(plan_)};
  findings_ = &findings;
  done_ = &done;
  ring_->restart();
  for (Slot& slot : slots_) slot.stream->fill(slot.totals, 0U);

  ReaderTeam readers(file_, plan_, *this);
  try {
    submit_all(readers);
    readers.join();
    for (std::uint64_t chunk = plan_.chunks() - std::min<std::uint64_t>(plan_.chunks(), slots_.size());
         chunk < plan_.chunks(); ++chunk) {
      harvest(chunk);
    }
    add_up();
  } catch (...) {
    readers.stop();
    settle();
    throw;
  }
  return findings;
}

void Job::submit_all(const ReaderTeam& readers) {
  for (std::uint64_t chunk = 0; chunk < plan_.chunks() && !readers.stopped(); ++chunk) {
    await(readers, chunk, &Ring::may_submit);
    if (!readers.stopped()) enqueue_round(chunk);
  }
  for (std::uint64_t chunk = plan_.chunks() - std::min<std::uint64_t>(plan_.chunks(), slots_.size());
       chunk < plan_.chunks() && !readers.stopped(); ++chunk) {
    await(readers, chunk, &Ring::is_drained);
  }
}

// Waits until the ring has reached a state or a reader has failed. It sometimes queries the stream, because if the stream's
// work has failed, the ring would never reach the state, but the query throws.
void Job::await(const ReaderTeam& readers, std::uint64_t chunk, bool (Ring::*reached)(std::size_t, std::uint32_t) const) {
  unsigned looks = 0;
  wait_until([&] {
    if (++looks % 1024 == 0) (void)slots_[index_of(chunk)].stream->is_complete();
    return readers.stopped() || (*ring_.*reached)(index_of(chunk), round_of(chunk));
  });
}

bool Job::is_free(std::uint64_t chunk) { return ring_->is_drained(index_of(chunk), round_of(chunk) - 1); }

// After `set_filled`, the stream may overwrite the slot's previous results, so collect them first.
void Job::filled(std::uint64_t chunk) {
  if (chunk >= slots_.size()) harvest(chunk - slots_.size());
  ring_->set_filled(index_of(chunk), round_of(chunk));
}

void Job::harvest(std::uint64_t chunk) {
  const std::size_t bytes = plan_.bytes_of_chunk(chunk);
  const std::size_t blocks = (bytes + plan_.block_bytes - 1) / plan_.block_bytes;
  const std::lock_guard lock(harvest_mutex_);  // in a huge file, two chunks may share a cell
  findings_->map.add(chunk * plan_.blocks_per_chunk(), slots_[index_of(chunk)].entropy.host().first(blocks));
  done_->fetch_add(bytes, std::memory_order_relaxed);
}

// Adds the counts of all slots to the file's histogram.
void Job::add_up() {
  for (Slot& slot : slots_) {
    slot.stream->launch(kernels_.sum_totals, weir::grid_for(256 * Kernels::parts, Kernels::threads), slot.totals,
                        plan_.blocks_per_chunk(), bin_stride(), block_stride(), Kernels::parts, slot.device_sums);
    slot.stream->copy(slot.sums, slot.device_sums);
  }
  for (Slot& slot : slots_) {
    slot.stream->synchronize();
    const auto sums = slot.sums.host();
    for (std::size_t i = 0; i < sums.size(); ++i) findings_->histogram[i / Kernels::parts] += sums[i];
  }
}

// Ends the run after an error. Makes sure that no stream waits for a reader or uses memory that will be freed.
void Job::settle() noexcept {
  ring_->release();
  for (Slot& slot : slots_) {
    try {
      slot.stream->synchronize();
    } catch (const std::exception&) {
      // Ignored: the first error is reported.
    }
  }
}

}  // namespace entropy
