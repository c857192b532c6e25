// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
struct CompileOptions;
}

namespace weir::detail {

/// Throws `invalid_argument`, naming what is wrong, for options that no compiler can take.
void check_options(const CompileOptions& options, const char* operation, const std::string& object);

/// A bundle of the source, which is compiled with these options on any backend; those in `extra` are for `backend`. Folders
/// of headers are left out.
std::vector<std::byte> bundle_of(std::string_view source, const CompileOptions& options, std::string_view backend);

}  // namespace weir::detail
