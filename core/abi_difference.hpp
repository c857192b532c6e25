// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::detail {

/// Where two fingerprints differ, for an error that names both sides: "debug-containers=1, Stream=104".
struct AbiDifference {
  std::string theirs, ours;  ///< both empty if the fingerprints say the same
};

/// Compares texts of words "key=value", each with a value for a key that the other lacks as "no key". The first few
/// differences are named and the rest is counted. What is not printable in `theirs` is shown as '?'.
AbiDifference abi_difference(std::string_view theirs, std::string_view ours);

/// Text of unknown origin, fit for a message: at most 200 characters, '?' for each that is not printable.
std::string printable(std::string_view text);

}  // namespace weir::detail
