// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "core/runtime/launch_check.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

// Streams: launches of kernels.
namespace weir {

using detail::is_possible_launch;
using detail::is_possible_plain_launch;

namespace {

/// For `launch_raw`, which provides only an argument's size: any argument of 8 bytes may be an address.
std::vector<MemoryAccess> raw_accesses(void* const* arguments, const ArgumentTypes& types) {
  std::vector<MemoryAccess> accesses(types.sizes.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (types.sizes[i] != sizeof(void*)) continue;
    if (const void* const address = *static_cast<void* const*>(arguments[i]))
      accesses[i] = {.address = address, .bytes = 1, .is_open = true};
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
    if (!is_possible_launch(call.device(), kernel, config, types)) [[unlikely]]
      throw_error(call, kernel, config, types);
    return true;
  }
  void describe(ToolNotice& notice) const {
    notice.kernel(kernel, config, accesses);
    notice->arguments = arguments;
    notice->argument_types = &types;
  }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const {
    if (capture) StreamCore::keep_module(stream, kernel.module(), capture);
    if (config.has_attributes()) return stream.do_launch_with_attributes(kernel, config, arguments, types, capture);
    stream.do_launch(kernel, config, arguments, types, capture);
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_error(StreamCall call, const Kernel& kernel,
                                                            const LaunchConfig& config, const ArgumentTypes& types) {
    detail::throw_impossible_launch(call.device(), call.operation(), call.describe(), kernel, config, types);
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
    call.throw_error(Errc::invalid_argument, "kernel '" + kernel.name() + "': " + std::to_string(arguments.size()) +
                                            " addresses of arguments were given, and " + std::to_string(sizes.size()) +
                                            " sizes");
  }
  if (const auto null = std::find(arguments.begin(), arguments.end(), nullptr); null != arguments.end()) {
    call.throw_error(Errc::invalid_argument,
                "kernel '" + kernel.name() + "': the address of argument " + std::to_string(null - arguments.begin() + 1) +
                    " of " + std::to_string(arguments.size()) +
                    " is null; give the address of where the argument lies, also for an argument that is a null pointer");
  }
  launch_packed(kernel, config, arguments.data(), {sizes, {.opaque = ~std::uint64_t{0}}});
}

/// The fast path: only what nearly every launch needs, and no call before the last, which saves a third of a launch's cost.
/// All other launches take the slow path.
void Stream::launch_packed(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                           const ArgumentTypes& types) {
  if (StreamCore::is_plain(*this) && !config.has_attributes() &&
      is_possible_plain_launch(*device_, kernel, config, types)) [[likely]] {
    const CaptureState capture = StreamCore::stored_capture(*this, StreamCore::flags(*this));
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
