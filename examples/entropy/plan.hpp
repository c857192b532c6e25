// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/device.hpp"

/// The division of the file into blocks, chunks and slots.
namespace entropy {

/// The user's options. `make_plan` chooses values for the empty ones.
struct Choices {
  std::optional<std::uint32_t> block_bytes;
  std::optional<std::size_t> chunk_bytes;
  std::optional<unsigned> slots;
  std::optional<unsigned> readers;
};

/// How the file is divided into parts.
///
/// A block has one entropy value, and one thread of the kernel counts it. A chunk is a number of whole blocks that are
/// copied and counted together. A slot is a buffer for one chunk, with its own stream. While one slot is counted, another
/// one is copied, and others are filled from the file. A piece is the part of a chunk that one reader thread reads at a
/// time.
struct Plan {
  std::uint64_t file_bytes = 0;
  std::uint32_t block_bytes = 0;
  std::size_t chunk_bytes = 0;
  std::size_t piece_bytes = 0;
  unsigned slots = 0;
  unsigned readers = 0;

  std::uint64_t chunks() const noexcept { return (file_bytes + chunk_bytes - 1) / chunk_bytes; }
  std::uint64_t blocks() const noexcept { return (file_bytes + block_bytes - 1) / block_bytes; }
  std::uint32_t blocks_per_chunk() const noexcept { return static_cast<std::uint32_t>(chunk_bytes / block_bytes); }
  /// All chunks but the last have the full size.
  std::size_t bytes_of_chunk(std::uint64_t chunk) const noexcept;
};

/// Completes the options. If one is invalid, throws `std::invalid_argument` with the option and its range.
Plan make_plan(const Choices& choices, std::uint64_t file_bytes, const weir::Device& device);

}  // namespace entropy
