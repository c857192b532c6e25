// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/device.hpp"

namespace entropy {

/// The user's options; `make_plan` sets the others.
struct Choices {
  std::optional<std::uint32_t> block_bytes;
  std::optional<std::size_t> chunk_bytes;
  std::optional<unsigned> slots;
  std::optional<unsigned> readers;
};

/// How the file is divided.
///
/// A block gives one entropy value and is counted by one kernel thread. A chunk is read, copied and counted at once; it is a
/// whole number of blocks. A slot is a buffer for one chunk, with its own stream: while one slot is counted, another is
/// copied, and others are filled from the file. A piece is the part that one reader thread reads at a time.
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

/// Throws `std::invalid_argument`, with the option and its range, if an option is invalid.
Plan make_plan(const Choices& choices, std::uint64_t file_bytes, const weir::Device& device);

}  // namespace entropy
