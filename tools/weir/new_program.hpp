// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// `weir new`: creates a first program.
namespace weir::tool {

/// Creates a folder with a program, a kernel and a CMakeLists.txt; the folder's name is the program's name. Returns the next
/// steps for the user. Throws `std::runtime_error` if the folder contains such files, or if CMake does not accept the name.
std::string make_program(const std::string& folder);

}  // namespace weir::tool
