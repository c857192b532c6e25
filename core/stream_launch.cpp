// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "core/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

// Streams: launches of kernels.
namespace weir {

namespace {

bool within(const Dim3& d, const Dim3& max) noexcept {
  return d.x - 1 < max.x && d.y - 1 < max.y && d.z - 1 < max.z;  // unsigned: 0 is out of range, too
}

bool block_fits(const Dim3& block, const DeviceProperties& limits) noexcept {
  return within(block, limits.max_block) &&
         std::uint64_t{block.x} * block.y * block.z <= static_cast<std::uint64_t>(limits.max_threads_per_block);
}

/// Without a call to the library, which would cost more than comparing.
inline bool same(std::span<const std::size_t> a, std::span<const std::size_t> b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Whether a launch is possible. Separate from `refuse_launch`, whose texts need much code, so that launches are fast.
inline bool is_possible(const Device& device, const Kernel& kernel, const LaunchConfig& config,
                        const ArgumentTypes& types) noexcept {
  const DeviceProperties& limits = device.properties();
  const auto& expected = kernel.parameter_sizes();
  return &kernel.device() == &device && block_fits(config.block, limits) && within(config.grid, limits.max_grid) &&
         (config.shared_memory_bytes == 0 || (device.supports(Feature::block_cooperation) &&
                                              config.shared_memory_bytes <= limits.shared_memory_per_block_optin)) &&
         (!config.cooperative || device.supports(Feature::cooperative_launch)) &&
         (!expected || same(types.sizes, *expected)) && kernel.parameter_kinds().contradictions(types.kinds) == 0;
}

/// Throws why a launch is not possible.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_launch(StreamCall call, const Kernel& kernel, const LaunchConfig& config,
                                                          const ArgumentTypes& types) {
  const auto refuse = [&](Errc code, const std::string& cause) {
    call.refuse(code, "kernel '" + kernel.name() + "': " + cause);
  };
  const DeviceProperties& limits = call.device().properties();
  if (&kernel.device() != &call.device()) {
    refuse(Errc::wrong_device, "it is loaded on " + kernel.device().describe() + "; load the module on this device");
  }
  if (!block_fits(config.block, limits)) {
    refuse(Errc::invalid_argument, "blocks of " + to_string(config.block) + " threads; the device takes up to " +
                                       to_string(limits.max_block) + " and " + std::to_string(limits.max_threads_per_block) +
                                       " in all");
  }
  if (!within(config.grid, limits.max_grid)) {
    refuse(Errc::invalid_argument,
           "a grid of " + to_string(config.grid) + " blocks; the device takes up to " + to_string(limits.max_grid));
  }
  if (config.shared_memory_bytes != 0) {
    call.require(Feature::block_cooperation);
    if (config.shared_memory_bytes > limits.shared_memory_per_block_optin) {
      refuse(Errc::invalid_argument, std::to_string(config.shared_memory_bytes) +
                                         " bytes of shared memory; a block has at most " +
                                         std::to_string(limits.shared_memory_per_block_optin));
    }
  }
  if (config.cooperative) call.require(Feature::cooperative_launch);
  const std::span<const std::size_t> sizes = types.sizes;
  const auto argument = [&](std::ptrdiff_t i) {  // counted from 1, as people count
    return "argument " + std::to_string(i + 1) + " of " + std::to_string(sizes.size());
  };
  if (const auto& expected = kernel.parameter_sizes(); expected && sizes.size() != expected->size()) {
    refuse(Errc::invalid_argument, "it takes " + std::to_string(expected->size()) + " arguments, and " +
                                       std::to_string(sizes.size()) + " were given");
  } else if (expected) {
    const auto [given, taken] = std::mismatch(sizes.begin(), sizes.end(), expected->begin());
    if (given != sizes.end()) {
      refuse(Errc::invalid_argument, argument(given - sizes.begin()) + " takes " + std::to_string(*taken) +
                                         " bytes, and one of " + std::to_string(*given) +
                                         " was given; pass the parameter's own type");
    }
  }
  const int i = std::countr_zero(kernel.parameter_kinds().contradictions(types.kinds));
  const bool floating = (kernel.parameter_kinds().floating >> i & 1U) != 0;
  call.refuse(Errc::invalid_argument, "kernel '" + kernel.name() + "': " + argument(i) + " is " +
                                          (floating ? "a floating-point number" : "no floating-point number") +
                                          " to the kernel, and " + (floating ? "another value" : "one") +
                                          " was given; pass the parameter's own type");
}

/// Of `launch_raw`, where nothing is known of an argument but its size: one of 8 bytes may be an address.
std::vector<MemoryAccess> raw_accesses(void* const* arguments, const ArgumentTypes& types) {
  std::vector<MemoryAccess> accesses(types.sizes.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (types.sizes[i] == sizeof(void*)) accesses[i] = {*static_cast<void* const*>(arguments[i]), 1};
  }
  return accesses;
}

struct Launch {
  static constexpr OperationKind kind = OperationKind::kernel;
  static constexpr Capturing capturing = Capturing::node;
  const Kernel& kernel;
  const LaunchConfig& config;
  void* const* arguments;
  const ArgumentTypes& types;
  std::span<const MemoryAccess> accesses;

