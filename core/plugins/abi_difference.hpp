// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::detail {

/// The differences of two fingerprints, for an error that names both sides: "debug-containers=1, Stream=104".
struct AbiDifference {
  std::string theirs, ours;  ///< both empty if there is no difference
};

/// Compares texts of words "key=value". A key that one side lacks is "no key" there. Names the first few differences and
/// counts the others. Shows unprintable characters as '?'.
AbiDifference abi_difference(std::string_view theirs, std::string_view ours);

/// Text of unknown origin for a message: at most 200 characters, with '?' for unprintable ones.
std::string printable(std::string_view text);

}  // namespace weir::detail
