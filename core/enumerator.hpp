// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>

#include "weir/error.hpp"

/// Values of enumerations that are none of the enumerators, as casts and uninitialized variables make them.
namespace weir::detail {

/// Throws `invalid_argument` for a value beyond `last`, which is the enumeration's last enumerator. `type`: its name.
template <class E, class Object>
void check_enumerator(const char* operation, const Object& object, const char* type, E value, E last) {
  if (value > last) [[unlikely]] {
    throw Error(Errc::invalid_argument, operation, object.describe(),
                "there is no " + std::string(type) + " of value " +
                    std::to_string(static_cast<std::underlying_type_t<E>>(value)) + "; use the enumerators");
  }
}

}  // namespace weir::detail
