// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>

/// What of the vendors' toolkits Clang's code for GPUs needs: the libraries of functions such as `sinf`, and ptxas.
namespace weir::kernel_tool {

/// CUDA's libdevice.10.bc. Throws std::runtime_error with the remedy if this machine has none.
std::filesystem::path libdevice();

/// The program ptxas of the CUDA Toolkit, or an empty path if this machine has none.
std::filesystem::path ptxas();

/// The folder of ROCm's device libraries, which must support `architecture`, such as gfx90a. Throws std::runtime_error with
/// the remedy if there is none, or if it does not.
std::filesystem::path rocm_device_libraries(const std::string& architecture);

/// The functions and variables that PTX code uses and neither it nor the driver defines.
std::set<std::string> undefined_in_ptx(const std::string& ptx);

}  // namespace weir::kernel_tool
