// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// `weir new`: a program to begin with.
namespace weir::tool {

/// Makes the folder with a program, a kernel and a CMakeLists.txt, named after the folder. Returns what to do next. Throws
/// `std::runtime_error` where there is something already, or where the name is none that CMake takes.
std::string make_program(const std::string& folder);

}  // namespace weir::tool
