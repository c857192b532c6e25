// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
struct CompileOptions;
}

/// Checks of compile options, and their storage in a kernel bundle.
namespace weir::detail {

/// Throws `invalid_argument`, with the cause, for options that are invalid for every compiler.
void check_options(const CompileOptions& options, const char* operation, const std::string& object);

/// Makes a kernel bundle that contains the source and these options, so that it can be compiled for a device of any backend.
/// The options in `extra` are marked as options for `backend`. `include_directories` are not stored.
std::vector<std::byte> bundle_of(std::string_view source, const CompileOptions& options, std::string_view backend);

}  // namespace weir::detail
