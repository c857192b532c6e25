// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>

/// The vendors' libraries of device functions, with which Clang compiles `sinf` and the like for GPUs.
namespace weir::kernel_tool {

/// CUDA's libdevice.10.bc. Throws std::runtime_error with the remedy if this machine has none.
std::filesystem::path libdevice();

/// The folder of ROCm's device libraries, which must support `architecture`, such as gfx90a. Throws std::runtime_error with
/// the remedy if there is none, or if it does not.
std::filesystem::path rocm_device_libraries(const std::string& architecture);

/// The functions and variables that PTX code uses and neither it nor the driver defines.
std::set<std::string> undefined_in_ptx(const std::string& ptx);

}  // namespace weir::kernel_tool
