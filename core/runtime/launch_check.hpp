// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// Whether the arguments' number, sizes and kinds are those of the kernel, as far as the backend can determine those.
bool are_parameters(const Kernel& kernel, std::span<const Parameter> given) noexcept;

/// A fast comparison that accepts nearly all launches. `are_parameters` decides about those that it does not accept.
struct ParameterMatch {
  static std::uint64_t bits(const Parameter& parameter) noexcept {
    static_assert(sizeof(Parameter) == sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &parameter, sizeof(bits));
    return bits;
  }
  /// The bytes to compare. An address counts as an integer: neither is a floating-point number.
  static std::uint64_t mask(bool has_sizes, bool has_kinds) noexcept {
    const auto number = static_cast<unsigned>(ParameterKind::integer) | static_cast<unsigned>(ParameterKind::floating);
    return bits({has_sizes ? ~std::uint32_t{0} : 0, static_cast<ParameterKind>(has_kinds ? number : 0),
                 static_cast<AccessKind>(0)});
  }
  static bool of(const Kernel& kernel, const std::span<const Parameter>& given) noexcept {
    const std::uint64_t mask = kernel.parameter_mask_;
    const auto& expected = kernel.parameters_;
    if (mask == 0) return true;
    if (given.size() != expected.size()) return false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (((bits(given[i]) ^ bits(expected[i])) & mask) != 0) return false;
    }
    return true;
  }
};

/// Whether grid and block are possible.
inline bool is_possible_shape(const Device& device, const Kernel& kernel, const LaunchConfig& config) noexcept {
  const DeviceProperties& limits = device.properties();
  return &kernel.device() == &device && block_fits(config.block, limits) && within(config.grid, limits.max_grid) &&
         (config.shared_memory_bytes == 0 || (device.supports(Feature::block_cooperation) &&
                                              config.shared_memory_bytes <= limits.shared_memory_per_block_optin));
}

/// Whether the device supports the launch's attributes.
bool are_possible_attributes(const Device& device, const LaunchConfig& config) noexcept;

/// Whether a launch is possible. Separate from `throw_impossible_launch`, whose messages need much code, so that launches
/// are fast.
inline bool is_possible_launch(const Device& device, const Kernel& kernel, const LaunchConfig& config,
                               const std::span<const Parameter>& parameters) noexcept {
  return is_possible_shape(device, kernel, config) &&
         (ParameterMatch::of(kernel, parameters) || are_parameters(kernel, parameters)) &&
         (!config.has_attributes() || are_possible_attributes(device, config));
}

/// Throws the reason why a launch is not possible. `object`: named in the error.
[[noreturn]] void throw_impossible_launch(const Device& device, const char* operation, const std::string& object,
                                          const Kernel& kernel, const LaunchConfig& config,
                                          std::span<const Parameter> parameters);

}  // namespace weir::detail
