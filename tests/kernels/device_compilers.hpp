// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

/// NVRTC and HIPRTC without a device, as the backends call them.
namespace weir::test {

struct NoDeviceCompiler : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Compiles for `sm_80` and its like with NVRTC, for `gfx90a` and its like with HIPRTC. Throws NoDeviceCompiler where there
/// is none, or it does not know the architecture, and std::runtime_error with its messages for what does not compile.
void compile_for(const std::string& architecture, std::string_view source, const std::string& name);

}  // namespace weir::test
