// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "weir/error.hpp"
#include "weir/export.hpp"

/// `attempt` and `Result`: errors as return values instead of exceptions, for destructors, `noexcept` functions and programs
/// built with -fno-exceptions.
///
/// If a function of Weir throws outside of `attempt` in a program built with -fno-exceptions, the process ends and the text
/// of the error is printed.
namespace weir {

/// A value or an `Error`, similar to std::expected.
template <class T>
class [[nodiscard]] Result {
 public:
  /// Makes a result with a value.
  Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : state_(std::in_place_index<0>, std::move(value)) {}
  /// Makes a result with an error.
  Result(Error error) noexcept : state_(std::in_place_index<1>, std::move(error)) {}

  /// Whether there is a value.
  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  /// The value. There must be one.
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  /// The error. There must be one.
  const Error& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

/// The result of a function that returns nothing: success, or an `Error`.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() noexcept = default;
  Result(Error error) noexcept : error_(std::move(error)) {}

  /// Whether there is no error.
  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  /// The error. There must be one.
  const Error& error() const noexcept { return *error_; }

 private:
  std::optional<Error> error_;
};

namespace detail {

/// Implements the template below: calls `function(context)`, and converts its exception, if any, to a result.
WEIR_API Result<void> attempt(void (*function)(void*), void* context) noexcept;

}  // namespace detail

/// Calls `function` and returns its result, or the `Error` that it threw. std::bad_alloc becomes `out_of_memory`; any other
/// exception becomes `backend_failure`. In code built with -fno-exceptions, local variables of `function` are not destroyed
/// if Weir throws.
template <class F>
auto attempt(F&& function) noexcept -> Result<std::decay_t<std::invoke_result_t<F&>>> {
  using T = std::decay_t<std::invoke_result_t<F&>>;
  if constexpr (std::is_void_v<T>) {
    return detail::attempt([](void* context) { (*static_cast<std::remove_reference_t<F>*>(context))(); },
                           const_cast<void*>(static_cast<const void*>(std::addressof(function))));
  } else {
    std::optional<T> value;
    const auto call = [&] { value.emplace(function()); };
    Result<void> outcome = detail::attempt([](void* context) { (*static_cast<decltype(&call)>(context))(); },
                                           const_cast<void*>(static_cast<const void*>(&call)));
    if (!outcome) return outcome.error();
    return std::move(*value);
  }
}

}  // namespace weir
