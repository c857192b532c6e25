// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/base/temporary_folder.hpp"
#include "weir/plugin/module.hpp"

/// Loads a compiled image as a module.
namespace weir::host {

/// Implements `Device::load_module` for the host. The image is a shared object from `compile_module`.
ModulePtr load_module(Device& device, const std::byte* image, std::size_t size);
/// Implements `Device::do_rank_image` for the host. Returns 0 for code that this processor or device cannot run. Otherwise
/// the result is the higher, the more of the processor's features the code uses.
int rank_image(const Device& device, std::span<const std::byte> image);
/// Loads an image. Throws BadImage if the image is not a module for this processor, and std::runtime_error with the loader's
/// message. `folder`: if given, the image is kept there as a file for the lifetime of the module, so that debuggers find it.
ModulePtr load_image(Device& device, std::span<const std::byte> image, std::optional<detail::TemporaryFolder> folder);

/// The processor's features, spelled as in /proc/cpuinfo and separated by spaces; empty if unknown.
const std::string& cpu_features();

}  // namespace weir::host
