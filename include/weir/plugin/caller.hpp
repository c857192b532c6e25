// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "weir/export.hpp"

/// Where a program in another language is, for tools. Bindings of that language tell.
namespace weir {

/// A place in a program's source.
struct SourceFrame {
  std::string_view function;  ///< its name
  std::string_view file;      ///< its path
  int line = 0;               ///< from 1; 0 if it is not known
};

/// While it lives, tools show `frames`, innermost first, as the calling thread's stack: nobody can read an interpreter's
/// from outside. The frames and their texts must live as long. The newest scope of a thread counts. Making one is of use
/// where `Tools::any`.
class WEIR_API CallerScope {
 public:
  [[nodiscard]] explicit CallerScope(std::span<const SourceFrame> frames) noexcept;
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  std::span<const SourceFrame> outer_;
};

namespace support {
/// The frames of the calling thread's newest `CallerScope`; none outside of one.
WEIR_API std::span<const SourceFrame> caller_frames() noexcept;
}  // namespace support

}  // namespace weir
