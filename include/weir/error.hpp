// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "weir/export.hpp"

/// Errors: the exception `Error`, which contains a portable code (`Errc`), a text, and the driver's own error.
namespace weir {

/// The portable code of an error, with the same meaning on all backends. Comparable with `std::error_code`.
enum class Errc : int {
  // Mistakes of the caller.
  invalid_argument = 1,      ///< an argument outside its domain
  length_mismatch,           ///< the two sides of a typed copy differ in length
  stream_closed,             ///< the stream was closed
  wrong_device,              ///< an object belongs to another device or backend
  wrong_thread,              ///< the stream is another thread's per-thread default stream
  unsupported,               ///< the device lacks a feature; the message has the reason
  called_from_host_function, ///< a host function must not call Weir
  forked_process,            ///< the backend was opened before fork(); the child cannot use it
  // Capture.
  capture_unsupported,       ///< the operation is not allowed while capturing; the capture continues
  capture_invalidated,       ///< the capture was invalidated by an earlier error
  capture_merge,             ///< the call would join two separate captures
  capture_unmatched,         ///< another stream began the capture
  capture_unjoined,          ///< when the capture was ended, its first stream had not waited for a stream that had joined
                             ///< the capture
  capture_isolation,         ///< captured work would depend on work outside the capture
  capture_implicit,          ///< the legacy default stream would be ordered against a capture
  captured_event,            ///< the event was last recorded in a capture, so it never completes by itself
  capture_wrong_thread,      ///< another thread began the capture, and in its mode only that thread may end it
  not_capturing,             ///< the call needs an open capture
  already_capturing,         ///< the stream is capturing already
  // Events.
  timing_disabled,           ///< elapsed time of an event made without timing
  not_recorded,              ///< elapsed time of an event that was never recorded
  not_ready,                 ///< elapsed time of an event that is not complete
  // Resources.
  out_of_memory,             ///< host or device memory is exhausted
  pool_exhausted,            ///< all slots of a pool are leased
  // Modules and graphs.
  compilation_failed,        ///< the source did not compile; the message has the compiler's log
  compiler_not_found,        ///< no compiler was found
  invalid_image,             ///< this device cannot load the module image
  kernel_not_found,          ///< the module has no kernel of that name
  graph_update_failed,       ///< the new graph's topology differs too much; the executable graph is unchanged
  // Backends.
  invalid_environment,       ///< an environment variable does not parse
  backend_unknown,           ///< there is no backend of that name
  plugin_not_found,          ///< the backend's plugin is in none of the folders searched
  plugin_incompatible,       ///< the plugin was built for another Weir
  headers_incompatible,      ///< the program was built with the headers of another Weir
  driver_not_found,          ///< the vendor's driver library could not be opened
  driver_too_old,            ///< the driver lacks a function that Weir needs
  no_device,                 ///< the driver works but reports no device
  driver_failed,             ///< the driver did not start
  // Failures of the device or the driver.
  device_fault,              ///< work on the device failed; the device's state may be lost
  backend_failure,           ///< any other error of the vendor's driver; see the native code
  communicator_failed,       ///< a peer, the network or a timeout made the communicator fail; make a new one
};

/// The category of each `std::error_code` that is made from an `Errc`. Its name is "weir".
WEIR_API const std::error_category& error_category() noexcept;
/// Makes a `std::error_code` of the category `error_category()`.
WEIR_API std::error_code make_error_code(Errc) noexcept;
/// The code's name: `"stream_closed"`.
WEIR_API std::string_view to_string(Errc) noexcept;

/// Prints the name of an enumerator (`Errc`, `Feature`, `CaptureStatus`, …) to a `std::ostream`. GoogleTest and Catch2 then
/// show names in their messages; doctest 2.4.9 shows the numbers of enumerators.
template <class Out, class Enum>
  requires std::is_enum_v<Enum>
auto operator<<(Out& out, Enum value) -> decltype(out << to_string(value)) {
  return out << to_string(value);
}

/// The error of a vendor's driver. `code` is 0 if the error does not come from a driver.
struct NativeError {
  std::int64_t code = 0;
  std::string name;     ///< "CUDA_ERROR_INVALID_VALUE"
  std::string message;  ///< the driver's message
};

/// The exception that all functions of Weir throw. `what()` returns "operation on object: cause; remedy". Copying never
/// throws, because copies share the texts.
class WEIR_API Error : public std::system_error {
 public:
  /// `operation`: the function that the program called ("Stream::synchronize"). `object`: the object of the call ("cuda:0
  /// stream 0x55…"), or empty. `detail`: cause and remedy in words. `native`: the driver's error, if there is one. Control
  /// characters in the texts are escaped ("\x1b"), except line ends and tabs in `detail`.
  Error(Errc code, std::string_view operation, std::string_view object, std::string_view detail, NativeError native = {});
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  ~Error() override;

  /// The portable code.
  Errc errc() const noexcept { return static_cast<Errc>(code().value()); }
  /// The function that failed: "Stream::synchronize".
  const std::string& operation() const noexcept { return texts_->operation; }
  /// The object of the call, or empty.
  const std::string& object() const noexcept { return texts_->object; }
  /// Cause and remedy.
  const std::string& detail() const noexcept { return texts_->detail; }
  /// The driver's error; its code is 0 if the error does not come from a driver.
  const NativeError& native() const noexcept { return texts_->native; }
  /// The whole text: "operation on object: cause; remedy".
  const char* what() const noexcept override { return texts_->what.c_str(); }

 private:
  struct Texts {
    std::string operation, object, detail, what;
    NativeError native;
  };
  std::shared_ptr<const Texts> texts_;
};

}  // namespace weir

template <>
struct std::is_error_code_enum<weir::Errc> : std::true_type {};
