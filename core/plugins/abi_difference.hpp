// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Compares two build fingerprints, for errors about incompatible binaries.
namespace weir::detail {

/// The fields in which two fingerprints differ, as each side has them: "debug-containers=1, Stream=104".
struct AbiDifference {
  std::string theirs, ours;  ///< both empty if the fingerprints are equal
};

/// Compares two fingerprints: texts of words "key=value". A missing key is shown as "no key". The result contains the first
/// four differences and the number of others. Unprintable characters become '?'.
AbiDifference abi_difference(std::string_view theirs, std::string_view ours);

/// Makes untrusted text printable for a message: at most 200 characters, with '?' for unprintable ones.
std::string printable(std::string_view text);

}  // namespace weir::detail
