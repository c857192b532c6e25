// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

/// The rows of the table of capabilities that the suite covers. The name of a case begins with the rows that it tests.
namespace conformance {

inline constexpr int row_count = 48;

/// Returns the title of row S`row` (1 to 48).
std::string_view row_title(int row);

/// Returns the rows at the beginning of a case's name: 21 and 22 for "S21 S22 record: …".
std::vector<int> rows_of(std::string_view case_name);

}  // namespace conformance
