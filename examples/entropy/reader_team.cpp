// SPDX-License-Identifier: Apache-2.0
#include "reader_team.hpp"

#include <algorithm>
#include <weir/annotation.hpp>

#include "patience.hpp"

namespace entropy {
namespace {

std::uint64_t pieces_of(const Plan& plan, std::uint64_t chunk) {
  return (plan.bytes_of_chunk(chunk) + plan.piece_bytes - 1) / plan.piece_bytes;
}

}  // namespace

ReaderTeam::ReaderTeam(const InputFile& file, const Plan& plan, ChunkBuffers& buffers)
    : file_(file), plan_(plan), buffers_(buffers), unread_(new std::atomic<std::uint64_t>[plan.slots]) {
  for (unsigned slot = 0; slot < plan.slots && slot < plan.chunks(); ++slot) unread_[slot] = pieces_of(plan, slot);
  for (unsigned i = 0; i < plan.readers; ++i) threads_.emplace_back([this] { run(); });
}

void ReaderTeam::run() {
  const std::uint64_t pieces_per_chunk = plan_.chunk_bytes / plan_.piece_bytes;
  const std::uint64_t chunks = plan_.chunks();
  try {
    while (!stopped()) {
      const std::uint64_t piece = next_piece_.fetch_add(1, std::memory_order_relaxed);
      const std::uint64_t chunk = piece / pieces_per_chunk;
      if (chunk >= chunks) return;
      const std::size_t offset = static_cast<std::size_t>(piece % pieces_per_chunk) * plan_.piece_bytes;
      const std::size_t chunk_bytes = plan_.bytes_of_chunk(chunk);
      if (offset >= chunk_bytes) return;  // beyond the end of the last chunk

      wait_until([&] { return stopped() || buffers_.is_free(chunk); });
      if (stopped()) return;
      {
        const weir::ScopedRange reading("read");  // for WEIR_TOOLS=timeline
        file_.read(buffers_.buffer(chunk) + offset, std::min(plan_.piece_bytes, chunk_bytes - offset),
                   chunk * plan_.chunk_bytes + offset);
      }

      std::atomic<std::uint64_t>& unread = unread_[chunk % plan_.slots];
      if (unread.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        // Set the count for the slot's next chunk now. No reader uses it before `filled`, after which that chunk starts.
        if (chunk + plan_.slots < chunks) unread.store(pieces_of(plan_, chunk + plan_.slots), std::memory_order_relaxed);
        buffers_.filled(chunk);
      }
    }
  } catch (...) {
    std::call_once(first_failure_, [this] { failure_ = std::current_exception(); });
    stop();
  }
}

void ReaderTeam::join() {
  threads_.clear();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace entropy
