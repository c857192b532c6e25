// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/base/temporary_folder.hpp"
#include "weir/plugin/module.hpp"

/// From an image to a module.
namespace weir::host {

/// `Device::load_module` on the host, for the bytes of a shared object made by `compile_module`.
ModulePtr load_module(Device& device, const std::byte* image, std::size_t size);
/// `Device::do_rank_image` on the host: 0 for code that this processor or device cannot run; otherwise the higher, the more
/// of the processor's features it uses.
int rank_image(const Device& device, std::span<const std::byte> image);
/// Loads an image. Throws BadImage if it is not a module for this processor; std::runtime_error with the loader's message.
/// `folder`: keeps the image there as a file as long as the module lives, so that debuggers find it.
ModulePtr load_image(Device& device, std::span<const std::byte> image, std::optional<detail::TemporaryFolder> folder);

/// The processor's features as /proc/cpuinfo spells them, separated by spaces; empty if unknown.
const std::string& cpu_features();

}  // namespace weir::host
