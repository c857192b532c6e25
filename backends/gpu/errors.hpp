// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weir/backend_support.hpp"
#include "weir/error.hpp"

/// From what a driver returns to `weir::Error`.
namespace weir::gpu {

/// What a driver's code stands for: the portable code, and cause and remedy in words.
struct Meaning {
  Errc errc = Errc::backend_failure;
  std::string_view detail = "the driver reports an error";
};

template <class Api>
NativeError native_error(const Api& api, typename Api::Result result) {
  return {static_cast<std::int64_t>(result), std::string(api.error_name(result)), std::string(api.error_text(result))};
}

/// `detail`, where it is given, says more than the code's own meaning does.
template <class Api>
[[noreturn]] void fail(const Api& api, typename Api::Result result, std::string_view operation, std::string_view object,
                       std::string_view detail = {}) {
  const Meaning meaning = Api::meaning(result);
  throw Error(meaning.errc, operation, object, detail.empty() ? meaning.detail : detail, native_error(api, result));
}

/// Throws unless the call succeeded. `object` is described only then.
template <class Api, class Object>
void check(const Api& api, typename Api::Result result, const char* operation, const Object& object) {
  if (result != Api::success) [[unlikely]] fail(api, result, operation, object.describe());
}

/// For destructors: logs a failure, save that the driver has shut down before the object, as it does at the process's end.
template <class Api>
void log_failure(const Api& api, typename Api::Result result, const char* what, std::string_view object) noexcept {
  if (result == Api::success || Api::is_shut_down(result)) return;
  try {
    support::log(support::LogLevel::error, std::string(object) + ": " + what + ": " + std::string(api.error_name(result)) +
                                               " (" + std::string(api.error_text(result)) + ")");
  } catch (const std::exception&) {
    // Out of memory while telling of a failure: there is nobody left to tell.
  }
}

}  // namespace weir::gpu
