// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weir/plugin/support.hpp"
#include "weir/plugin/tool.hpp"

/// Reports driver calls to tools. If a tool watches the driver, each entry of the driver's function table points to a
/// function in this file, which reports the call and then makes it. Otherwise the entries point to the driver itself, at no
/// cost.
namespace weir::gpu {

/// The replacement for one driver function. `Field`, a member of the table, makes the type unique for each function.
template <auto Field, class Function>
class ShownFunction;

template <auto Field, class Result, class... Arguments>
class ShownFunction<Field, Result (*)(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  /// Returns the replacement for `function`. `backend` and `name` are string literals. A null pointer, for a function that
  /// the driver lacks, stays null.
  static Pointer show(const char* backend, const char* name, Pointer function) noexcept {
    if (function == nullptr) return nullptr;
    driver_ = function;
    call_ = {backend, name};
    const auto is = [name = std::string_view(name)](const char* end) { return name.ends_with(end); };
    is_made_ = is("Synchronize") || is("EndCapture") || is("HostUnregister");
    return &shown;
  }

 private:
  static Result shown(Arguments... arguments) {
    DriverCall call = call_;
    const int answer = support::begin_driver_call(call);
    if (answer == 0 || is_made_) call.result = static_cast<int>(driver_(arguments...));
    if (answer != 0) call.result = answer;
    support::end_driver_call(call);
    return static_cast<Result>(call.result);
  }

  static inline Pointer driver_ = nullptr;
  static inline DriverCall call_;
  // True for calls that wait, and for calls that end a capture or a registration. They are made even if a tool injects a
  // failure, because their callers rely on their effect even after an error.
  static inline bool is_made_ = false;
};

}  // namespace weir::gpu
