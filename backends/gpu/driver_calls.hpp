// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weir/plugin/support.hpp"
#include "weir/plugin/tool.hpp"

/// Shows a driver's calls to tools. If a tool watches the driver, each entry of the table points to a function of this file,
/// which calls the driver. If none does, the table points to the driver, and nothing is slower.
namespace weir::gpu {

/// One function. `Field`: the table's member, which tells the functions apart.
template <auto Field, class Function>
class ShownFunction;

template <auto Field, class Result, class... Arguments>
class ShownFunction<Field, Result (*)(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  /// What stands in the table in place of `function`. `backend`, `name`: literals. Null stays null: the driver does not have
  /// it.
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
  // What waits, or ends a capture or a registration, is made even if a tool has it fail. When a driver's own fails the work
  // is over, so that its memory may be freed, and the capture has ended.
  static inline bool is_made_ = false;
};

}  // namespace weir::gpu
