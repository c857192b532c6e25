// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "weir/export.hpp"

/// The call stack of a program in another language, such as Python. The language's bindings report it, so that tools can
/// show it.
namespace weir {

/// A place in a program's source.
struct SourceFrame {
  std::string_view function;  ///< the function's name
  std::string_view file;      ///< the file's path
  int line = 0;               ///< from 1; 0 if unknown
};

/// While this object lives, tools show `frames` (innermost first) as the calling thread's stack, because they cannot read
/// the stack of an interpreter. The frames and their texts must live as long as the scope. If scopes are nested, the newest
/// one counts. Has an effect only if `Tools::any()`.
class WEIR_API CallerScope {
 public:
  /// Begins the scope on the calling thread. It must end on the same thread.
  [[nodiscard]] explicit CallerScope(std::span<const SourceFrame> frames) noexcept;
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  std::span<const SourceFrame> outer_;
};

namespace support {
/// The frames of the calling thread's newest `CallerScope`; empty without one. Valid until that scope ends.
WEIR_API std::span<const SourceFrame> caller_frames() noexcept;
}  // namespace support

}  // namespace weir
