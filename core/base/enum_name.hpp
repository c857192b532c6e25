// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace weir::detail {

/// The name of an enumerator, for `to_string`. `names`: those of all enumerators, in their order.
template <class Enum>
constexpr std::string_view enum_name(Enum value, std::initializer_list<std::string_view> names) noexcept {
  const auto i = static_cast<std::size_t>(value);
  return i < names.size() ? names.begin()[i] : "unknown";
}

}  // namespace weir::detail
