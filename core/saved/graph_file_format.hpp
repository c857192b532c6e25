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
#include "weir/module.hpp"

/// The structures in a graph file, which docs/graph-format.md describes. The file consists of records like those of a kernel
/// bundle. Enumerators of public headers, such as an OperationKind, are stored as numbers, which therefore must not change.
namespace weir::detail {

inline constexpr std::string_view graph_magic = "\x89WEIRGR\n";
inline constexpr std::uint32_t graph_version = 1;
inline constexpr std::uint64_t most_graph_bytes = std::uint64_t{1} << 30U;
inline constexpr std::size_t most_graph_nesting = 32;

/// The kinds of records. Records of one kind are numbered from 0, in the order of the file; other records refer to these
/// numbers.
namespace record {
inline constexpr std::string_view origin = "from";     ///< name: "BACKEND ARCHITECTURE", on which the graph was captured
inline constexpr std::string_view module = "modu";     ///< data: a kernel bundle
inline constexpr std::string_view function = "kern";   ///< name: the kernel's name; data: the number of its module
inline constexpr std::string_view memory = "memo";     ///< name: the name for binding; data: SavedMemory, then the contents,
                                                       ///< if any
inline constexpr std::string_view operation = "oper";  ///< name: the name of a host function; data: an OperationKind, the
                                                       ///< dependencies, then the fields of that kind
inline constexpr std::string_view begin = "open";      ///< the operations up to `end` belong to a child graph or a body
inline constexpr std::string_view end = "shut";
}  // namespace record

struct SavedMemory {
  std::uint64_t bytes;
  std::uint32_t alignment;  ///< in bytes; a power of 2, at most 256
  std::uint8_t kind, role;  ///< a MemoryKind and a MemoryRole
  std::uint16_t reserved;
};

/// An address in a file: an offset into named memory, or into memory that the graph allocates.
struct SavedAddress {
  static constexpr std::uint32_t null = UINT32_MAX, allocated = std::uint32_t{1} << 31U;
  std::uint32_t memory;  ///< the number of the named memory; or `allocated` | the number of the allocation; or `null`
  std::uint32_t reserved;
  std::uint64_t offset;
};

/// A box of rows and slices, like detail::PitchedBytes.
struct SavedBox {
  SavedAddress first;
  std::uint64_t width, height, depth, row_pitch, slice_pitch;
};

struct SavedLaunch {
  std::uint32_t kernel;
  Dim3 grid, block, cluster;
  std::uint32_t shared_memory;
  std::int32_t priority;
  std::uint8_t cooperative, programmatic, has_priority, reserved;
  std::uint32_t arguments;  ///< The number of arguments. For each argument follow its size and how many addresses it
                            ///< contains (4 bytes each), then its bytes and the addresses.
};

struct SavedMemoryOperation {
  SavedAddress address;
  std::uint64_t value;
  std::uint8_t kind, condition, remote_writes, reserved[5];
};

struct SavedConditional {
  SavedAddress condition;
  std::uint32_t kind, bodies;  ///< a ConditionalKind; the number of bodies
};

/// Appends numbers and bytes to the data of a record.
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

/// A checksum that detects accidental damage. It does not protect against an attacker.
inline std::uint64_t check_number(std::span<const std::byte> records) noexcept {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U;
  std::uint64_t even = records.size(), odd = factor;  // two sums, so that the processor can compute two multiplications at a
                                                      // time
  for (std::size_t i = 0; i + 16 <= records.size(); i += 16) {
    std::uint64_t words[2];
    std::memcpy(words, records.data() + i, 16);
    even = std::rotl(even ^ words[0], 29) * factor;
    odd = std::rotl(odd ^ words[1], 31) * factor;
  }
  return (even ^ std::rotl(odd, 17)) * factor;
}

}  // namespace weir::detail
