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