  [[gnu::always_inline]] bool validate(const StreamCall& call) const {
    if (!is_possible(call.device(), kernel, config, types)) [[unlikely]]
      refuse_launch(call, kernel, config, types);
    return true;
  }
  void describe(Watched& watched) const { watched.kernel(kernel, config, accesses); }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const {
    if (capture) StreamCore::keep_module(stream, kernel.module(), capture);
    stream.do_launch(kernel, config, arguments, types, capture);
  }
};

}  // namespace

void detail::throw_null_kernel(const Stream& stream) {
  forget_touches();
  throw Error(Errc::invalid_argument, "Stream::launch", stream.describe(), "the kernel is null");
}

void Stream::launch_raw(KernelRef launched, const LaunchConfig& config, std::span<void* const> arguments,
                        std::span<const std::size_t> sizes) {
  const StreamCall call(*this, "Stream::launch");
  const Kernel& kernel = call.not_null(launched, "the kernel");
  if (arguments.size() != sizes.size()) {
    call.refuse(Errc::invalid_argument, "kernel '" + kernel.name() + "': " + std::to_string(arguments.size()) +
                                            " addresses of arguments were given, and " + std::to_string(sizes.size()) +
                                            " sizes");
  }
  if (const auto null = std::find(arguments.begin(), arguments.end(), nullptr); null != arguments.end()) {
    call.refuse(Errc::invalid_argument,
                "kernel '" + kernel.name() + "': the address of argument " + std::to_string(null - arguments.begin() + 1) +
                    " of " + std::to_string(arguments.size()) +
                    " is null; give the address of where the argument lies, also for an argument that is a null pointer");
  }
  launch_packed(kernel, config, arguments.data(), {sizes, {}});
}

/// Nothing but what nearly every launch needs, and no call before the last: that is a third of what a launch costs. All
/// other launches go the long way.
void Stream::launch_packed(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                           const ArgumentTypes& types) {
  if (StreamCore::is_plain(*this) && is_possible(*device_, kernel, config, types)) [[likely]] {
    const CaptureState capture = StreamCore::noted_capture(*this, StreamCore::flags(*this));
    if (!capture || StreamCore::has_just_kept(*this, *kernel.module(), capture)) [[likely]] {
      impl(*this).do_launch(kernel, config, arguments, types, capture);
      return;
    }
  }
  launch_checked(kernel, config, arguments, types);
}

void Stream::launch_checked(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                            const ArgumentTypes& types) {
  if (is_watched()) [[unlikely]]
    return detail::out_of_line([=, this, &kernel, &config, &types] {
      launch_watched(kernel, config, arguments, types, raw_accesses(arguments, types));
    });
  submit(*this, "Stream::launch", Launch{kernel, config, arguments, types, {}});
}

void Stream::launch_watched(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                            const ArgumentTypes& types, std::span<const MemoryAccess> accesses) try {
  submit(*this, "Stream::launch", Launch{kernel, config, arguments, types, accesses});
} catch (...) {
  detail::forget_touches();
  throw;
}

}  // namespace weir
