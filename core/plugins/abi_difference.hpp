// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::detail {

/// The differences of two fingerprints, for an error that names both sides: "debug-containers=1, Stream=104".
struct AbiDifference {
  std::string theirs, ours;  ///< both empty if they are equal
};

/// Compares texts of words "key=value". A key that one side lacks is shown as "no key". Lists the first few differences and
/// counts the others. Replaces unprintable characters with '?'.
AbiDifference abi_difference(std::string_view theirs, std::string_view ours);

/// Makes text of unknown origin printable for a message: at most 200 characters, with '?' for unprintable ones.
std::string printable(std::string_view text);

}  // namespace weir::detail
