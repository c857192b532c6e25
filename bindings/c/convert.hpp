// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "bindings/c/call.hpp"
#include "weir/event.hpp"
#include "weir/feature.hpp"
#include "weir/module.hpp"
#include "weir/stream.hpp"

/// Conversions between C and C++ that several files need.
namespace weir::c {

EventOptions event_options(std::uint32_t flags);

inline weir_interprocess_handle bytes_of(const InterprocessHandle& handle) noexcept {
  weir_interprocess_handle bytes;
  static_assert(sizeof(bytes) == sizeof(handle));
  std::memcpy(&bytes, handle.bytes.data(), sizeof(bytes));
  return bytes;
}

inline InterprocessHandle handle_of(const weir_interprocess_handle& bytes) noexcept {
  InterprocessHandle handle;
  std::memcpy(handle.bytes.data(), &bytes, sizeof(handle.bytes));
  return handle;
}

/// Returns the C++ feature, which has the same number (docs/tools/c_interface.py checks this); nullopt for a number that is
/// not a feature of this library.
constexpr std::optional<Feature> feature_of(weir_feature feature) noexcept {
  return feature < feature_count ? std::optional(static_cast<Feature>(feature)) : std::nullopt;
}

LaunchConfig launch_config(const weir_launch_config* given);
/// Returns the sizes and kinds of the `count` arguments of a launch of `kernel`. If `sizes` is null, uses the sizes of the
/// kernel's parameters; throws if they are unknown. If `kinds` is null, all kinds are unknown.
std::vector<Parameter> parameters_of(const Kernel& kernel, const size_t* sizes, const weir_argument_kind* kinds,
                                     std::size_t count);

/// Converts a memory operation to the C structure.
weir_memory_operation operation_of(const MemoryOperation& operation) noexcept;

}  // namespace weir::c
