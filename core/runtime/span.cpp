// SPDX-License-Identifier: Apache-2.0
#include "weir/span.hpp"

#include <string>

#include "weir/error.hpp"
#include "weir/pitched_span.hpp"

// The checks of sizes in span.hpp and pitched_span.hpp.
namespace weir {

void detail::throw_too_many_bytes(const char* operation, std::size_t count, std::size_t element_size) {
  throw Error(Errc::invalid_argument, operation, "",
              std::to_string(count) + " x " + std::to_string(element_size) +
                  " bytes are more than any memory has; perhaps a difference became negative");
}

void detail::throw_length_mismatch(const char* operation, const std::string& object, std::size_t to, std::size_t from) {
  throw Error(Errc::length_mismatch, operation, object,
              "the destination has " + std::to_string(to) + " elements, but the source " + std::to_string(from) +
                  "; copy a subspan of the longer side");
}

void detail::check_extent(std::size_t elements, const Extent& extent) {
  std::size_t needed = 0;
  if (__builtin_mul_overflow(extent.width, extent.height, &needed) ||
      __builtin_mul_overflow(needed, extent.depth, &needed) || needed > elements) {
    throw Error(Errc::length_mismatch, "pitched", "",
                std::to_string(elements) + " elements are fewer than " + std::to_string(extent.width) + " x " +
                    std::to_string(extent.height) + " x " + std::to_string(extent.depth));
  }
}

void detail::check_box(const Extent& extent, const Position& origin, const Extent& box) {
  const auto check = [](const char* axis, std::size_t all, std::size_t first, std::size_t count) {
    if (first <= all && count <= all - first) return;
    throw Error(Errc::invalid_argument, "PitchedSpan::box", "",
                std::string(axis) + ": " + std::to_string(count) + " from " + std::to_string(first) + " on are not within " +
                    std::to_string(all));
  };
  check("elements of a row", extent.width, origin.x, box.width);
  check("rows", extent.height, origin.y, box.height);
  check("slices", extent.depth, origin.z, box.depth);
}

}  // namespace weir
