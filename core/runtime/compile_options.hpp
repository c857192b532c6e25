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

/// Throws `invalid_argument`, with the fault, for options that no compiler accepts.
void check_options(const CompileOptions& options, const char* operation, const std::string& object);

/// Makes a bundle of the source, which is compiled with these options on any backend; options in `extra` are only for
/// `backend`. Header folders are left out.
std::vector<std::byte> bundle_of(std::string_view source, const CompileOptions& options, std::string_view backend);

}  // namespace weir::detail
