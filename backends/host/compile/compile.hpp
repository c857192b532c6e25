// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weir/plugin/module.hpp"

namespace weir {
struct ImageCompilation;
}

/// From a source to a module.
namespace weir::host {

/// `Device::compile` on the host: the system's C++ compiler, a cache keyed by content, and the loader.
ModulePtr compile_module(Device& device, std::string_view source, const CompileOptions& options);
/// The same ahead of time, for processors given as in the compiler's option `-march=`, and for warps of `image_warp_size`
/// threads. Neither caches nor loads.
void compile_image(ImageCompilation& request);
inline constexpr int image_warp_size = 32;

}  // namespace weir::host
