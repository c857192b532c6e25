// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// `PitchedCopy`: a copy of a box of rows and slices, in the form that backends receive.
namespace weir {

/// A copy of a box: `depth` slices of `height` rows of `width` bytes. The pitches of the source and the destination may
/// differ.
struct PitchedCopy {
  /// The box in the source or the destination.
  struct Side {
    std::byte* data = nullptr;  ///< the first byte of the first row
    std::size_t pitch = 0;      ///< bytes from the start of one row to the start of the next, at least `width`
    std::size_t rows = 0;       ///< rows from the start of one slice to the start of the next, at least `height`

    /// The address of row `number` of the box. Rows are numbered consecutively through all slices; each slice has `in_slice`
    /// rows.
    std::byte* row(std::size_t number, std::size_t in_slice) const noexcept {
      return data + (number / in_slice * rows + number % in_slice) * pitch;
    }
  };
  Side destination;
  Side source;
  std::size_t width = 0;   ///< bytes of a row
  std::size_t height = 0;  ///< rows of a slice
  std::size_t depth = 0;   ///< slices
};

}  // namespace weir
