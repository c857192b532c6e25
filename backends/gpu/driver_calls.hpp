// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weir/plugin/support.hpp"
#include "weir/plugin/tool.hpp"

/// Reports a driver's calls to tools. If a tool watches the driver, each entry of the table points to a function in this
/// file, which calls the driver. Otherwise the table points to the driver, at no cost.
namespace weir::gpu {

/// One function. `Field` is the table's member and makes each function's type unique.
template <auto Field, class Function>
class ShownFunction;

template <auto Field, class Result, class... Arguments>
class ShownFunction<Field, Result (*)(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  /// Returns the table's replacement for `function`. `backend`, `name`: literals. Null stays null, because the driver lacks
  /// the function.
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
  // Calls that wait, or that end a capture or a registration, are made even if a tool injects a failure: their callers rely
  // on the work, the capture or the registration being over afterwards, even after an error.
  static inline bool is_made_ = false;
};

}  // namespace weir::gpu
