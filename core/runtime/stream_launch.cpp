// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "core/runtime/launch_check.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

// The functions of `Stream` that launch kernels.
namespace weir {

using detail::is_possible_launch;

namespace {

/// The memory that a kernel may access through its arguments: each argument of 8 bytes counts as an address, unless its kind
/// excludes this.
std::vector<MemoryAccess> raw_accesses(void* const* arguments, std::span<const Parameter> parameters) {
  std::vector<MemoryAccess> accesses(parameters.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const ParameterKind kind = parameters[i].kind;
    const bool may_be_address = kind == ParameterKind::address || kind == ParameterKind::unknown;
    if (!may_be_address || parameters[i].size != sizeof(void*)) continue;
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
  const std::span<const Parameter>& parameters;
  const MemoryAccess* accesses;

  [[gnu::always_inline]] bool validate(const StreamCall& call) const {
    if (!is_possible_launch(call.device(), kernel, config, parameters)) [[unlikely]]
      throw_error(call, kernel, config, parameters);
    return true;
  }
  void describe(ToolNotice& notice) const {
    notice.kernel(kernel, config, {accesses, accesses != nullptr ? parameters.size() : 0});
    notice->arguments = arguments;
    notice->parameters = parameters;
  }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const {
    if (capture) StreamCore::keep_module(stream, kernel.module(), capture);
    if (config.has_attributes()) return stream.do_launch_with_attributes(kernel, config, arguments, parameters, capture);
    stream.do_launch(kernel, config, arguments, parameters, capture);
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_error(StreamCall call, const Kernel& kernel,
                                                            const LaunchConfig& config,
                                                            std::span<const Parameter> parameters) {
    detail::throw_impossible_launch(call.device(), call.operation(), call.describe(), kernel, config, parameters);
  }
};

}  // namespace

void detail::throw_null_kernel(const Stream& stream) {
  forget_touches();
  throw Error(Errc::invalid_argument, "Stream::launch", stream.describe(), "the kernel is null");
}

void Stream::launch_raw(KernelRef launched, const LaunchConfig& config, std::span<void* const> arguments,
                        std::span<const Parameter> parameters, std::span<const MemoryAccess> accesses) {
  bool is_complete = launched != nullptr && arguments.size() == parameters.size() &&
                     (accesses.empty() || accesses.size() == arguments.size());
  for (const void* const argument : arguments) is_complete &= argument != nullptr;
  if (!is_complete) [[unlikely]] {
    const StreamCall call(*this, "Stream::launch");
    const Kernel& kernel = call.not_null(launched, "the kernel");
    if (arguments.size() != parameters.size()) {
      call.throw_error(Errc::invalid_argument, "kernel '" + kernel.name() + "': " + std::to_string(arguments.size()) +
                                                   " addresses of arguments were passed, but " +
                                                   std::to_string(parameters.size()) + " sizes");
    }
    if (!accesses.empty() && accesses.size() != arguments.size())
      call.throw_error(Errc::invalid_argument,
                       "kernel '" + kernel.name() + "': pass an access for each argument, or none at all");
    const auto null = std::find(arguments.begin(), arguments.end(), nullptr);
    call.throw_error(Errc::invalid_argument,
                     "kernel '" + kernel.name() + "': the address of argument " +
                         std::to_string(null - arguments.begin() + 1) + " of " + std::to_string(arguments.size()) +
                         " is null; pass the address of the argument, even if the argument itself is a null pointer");
  }
  if (is_watched() && !accesses.empty()) [[unlikely]]
    return launch_checked(*launched, config, arguments.data(), parameters, accesses.data());
  launch_packed(*launched, config, arguments.data(), parameters);
}

/// The fast path of a launch: handles only streams and arguments without special cases, and calls `launch_checked` for all
/// others. It calls no function before `do_launch`, so that no registers are saved, which reduces the cost of a launch by a
/// third.
void Stream::launch_packed(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                           const std::span<const Parameter>& parameters) {
  if (StreamCore::is_plain(*this) && !config.has_attributes() &&
      detail::is_possible_shape(*device_, kernel, config) && detail::ParameterMatch::of(kernel, parameters)) [[likely]] {
    const CaptureState capture = StreamCore::stored_capture(*this, StreamCore::flags(*this));
    if (!capture || StreamCore::has_just_kept(*this, *kernel.module(), capture)) [[likely]] {
      impl(*this).do_launch(kernel, config, arguments, parameters, capture);
      return;
    }
  }
  launch_checked(kernel, config, arguments, parameters, nullptr);
}

void Stream::launch_checked(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                            const std::span<const Parameter>& parameters, const MemoryAccess* accesses) try {
  if (is_watched() && accesses == nullptr) [[unlikely]]
    return detail::out_of_line([=, this, &kernel, &config, &parameters] {
      const std::vector<MemoryAccess> raw = raw_accesses(arguments, parameters);
      submit(*this, "Stream::launch", Launch{kernel, config, arguments, parameters, raw.data()});
    });
  submit(*this, "Stream::launch", Launch{kernel, config, arguments, parameters, accesses});
} catch (...) {
  detail::forget_touches();
  throw;
}

}  // namespace weir
