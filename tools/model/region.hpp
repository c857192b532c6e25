// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/access.hpp"
#include "weir/stream_memory.hpp"

/// Regions of memory, with tests for overlap.
namespace weir::model {

/// Returns the number of bytes from the first to the last one of an access.
inline std::size_t extent_of(const MemoryAccess& access) noexcept {
  return access.rows == 0 ? 0 : (access.rows - 1) * access.pitch + access.bytes;
}
/// Returns the access to a value that a stream writes or waits for.
inline MemoryAccess access_of(const MemoryOperation& operation) noexcept {
  return {operation.address, operation.is_64() ? sizeof(std::uint64_t) : sizeof(std::uint32_t),
          operation.is_write() ? AccessKind::write : AccessKind::read};
}

/// The memory of an access: `rows` rows of `width` bytes, with `pitch` bytes from one row to the next.
struct Region {
  std::uintptr_t begin = 0;
  std::size_t width = 0, pitch = 0, rows = 1;

  explicit Region(const MemoryAccess& access) noexcept;
  std::uintptr_t end() const noexcept { return begin + (rows - 1) * pitch + width; }
  bool is_contiguous() const noexcept { return rows == 1; }
  bool overlaps(const Region& other) const noexcept;
  /// Whether this region contains all of `other`. Conservative for several rows: false is possible even if it does.
  bool contains(const Region& other) const noexcept;
};

}  // namespace weir::model
