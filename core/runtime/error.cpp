// SPDX-License-Identifier: Apache-2.0
#include "weir/error.hpp"

#include <fmt/format.h>

#include <optional>

#include "core/base/error_text.hpp"
#include "core/base/no_destructor.hpp"

// Errors: the names and messages of codes, and the text of an exception.
namespace weir {
namespace {

// The name and the message of a code, and the equivalent std::errc, if there is one, so that code which does not use Weir
// can compare with it.
struct CodeText {
  const char* name;
  const char* sentence;
  std::optional<std::errc> standard = std::nullopt;
};

CodeText text_of(Errc code) noexcept {
  using std::errc;
  switch (code) {
    case Errc::invalid_argument: return {"invalid_argument", "an argument is outside its domain", errc::invalid_argument};
    case Errc::length_mismatch:
      return {"length_mismatch", "the two sides of a copy differ in length", errc::invalid_argument};
    case Errc::stream_closed: return {"stream_closed", "the stream was closed"};
    case Errc::wrong_device: return {"wrong_device", "the object belongs to another device"};
    case Errc::wrong_thread: return {"wrong_thread", "the stream is another thread's default stream"};
    case Errc::unsupported: return {"unsupported", "the device lacks this feature", errc::not_supported};
    case Errc::called_from_host_function:
      return {"called_from_host_function", "a host function may not call Weir", errc::operation_not_permitted};
    case Errc::forked_process:
      return {"forked_process", "the backend was opened before fork()", errc::operation_not_permitted};
    case Errc::capture_unsupported: return {"capture_unsupported", "not allowed while capturing"};
    case Errc::capture_invalidated: return {"capture_invalidated", "an earlier error invalidated the capture"};
    case Errc::capture_merge: return {"capture_merge", "would join two separate captures"};
    case Errc::capture_unmatched: return {"capture_unmatched", "this stream did not begin the capture"};
    case Errc::capture_unjoined: return {"capture_unjoined", "a forked stream was not joined to the capture's origin"};
    case Errc::capture_isolation: return {"capture_isolation", "captured work would depend on work outside the capture"};
    case Errc::capture_implicit: return {"capture_implicit", "a capture would be ordered against the legacy default stream"};
    case Errc::captured_event: return {"captured_event", "the event was last recorded in a capture"};
    case Errc::capture_wrong_thread: return {"capture_wrong_thread", "the capture belongs to another thread"};
    case Errc::not_capturing: return {"not_capturing", "the stream is not capturing"};
    case Errc::already_capturing: return {"already_capturing", "the stream is capturing already"};
    case Errc::timing_disabled: return {"timing_disabled", "the event was made without timing"};
    case Errc::not_recorded: return {"not_recorded", "the event was never recorded"};
    case Errc::not_ready: return {"not_ready", "the event is not complete"};
    case Errc::out_of_memory: return {"out_of_memory", "memory is exhausted", errc::not_enough_memory};
    case Errc::pool_exhausted:
      return {"pool_exhausted", "all slots of the pool are leased", errc::resource_unavailable_try_again};
    case Errc::compilation_failed: return {"compilation_failed", "the source did not compile"};
    case Errc::compiler_not_found: return {"compiler_not_found", "no compiler was found", errc::no_such_file_or_directory};
    case Errc::invalid_image:
      return {"invalid_image", "the module image is not for this device", errc::executable_format_error};
    case Errc::kernel_not_found: return {"kernel_not_found", "the module has no kernel of that name"};
    case Errc::graph_update_failed: return {"graph_update_failed", "the graphs differ too much for an update"};
    case Errc::invalid_environment:
      return {"invalid_environment", "an environment variable does not parse", errc::invalid_argument};
    case Errc::backend_unknown: return {"backend_unknown", "no backend of that name is known", errc::invalid_argument};
    case Errc::plugin_not_found:
      return {"plugin_not_found", "the backend's plugin was not found", errc::no_such_file_or_directory};
    case Errc::plugin_incompatible: return {"plugin_incompatible", "the plugin was built for another Weir"};
    case Errc::headers_incompatible:
      return {"headers_incompatible", "the program was built with the headers of another Weir"};
    case Errc::driver_not_found:
      return {"driver_not_found", "the driver library could not be opened", errc::no_such_file_or_directory};
    case Errc::driver_too_old: return {"driver_too_old", "the driver lacks a function that Weir needs"};
    case Errc::no_device: return {"no_device", "the driver reports no device", errc::no_such_device};
    case Errc::driver_failed: return {"driver_failed", "the driver did not start"};
    case Errc::device_fault: return {"device_fault", "work on the device failed", errc::io_error};
    case Errc::backend_failure: return {"backend_failure", "the driver reported an error"};
    case Errc::communicator_failed: return {"communicator_failed", "the communicator has failed"};
  }
  return {"unknown", "a code that this version of Weir does not know"};
}

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "weir"; }
  std::string message(int value) const override { return text_of(static_cast<Errc>(value)).sentence; }
  std::error_condition default_error_condition(int value) const noexcept override {
    if (const auto standard = text_of(static_cast<Errc>(value)).standard) return std::make_error_condition(*standard);
    return {value, *this};
  }
};

std::string compose(std::string_view operation, std::string_view object, std::string_view cause, Errc code,
                    const NativeError& native) {
  std::string text(operation);
  if (!object.empty()) text.append(" on ").append(object);
  text.append(": ").append(cause.empty() ? std::string_view(text_of(code).sentence) : cause);
  return text + detail::native_suffix(native);
}

}  // namespace

std::string detail::native_suffix(const NativeError& native) {
  if (native.code == 0 && native.name.empty()) return {};
  std::string text = native.name.empty() ? fmt::format(" [native error {}", native.code)
                                         : fmt::format(" [{} ({})", native.name, native.code);
  if (!native.message.empty()) text.append(": ").append(native.message);
  return text + "]";
}

const std::error_category& error_category() noexcept {
  static detail::NoDestructor<Category> category;
  return *category;
}

std::error_code make_error_code(Errc code) noexcept { return {static_cast<int>(code), error_category()}; }

std::string_view to_string(Errc code) noexcept { return text_of(code).name; }

Error::Error(Errc code, std::string_view operation, std::string_view object, std::string_view detail, NativeError native)
    : std::system_error(make_error_code(code)) {
  Texts texts{detail::escaped(operation, ""), detail::escaped(object, ""), detail::escaped(detail, "\n\t"), "",
              std::move(native)};  // line ends and tabs are kept, for compiler logs
  texts.what = detail::escaped(compose(texts.operation, texts.object, texts.detail, code, texts.native), "\n\t");
  texts_ = std::make_shared<const Texts>(std::move(texts));
}

Error::~Error() = default;

}  // namespace weir
