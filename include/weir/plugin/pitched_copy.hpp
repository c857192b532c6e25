// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Copies of boxes, as passed to backends.
namespace weir {

/// A box of bytes to copy: rows of `width` bytes at a pitch, `height` of them in each of `depth` slices. In each memory,
/// slices start `rows` rows apart.
struct PitchedCopy {
  /// The position of the box in one memory.
  struct Side {
    std::byte* data = nullptr;
    std::size_t pitch = 0;  ///< bytes from one row to the next, at least `width`
    std::size_t rows = 0;   ///< from one slice to the next, at least `height`

    /// The address of a row of the box. Rows are numbered through all slices; each slice has `in_slice`.
    std::byte* row(std::size_t number, std::size_t in_slice) const noexcept {
      return data + (number / in_slice * rows + number % in_slice) * pitch;
    }
  };
  Side destination;
  Side source;
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t depth = 0;
};

}  // namespace weir
