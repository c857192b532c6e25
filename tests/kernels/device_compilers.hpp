// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

/// Compiles kernels without a device: with NVRTC and HIPRTC like the backends, and with Clang for AMD.
namespace weir::test {

struct NoDeviceCompiler : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Compiles for architectures such as `sm_80` with NVRTC, and such as `gfx90a` with HIPRTC. Throws NoDeviceCompiler if the
/// compiler is missing or does not support the architecture, and std::runtime_error with the compiler's messages if the
/// source does not compile.
void compile_for(const std::string& architecture, std::string_view source, const std::string& name);

/// Compiles for architectures such as `gfx942` to assembly, with the first of the `compilers` (paths of clang++, separated
/// by colons) that supports the architecture, and with the installed headers of HIP, in the form that HIPRTC gets. Device
/// libraries are not needed, because references to them stay unresolved. Returns the compiler's release. Throws like
/// `compile_for`.
std::string compile_with_clang(const std::string& compilers, const std::string& architecture, std::string_view source,
                               const std::string& name);

}  // namespace weir::test
