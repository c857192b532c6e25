// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "weir/device.hpp"
#include "weir/module.hpp"

/// Checks whether a launch is possible, for streams and for nodes of graphs.
namespace weir::detail {

inline bool within(const Dim3& d, const Dim3& max) noexcept {
  return d.x - 1 < max.x && d.y - 1 < max.y && d.z - 1 < max.z;  // unsigned, so 0 is out of range as well
}

inline bool block_fits(const Dim3& block, const DeviceProperties& limits) noexcept {
  return within(block, limits.max_block) &&
         std::uint64_t{block.x} * block.y * block.z <= static_cast<std::uint64_t>(limits.max_threads_per_block);
}

/// A loop instead of a library call, which would cost more than the comparison.
inline bool same(std::span<const std::size_t> a, std::span<const std::size_t> b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Whether a launch is possible, ignoring its attributes. Separate from `throw_impossible_launch`, whose messages need much
/// code, so that launches are fast.
inline bool is_possible_plain_launch(const Device& device, const Kernel& kernel, const LaunchConfig& config,
                               const ArgumentTypes& types) noexcept {
  const DeviceProperties& limits = device.properties();
  const auto& expected = kernel.parameter_sizes();
  return &kernel.device() == &device && block_fits(config.block, limits) && within(config.grid, limits.max_grid) &&
         (config.shared_memory_bytes == 0 || (device.supports(Feature::block_cooperation) &&
                                              config.shared_memory_bytes <= limits.shared_memory_per_block_optin)) &&
         (!expected || same(types.sizes, *expected)) && kernel.parameter_kinds().contradictions(types.kinds) == 0;
}

/// Whether the device supports the launch's attributes.
bool are_possible_attributes(const Device& device, const LaunchConfig& config) noexcept;

/// Whether a launch is possible.
inline bool is_possible_launch(const Device& device, const Kernel& kernel, const LaunchConfig& config,
                               const ArgumentTypes& types) noexcept {
  return is_possible_plain_launch(device, kernel, config, types) &&
         (!config.has_attributes() || are_possible_attributes(device, config));
}

/// Throws the reason why a launch is not possible. `object`: named in the error.
[[noreturn]] void throw_impossible_launch(const Device& device, const char* operation, const std::string& object,
                                          const Kernel& kernel, const LaunchConfig& config, const ArgumentTypes& types);

}  // namespace weir::detail
