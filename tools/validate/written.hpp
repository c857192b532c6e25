// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "tools/model/region.hpp"

/// Tracks which bytes of an allocation were written.
namespace weir::validate {

/// The bytes of an allocation that an operation has written or may have written.
class Written {
 public:
  void add(const model::Region& region);
  /// Returns how many bytes of the region nothing has written.
  std::size_t missing_in(const model::Region& region) const;

 private:
  void add(std::uintptr_t begin, std::uintptr_t end);
  std::size_t missing_in(std::uintptr_t begin, std::uintptr_t end) const;

  std::map<std::uintptr_t, std::uintptr_t> ranges_;  // begin and end; the ranges do not touch
};

}  // namespace weir::validate
