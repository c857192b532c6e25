// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

/// Compilers of kernels without a device: NVRTC and HIPRTC as the backends call them, and Clang for AMD.
namespace weir::test {

struct NoDeviceCompiler : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Compiles for `sm_80` and its like with NVRTC, for `gfx90a` and its like with HIPRTC. Throws NoDeviceCompiler where there
/// is none, or it does not know the architecture, and std::runtime_error with its messages for what does not compile.
void compile_for(const std::string& architecture, std::string_view source, const std::string& name);

/// Compiles for `gfx942` and its like to assembly, with the first of the `compilers` (paths of clang++, separated by colons)
/// that knows the architecture and with the installed headers of HIP, as HIPRTC is handed them. Device libraries are not
/// needed: what they define stays a reference. Returns the compiler's release. Throws as compile_for does.
std::string compile_with_clang(const std::string& compilers, const std::string& architecture, std::string_view source,
                               const std::string& name);

}  // namespace weir::test
