// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/saved/kernel_bundle_format.hpp"

/// The bytes of a saved graph, as docs/graph-format.md describes them: records like those of a bundle.
namespace weir::detail {

inline constexpr std::string_view graph_magic = "\x89WEIRGR\n";
inline constexpr std::uint32_t graph_version = 1;
inline constexpr std::uint64_t most_graph_bytes = std::uint64_t{1} << 30U;
inline constexpr std::size_t most_graph_nesting = 32;

/// Kinds of records. The records of each kind are numbered from 0.
namespace record {
inline constexpr std::string_view origin = "from";     ///< name: the backend, a space, the architecture
inline constexpr std::string_view module = "modu";     ///< data: a bundle
inline constexpr std::string_view function = "kern";   ///< name: a kernel's; data: the number of its module
inline constexpr std::string_view memory = "memo";     ///< name: for binding; data: SavedMemory, then the contents
inline constexpr std::string_view operation = "oper";  ///< name: a host function's; data: SavedOperation, then the rest
inline constexpr std::string_view begin = "open";      ///< up to `end`: operations of a child graph or a body
inline constexpr std::string_view end = "shut";
}  // namespace record

struct SavedMemory {
  std::uint64_t bytes;
  std::uint32_t alignment;  ///< a power of 2, up to 256
  std::uint8_t kind, role;  ///< MemoryKind, MemoryRole
  std::uint16_t reserved;
};

enum class SavedKind : std::uint8_t {
  kernel = 1,
  copy,
  fill,
  memory_operations,
  host_function,
  allocate,
  free,
  child_graph,
  conditional,
};

/// An address: a byte of named memory, or of memory that the graph allocates.
struct SavedAddress {
  static constexpr std::uint32_t null = UINT32_MAX, allocated = std::uint32_t{1} << 31U;
  std::uint32_t memory;  ///< its number; with `allocated`, that of the allocation; or `null`
  std::uint32_t reserved;
  std::uint64_t offset;
};

/// Rows in slices, like detail::PitchedBytes.
struct SavedBox {
  SavedAddress first;
  std::uint64_t width, height, depth, row_pitch, slice_pitch;
};

struct SavedLaunch {
  std::uint32_t kernel;
  std::uint32_t grid[3], block[3], cluster[3];
  std::uint32_t shared_memory;
  std::int32_t priority;
  std::uint8_t cooperative, programmatic, has_priority, reserved;
  std::uint32_t arguments;  ///< for each: its size, whether it is an address (4 bytes each), and the bytes or a SavedAddress
};

struct SavedMemoryOperation {
  std::uint8_t kind, condition, remote_writes, reserved[5];
  SavedAddress address;
  std::uint64_t value;
};

/// Writes the numbers of a record's data one after the other.
class NumberWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::has_unique_object_representations_v<T>);
    append(std::as_bytes(std::span(&value, 1)));
  }
  void append(std::span<const std::byte> data) { bytes.insert(bytes.end(), data.begin(), data.end()); }

  std::vector<std::byte> bytes;
};

/// A checksum against accidental damage, not against an attacker.
inline std::uint64_t check_number(std::span<const std::byte> records) noexcept {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U;
  std::uint64_t even = records.size(), odd = factor;  // two sums, so that the processor can overlap the multiplications
  for (std::size_t i = 0; i + 16 <= records.size(); i += 16) {
    std::uint64_t words[2];
    std::memcpy(words, records.data() + i, 16);
    even = std::rotl(even ^ words[0], 29) * factor;
    odd = std::rotl(odd ^ words[1], 31) * factor;
  }
  return (even ^ std::rotl(odd, 17)) * factor;
}

}  // namespace weir::detail
