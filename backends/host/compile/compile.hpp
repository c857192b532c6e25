// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weir/plugin/module.hpp"

namespace weir {
struct ImageCompilation;
}

/// Compiles a kernel source to a module.
namespace weir::host {

/// Implements `Device::compile` for the host: runs the system's C++ compiler, caches the result by content, and loads it.
ModulePtr compile_module(Device& device, std::string_view source, const CompileOptions& options);
/// Compiles ahead of time. The request gives the processor as in the compiler's option `-march=`; warps have
/// `image_warp_size` threads. Neither caches nor loads the result.
void compile_image(ImageCompilation& request);
inline constexpr int image_warp_size = 32;

}  // namespace weir::host
