// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "weir/device.hpp"
#include "weir/module.hpp"

/// Checks whether a device can run a launch, for launches on streams and for changes of kernel nodes.
namespace weir::detail {

inline bool within(const Dim3& d, const Dim3& max) noexcept {
  // Unsigned, so an extent of 0 becomes too large and is also rejected.
  return d.x - 1 < max.x && d.y - 1 < max.y && d.z - 1 < max.z;
}

inline bool block_fits(const Dim3& block, const DeviceProperties& limits) noexcept {
  return within(block, limits.max_block) &&
         std::uint64_t{block.x} * block.y * block.z <= static_cast<std::uint64_t>(limits.max_threads_per_block);
}

/// Whether the number, sizes and kinds of the arguments match the kernel's parameters, as far as the backend can determine
/// them.
bool are_parameters(const Kernel& kernel, std::span<const Parameter> given) noexcept;

/// A fast check of the arguments. If it returns false, the arguments may still be valid: `are_parameters` decides.
struct ParameterMatch {
  static std::uint64_t bits(const Parameter& parameter) noexcept {
    static_assert(sizeof(Parameter) == sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &parameter, sizeof(bits));
    return bits;
  }
  /// The bits of a `Parameter` that `of` compares. It compares only the kind's bits for integers and floating-point
  /// numbers: `ParameterKind::address` has the bit for integers.
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

/// Whether the device can run this grid, block size and amount of dynamic shared memory.
inline bool is_possible_shape(const Device& device, const Kernel& kernel, const LaunchConfig& config) noexcept {
  const DeviceProperties& limits = device.properties();
  return &kernel.device() == &device && block_fits(config.block, limits) && within(config.grid, limits.max_grid) &&
         (config.shared_memory_bytes == 0 || (device.supports(Feature::block_cooperation) &&
                                              config.shared_memory_bytes <= limits.shared_memory_per_block_optin));
}

/// Whether the device supports the launch attributes in `config`.
bool are_possible_attributes(const Device& device, const LaunchConfig& config) noexcept;

/// Whether the device can run the launch. Does not determine the cause, so that valid launches are fast: for invalid ones,
/// call `throw_impossible_launch`.
inline bool is_possible_launch(const Device& device, const Kernel& kernel, const LaunchConfig& config,
                               const std::span<const Parameter>& parameters) noexcept {
  return is_possible_shape(device, kernel, config) &&
         (ParameterMatch::of(kernel, parameters) || are_parameters(kernel, parameters)) &&
         (!config.has_attributes() || are_possible_attributes(device, config));
}

/// Throws the error for a launch for which `is_possible_launch` is false. `object`: the object of the call, for the error.
[[noreturn]] void throw_impossible_launch(const Device& device, const char* operation, const std::string& object,
                                          const Kernel& kernel, const LaunchConfig& config,
                                          std::span<const Parameter> parameters);

}  // namespace weir::detail
