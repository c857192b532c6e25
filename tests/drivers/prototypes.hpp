// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

/// Compares hand-written prototypes with those of the vendors' headers at compile time.
namespace weir::test {

/// Whether two types are passed alike: pointers, and numbers of one size. Handles and structures that not all headers have
/// stand as pointers, and enumerations as numbers.
template <class A, class B>
inline constexpr bool passed_alike =
    std::is_same_v<A, B> ||
    (std::is_pointer_v<A> && std::is_pointer_v<B> &&
     std::is_function_v<std::remove_pointer_t<A>> == std::is_function_v<std::remove_pointer_t<B>>) ||
    ((std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> || std::is_enum_v<B>)&&sizeof(A) == sizeof(B));

template <class A, class B>
inline constexpr bool called_alike = false;

template <class A, class... ArgumentsOfA, class B, class... ArgumentsOfB>
inline constexpr bool called_alike<A (*)(ArgumentsOfA...), B (*)(ArgumentsOfB...)> = [] {
  if constexpr (sizeof...(ArgumentsOfA) == sizeof...(ArgumentsOfB)) {
    return passed_alike<A, B> && (passed_alike<ArgumentsOfA, ArgumentsOfB> && ...);
  } else {
    return false;
  }
}();

static_assert(called_alike<int (*)(void*, int), int (*)(const char*, unsigned)>);
static_assert(!called_alike<int (*)(void*, int), int (*)(void*, long)>);
static_assert(!called_alike<int (*)(void*, int), int (*)(void*)>);
static_assert(!called_alike<int (*)(void*), int (*)(std::size_t)>);

}  // namespace weir::test
