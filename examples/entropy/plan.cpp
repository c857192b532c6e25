// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <thread>

namespace entropy {
namespace {

constexpr std::uint32_t least_block = 256;
constexpr std::uint32_t greatest_block = 32768;  // the counts of a block have 16 bits
constexpr std::size_t least_chunk = std::size_t{64} << 10;
constexpr std::size_t greatest_chunk = std::size_t{256} << 20;

// A small file has small blocks, so that its picture has detail. With blocks below 512 bytes, random data and text look
// alike, because so few bytes are counted in 256 bins.
std::uint32_t default_block(std::uint64_t file_bytes) {
  constexpr std::uint64_t blocks_wanted = 4096;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_floor(file_bytes / blocks_wanted + 1), 512, 4096));
}

// A GPU needs thousands of blocks at a time. A device that shares its memory with the host is faster if a chunk fits the
// cache. Even a small file is divided into several chunks, so that reading, copying and counting overlap.
std::size_t default_chunk(std::uint64_t file_bytes, const weir::Device& device) {
  const std::size_t most = device.properties().integrated ? std::size_t{2} << 20 : std::size_t{16} << 20;
  return std::clamp(static_cast<std::size_t>(std::bit_floor(file_bytes / 16 + 1)), least_chunk, most);
}

// Enough threads to keep up with a PCIe bus. Some processors remain for the submitting thread and the driver's threads.
unsigned default_readers() { return std::clamp(std::thread::hardware_concurrency() * 3 / 4, 2U, 12U); }

}  // namespace

std::size_t Plan::bytes_of_chunk(std::uint64_t chunk) const noexcept {
  return static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, file_bytes - chunk * chunk_bytes));
}

Plan make_plan(const Choices& choices, std::uint64_t file_bytes, const weir::Device& device) {
  Plan plan;
  plan.file_bytes = file_bytes;
  plan.block_bytes = choices.block_bytes.value_or(default_block(file_bytes));
  if (!std::has_single_bit(plan.block_bytes) || plan.block_bytes < least_block || plan.block_bytes > greatest_block) {
    throw std::invalid_argument(
        fmt::format("--block {}: must be a power of two from {} to {}", plan.block_bytes, least_block, greatest_block));
  }
  plan.chunk_bytes = choices.chunk_bytes.value_or(default_chunk(file_bytes, device));
  if (!std::has_single_bit(plan.chunk_bytes) || plan.chunk_bytes < least_chunk || plan.chunk_bytes > greatest_chunk) {
    throw std::invalid_argument(
        fmt::format("--chunk {}: must be a power of two from {} to {}", plan.chunk_bytes, least_chunk, greatest_chunk));
  }
  plan.slots = choices.slots.value_or(4);
  plan.readers = choices.readers.value_or(default_readers());
  plan.piece_bytes =
      std::clamp<std::size_t>(std::bit_floor(plan.chunk_bytes / plan.readers), least_chunk, std::size_t{1} << 20);

  // The counts of the whole file stay on the device, with 32 bits for each block of a slot.
  const std::uint64_t rounds = (plan.chunks() + plan.slots - 1) / plan.slots;
  if (rounds > std::numeric_limits<std::uint32_t>::max() / plan.block_bytes) {
    throw std::invalid_argument(fmt::format("a file of {} bytes needs larger chunks: raise --chunk or --slots", file_bytes));
  }
  return plan;
}

}  // namespace entropy
