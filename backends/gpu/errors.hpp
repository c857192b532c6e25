// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weir/plugin/support.hpp"
#include "weir/error.hpp"

/// Converts a driver's result code to `weir::Error`.
namespace weir::gpu {

/// The meaning of a driver's result code: a portable error code, with the cause and the remedy in words.
struct Meaning {
  Errc errc = Errc::backend_failure;
  std::string_view detail = "the driver reported an error";
};

/// The meaning of a code that has the same number in CUDA and HIP.
inline Meaning common_meaning(int code) noexcept {
  switch (code) {
    case 2:
      return {Errc::out_of_memory, "memory is exhausted; free some, allocate less, or check what else runs on the device"};
    case 217: return {Errc::unsupported, "the two devices cannot access each other's memory"};
    case 400:
      return {Errc::backend_failure,
              "a handle does not belong to an existing object, or belongs to another context or device"};
    case 401:
      return {Errc::backend_failure, "the object is in the wrong state, such as a stream that captures or does not capture"};
    case 500: return {Errc::kernel_not_found, "nothing has that name"};
    case 701:
      return {Errc::invalid_argument, "the launch needs more registers or memory than a block can have; use smaller blocks"};
    case 712: return {Errc::invalid_argument, "part of the memory is already pinned"};
    case 713: return {Errc::invalid_argument, "the memory is not pinned"};
    case 720:
      return {Errc::invalid_argument,
              "a cooperative grid must fit on the device at once; use fewer blocks, see "
              "Kernel::max_active_blocks"};
    case 901:
      return {Errc::capture_invalidated,
              "an earlier error invalidated the capture; it has now ended, and its streams are usable"};
    case 902: return {Errc::capture_merge, "the call would join two captures"};
    case 903: return {Errc::capture_unmatched, "another stream began the capture"};
    case 904:
      return {Errc::capture_unjoined,
              "a stream that joined the capture has work that was not waited for; make the stream that began the capture "
              "wait for it before the end"};
    case 905: return {Errc::capture_isolation, "captured work would depend on work outside the capture"};
    case 906: return {Errc::capture_implicit, "the call would order a capture against the legacy default stream"};
    case 907: return {Errc::captured_event, "the event was last recorded in a capture"};
    case 908: return {Errc::capture_wrong_thread, "another thread began the capture"};
    case 910: return {Errc::graph_update_failed, "the graph cannot be taken over"};
    default: return {};
  }
}

template <class Api>
NativeError native_error(const Api& api, typename Api::Result result) {
  return {static_cast<std::int64_t>(result), std::string(api.error_name(result)), std::string(api.error_text(result))};
}

/// Throws `error`. A device fault may also poison its device: see `Device::is_poisoned`.
[[noreturn]] inline void raise(const Error& error) {
  if (error.errc() == Errc::device_fault) support::note_fault(error);
  throw error;
}

/// A non-empty `detail` replaces the text of the code's meaning.
template <class Api>
[[noreturn]] void fail(const Api& api, typename Api::Result result, std::string_view operation, std::string_view object,
                       std::string_view detail = {}) {
  if (Api::is_shut_down(result)) support::wait_for_exit();
  const Meaning meaning = Api::meaning(result);
  raise({meaning.errc, operation, object, detail.empty() ? meaning.detail : detail, native_error(api, result)});
}

/// Throws if the call failed. A description of `object` is built only then.
template <class Api, class Object>
void check(const Api& api, typename Api::Result result, const char* operation, const Object& object) {
  if (result != Api::success) [[unlikely]] fail(api, result, operation, object.describe());
}

/// For destructors: logs a failure, unless the driver has already shut down, as it does at process exit.
template <class Api>
void log_failure(const Api& api, typename Api::Result result, const char* what, std::string_view object) noexcept {
  if (result == Api::success || Api::is_shut_down(result)) return;
  try {
    support::log(support::LogLevel::error, std::string(object) + ": " + what + ": " + std::string(api.error_name(result)) +
                                               " (" + std::string(api.error_text(result)) + ")");
  } catch (const std::exception&) {
    // There is no memory for the message.
  }
}

}  // namespace weir::gpu
