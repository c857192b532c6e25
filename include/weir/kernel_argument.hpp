// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weir/access.hpp"
#include "weir/memory.hpp"
#include "weir/ptr.hpp"
#include "weir/span.hpp"
#include "weir/update_kind.hpp"

/// The types of arguments that a launch accepts, and their conversion to the parameters of the kernel.
namespace weir {

namespace detail {

/// The value that a kernel receives for an argument: the address of the first element for buffers and spans, otherwise the
/// argument itself.
template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_array_v<T>)
constexpr T kernel_argument(const T& value) noexcept {
  return value;
}
template <class T>
T* kernel_argument(const Buffer<T>& buffer) noexcept {
  return buffer.data();
}
template <class T>
T* kernel_argument(const Span<T>& span) noexcept {
  return span.data();
}
template <class T, std::size_t N>
T* kernel_argument(const std::span<T, N>& span) noexcept {
  return span.data();
}
inline void* kernel_argument(const AllocationPtr& allocation) noexcept { return allocation ? allocation->data() : nullptr; }
template <class T, AccessKind Kind>
T* kernel_argument(const Accessed<T, Kind>& accessed) noexcept {
  return accessed.data;
}
// Deleted because the characters of a string_view are in host memory, which a kernel cannot read.
template <class C, class Traits>
void kernel_argument(std::basic_string_view<C, Traits> text) = delete;

}  // namespace detail

/// Types that can be passed to a kernel: a trivially copyable value, a `Buffer`, a `Span`, a `std::span`, an
/// `AllocationPtr`, or the result of `accesses::reads`, `writes` or `atomic`. Arrays, strings and containers cannot be
/// passed, because they are in host memory: copy them to a `Buffer`.
template <class T>
concept KernelArgument = requires(const T& value) { detail::kernel_argument(value); };

namespace detail {

/// If `A` is not a valid argument type, stops the compilation with an explanation.
template <class A>
constexpr void explain_kernel_argument() {
  static_assert(KernelArgument<A> || !ElementRange<const A>,
                "a kernel cannot read a container, a string or an array of the host: copy it to a weir::Buffer");
  static_assert(KernelArgument<A> || ElementRange<const A>,
                "a kernel's arguments are copied as bytes, and this type is not trivially copyable: in a structure, hold a "
                "weir::Span or a pointer");
}

}  // namespace detail

namespace detail {

template <class A>
using passed_t = decltype(kernel_argument(std::declval<const A&>()));

/// Whether each value of the arithmetic type `From` is also a value of `To`.
template <class From, class To>
consteval bool holds_every_value() {
  using F = std::numeric_limits<From>;
  using T = std::numeric_limits<To>;
  if (F::is_integer) return T::digits >= F::digits && (T::is_signed || !F::is_signed);
  return !T::is_integer && T::digits >= F::digits && T::max_exponent >= F::max_exponent;
}

/// Whether every `V` converts to `P` without changing its value.
template <class V, class P>
consteval bool converts_always() {
  if constexpr (std::is_same_v<V, P>) {
    return true;
  } else if constexpr (std::is_arithmetic_v<V> && std::is_arithmetic_v<P>) {
    return holds_every_value<V, P>();
  } else if constexpr (std::is_enum_v<V> && std::is_arithmetic_v<P>) {
    // Compares sizes and signedness instead of numeric limits, because the compiler may choose an unsigned type for an
    // enumeration.
    return std::is_convertible_v<V, int> && std::is_integral_v<P> && !std::is_same_v<P, bool> && sizeof(P) >= sizeof(V) &&
           (std::is_signed_v<P> || !std::is_signed_v<std::underlying_type_t<V>>);
  } else if constexpr (std::is_arithmetic_v<P>) {
    return std::is_class_v<V> && std::is_convertible_v<V, P>;
  } else {
    return std::is_convertible_v<V, P>;
  }
}

/// Whether some but not all values of `V` are also values of `P`. A constant can then be converted if its value is one of
/// them.
template <class V, class P>
consteval bool converts_sometimes() {
  if constexpr (std::is_arithmetic_v<V> && std::is_arithmetic_v<P>) {
    return !converts_always<V, P>() && (std::is_integral_v<V> || std::is_floating_point_v<P>);
  } else {
    return false;
  }
}

/// Whether `value` converts to `P` without changing: the rule for constants between braces.
template <class P, class V>
constexpr bool is_value_of(V value) {
  if constexpr (std::is_same_v<P, bool>) {
    return value == V(0) || value == V(1);
  } else if constexpr (std::is_integral_v<P>) {
    return value < 0
               ? std::is_signed_v<P> &&
                     static_cast<long long>(value) >= static_cast<long long>(std::numeric_limits<P>::min())
               : static_cast<unsigned long long>(value) <= static_cast<unsigned long long>(std::numeric_limits<P>::max());
  } else if constexpr (std::is_integral_v<V>) {
    // `P` can represent the integer exactly if the integer, without its trailing zero bits, has at most as many bits as `P`
    // has digits.
    constexpr unsigned long long exact = 1ULL << std::numeric_limits<P>::digits;
    auto magnitude = value < 0 ? 0ULL - static_cast<unsigned long long>(value) : static_cast<unsigned long long>(value);
    while (magnitude > exact && magnitude % 2 == 0) magnitude /= 2;
    return magnitude <= exact;
  } else {
    // The language allows rounding here, but not a finite number outside the range of `P`.
    constexpr V most = static_cast<V>(std::numeric_limits<P>::max());
    const bool finite = value >= -std::numeric_limits<V>::max() && value <= std::numeric_limits<V>::max();
    return !finite || (value >= -most && value <= most);
  }
}

}  // namespace detail

