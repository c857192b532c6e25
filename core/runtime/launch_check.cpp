// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch_check.hpp"

#include <algorithm>

#include "core/runtime/call.hpp"
#include "weir/error.hpp"

// The checks of a launch that are not on the fast path, and its errors.
namespace weir::detail {
namespace {

bool divides(const Dim3& cluster, const Dim3& grid) noexcept {
  return cluster.x != 0 && cluster.y != 0 && cluster.z != 0 && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 &&
         grid.z % cluster.z == 0;
}

}  // namespace

bool are_parameters(const Kernel& kernel, std::span<const Parameter> given) noexcept {
  const std::span expected = kernel.parameters();
  if (kernel.has_parameter_sizes() && !std::ranges::equal(given, expected, {}, &Parameter::size, &Parameter::size))
    return false;
  for (std::size_t i = 0; i < std::min(given.size(), expected.size()); ++i) {
    if (contradict(given[i].kind, expected[i].kind)) return false;
  }
  return true;
}

bool are_possible_attributes(const Device& device, const LaunchConfig& config) noexcept {
  return (!config.cooperative || device.supports(Feature::cooperative_launch)) &&
         (!config.programmatic_stream_serialization || device.supports(Feature::programmatic_launch)) &&
         (!config.priority || device.supports(Feature::launch_priority)) &&
         (config.cluster == Dim3() || (device.supports(Feature::cluster_launch) && divides(config.cluster, config.grid)));
}

void throw_impossible_launch(const Device& device, const char* operation, const std::string& object, const Kernel& kernel,
                             const LaunchConfig& config, std::span<const Parameter> parameters) {
  const auto throw_error = [&](Errc code, const std::string& cause) {
    throw Error(code, operation, object, "kernel '" + kernel.name() + "': " + cause);
  };
  const auto require = [&](Feature feature) {
    if (!device.supports(feature)) throw Error(Errc::unsupported, operation, object, absence(device, feature));
  };
  const DeviceProperties& limits = device.properties();
  if (&kernel.device() != &device) {
    throw_error(Errc::wrong_device, "it is loaded on " + kernel.device().describe() + "; load the module on this device");
  }
  if (!block_fits(config.block, limits)) {
    throw_error(Errc::invalid_argument,
                "blocks of " + to_string(config.block) + " threads are too large; the device supports up to " +
                    to_string(limits.max_block) + " and " + std::to_string(limits.max_threads_per_block) + " in all");
  }
  if (!within(config.grid, limits.max_grid)) {
    throw_error(Errc::invalid_argument, "a grid of " + to_string(config.grid) +
                                            " blocks is too large; the device supports up to " + to_string(limits.max_grid));
  }
  if (config.shared_memory_bytes != 0) {
    require(Feature::block_cooperation);
    if (config.shared_memory_bytes > limits.shared_memory_per_block_optin) {
      throw_error(Errc::invalid_argument, std::to_string(config.shared_memory_bytes) +
                                              " bytes of dynamic shared memory are too many; a block has at most " +
                                              std::to_string(limits.shared_memory_per_block_optin));
    }
  }
  if (config.cooperative) require(Feature::cooperative_launch);
  if (config.programmatic_stream_serialization) require(Feature::programmatic_launch);
  if (config.priority) require(Feature::launch_priority);
  if (config.cluster != Dim3()) {
    require(Feature::cluster_launch);
    if (!divides(config.cluster, config.grid)) {
      throw_error(Errc::invalid_argument, "clusters of " + to_string(config.cluster) + " blocks in a grid of " +
                                              to_string(config.grid) +
                                              " blocks do not fit; use extents that divide the grid's extents");
    }
  }
  const auto argument = [&](std::size_t i) {  // numbered from 1 in messages
    return "argument " + std::to_string(i + 1) + " of " + std::to_string(parameters.size());
  };
  const std::span expected = kernel.parameters();
  if (kernel.has_parameter_sizes() && parameters.size() != expected.size()) {
    throw_error(Errc::invalid_argument, "it takes " + std::to_string(expected.size()) + " arguments, and " +
                                            std::to_string(parameters.size()) + " were given");
  }
  for (std::size_t i = 0; i < parameters.size() && kernel.has_parameter_sizes(); ++i) {
    if (parameters[i].size == expected[i].size) continue;
    throw_error(Errc::invalid_argument, argument(i) + " takes " + std::to_string(expected[i].size) + " bytes, but one of " +
                                            std::to_string(parameters[i].size) +
                                            " was passed; pass the parameter's own type");
  }
  std::size_t i = 0;
  while (!contradict(parameters[i].kind, expected[i].kind)) ++i;
  const bool floating = expected[i].kind == ParameterKind::floating;
  throw Error(Errc::invalid_argument, operation, object,
              "kernel '" + kernel.name() + "': " + argument(i) + " is " +
                  (floating ? "a floating-point number" : "not a floating-point number") + " in the kernel, but " +
                  (floating ? "another value" : "one") + " was passed; pass the parameter's own type");
}

}  // namespace weir::detail
