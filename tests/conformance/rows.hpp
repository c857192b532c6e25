// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

/// The rows of the table of capabilities that the suite covers. A case's name begins with the rows that it shows.
namespace conformance {

inline constexpr int row_count = 48;

/// What row S`row` (1 to 48) is about.
std::string_view row_title(int row);

/// The rows at the beginning of a case's name: "S21 S22 record: …" gives 21 and 22.
std::vector<int> rows_of(std::string_view case_name);

}  // namespace conformance
