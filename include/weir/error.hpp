// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "weir/errors.h"
#include "weir/export.hpp"

/// Errors: the exception `Error`, which contains a portable code (`Errc`), a text, and the driver's own error.
namespace weir {

/// The portable code of an error, with the same meaning on all backends: see `WEIR_ERRORS`. Comparable with
/// `std::error_code`.
enum class Errc : int {
#define WEIR_ERROR_CODE(number, name, NAME, type, sentence) name = number,
  WEIR_ERRORS(WEIR_ERROR_CODE)
#undef WEIR_ERROR_CODE
};

/// The category of each `std::error_code` that is made from an `Errc`. Its name is "weir".
WEIR_API const std::error_category& error_category() noexcept;
/// Makes a `std::error_code` of the category `error_category()`.
WEIR_API std::error_code make_error_code(Errc) noexcept;
/// The code's name: `"stream_closed"`; "unknown" for a number that is not a code.
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