/// The kind of a launch's argument or of a kernel's parameter.
enum class ParameterKind : std::uint8_t {
  unknown = 0,   ///< a structure or an unknown type, which may contain addresses
  integer = 1,   ///< an integer or an enumerator
  floating = 2,  ///< a floating-point number
  value = 4,     ///< any other type that cannot contain an address
  address = 5,   ///< an address of memory, or null
};

/// The size and the kind of a launch's argument or of a kernel's parameter.
struct Parameter {
  std::uint32_t size = 0;  ///< in bytes; 0 if the driver does not report it
  ParameterKind kind = ParameterKind::unknown;
  /// For a kernel's parameter: how the kernel accesses the memory at the address.
  AccessKind access = AccessKind::read_write;
  /// For a kernel's parameter with the access `atomic`: the kind of all updates.
  UpdateKind update = UpdateKind::unknown;

  friend auto operator<=>(const Parameter&, const Parameter&) = default;
};

namespace detail {

/// Whether one of the two kinds is a floating-point number and the other is known to be something else.
constexpr bool contradict(ParameterKind a, ParameterKind b) noexcept {
  const auto x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
  return ((((x << 1U) & y) | (x & (y << 1U))) & 2U) != 0;
}

template <class V>
consteval Parameter parameter_of() {
  ParameterKind kind = ParameterKind::value;
  if (std::is_floating_point_v<V>) {
    kind = ParameterKind::floating;
  } else if (std::is_pointer_v<V> || std::is_null_pointer_v<V>) {
    kind = ParameterKind::address;
  } else if (std::is_scalar_v<V>) {
    kind = ParameterKind::integer;
  } else if (alignof(V) >= alignof(void*)) {
    kind = ParameterKind::unknown;
  }
  return {sizeof(V), kind};
}

template <class... Values>
inline constexpr Parameter parameter_array[sizeof...(Values) + 1] = {parameter_of<Values>()..., {}};
/// The sizes and kinds of a list of types, as a constant: a launch passes only its address.
template <class... Values>
inline constexpr std::span<const Parameter> parameters_of{parameter_array<Values...>, sizeof...(Values)};

}  // namespace detail

/// A parameter of type `P` of a typed kernel, made from an argument of a launch. These arguments convert:
/// - a number, if every value of its type is also a value of `P` (`int` converts to `double`, but not to `float`);
/// - a constant number whose value is also a value of `P`: `2.0` converts to `float`, `4` to `unsigned`;
/// - a `Buffer`, a `Span`, a `std::span` or a pointer, if `P` is a pointer to the same element type, const or not, or to
///   `void`;
/// - any other type that converts to `P` implicitly.
/// A launch with any other argument does not compile. If a number is known to fit, convert it: `static_cast<int>(count)`.
template <class P>
class KernelParameter {
 public:
  template <KernelArgument A>
  requires(detail::converts_always<detail::passed_t<A>, P>()) constexpr KernelParameter(const A& argument) noexcept
      : value_(detail::kernel_argument(argument)) {
    if constexpr (std::is_pointer_v<P> && std::is_pointer_v<A>) {
      using E = std::remove_pointer_t<A>;
      memory_ = {detail::element_bytes<E>, static_cast<std::uint8_t>(detail::access_kind<E>)};
    } else if constexpr (std::is_pointer_v<P>) {
      const MemoryAccess given = detail::access_of(argument);
      memory_ = {given.bytes, static_cast<std::uint8_t>(static_cast<std::uint8_t>(given.kind) | Memory::range)};
    }
  }
  /// The conversion of constants. If the compiler reports here that an argument is not a constant expression, the argument's
  /// type has values that `P` cannot represent: convert the argument with static_cast.
  template <KernelArgument A>
    requires(detail::converts_sometimes<A, P>())
  consteval KernelParameter(A constant) : value_(static_cast<P>(constant)) {
    if (!detail::is_value_of<P>(constant)) throw "the constant is no value of the parameter's type";
  }

  /// The address of the converted value, for the launch.
  void* address() noexcept { return &value_; }
  /// The memory that the parameter points to, for tools.
  MemoryAccess access() const noexcept {
    MemoryAccess access = detail::access_of(value_);
    if constexpr (std::is_pointer_v<P>) {
      access.is_open = (memory_.kind & Memory::range) == 0;
      if (!access.is_open || value_ != nullptr) access.bytes = memory_.bytes;
      const auto kind = static_cast<AccessKind>(memory_.kind & ~Memory::range);
      if (kind != AccessKind::read_write) access.kind = kind;
    }
    return access;
  }

 private:
  struct None {};
  struct Memory {
    /// A flag in `kind`: the argument was a buffer or a span, so `bytes` is the whole size. Packed into one byte because
    /// every launch stores it.
    static constexpr std::uint8_t range = 0x80;
    std::size_t bytes = 0;
    std::uint8_t kind = static_cast<std::uint8_t>(AccessKind::read_write);
  };
  P value_;
  [[no_unique_address]] std::conditional_t<std::is_pointer_v<P>, Memory, None> memory_{};
};

}  // namespace weir
