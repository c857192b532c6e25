// SPDX-License-Identifier: Apache-2.0
#include "collectives/host/reduce.hpp"

#include <bit>
#include <cmath>
#include <type_traits>

namespace weir::collectives {

float half_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero, or a multiple of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

std::uint16_t float_to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return sign | 0x7E00U;   // not a number
  if (magnitude >= 0x477FF000U) return sign | 0x7C00U;  // rounds to 65536 or is more
  if (magnitude < 0x38800000U) {                        // below 2^-14: a multiple of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F;
    return sign | static_cast<std::uint16_t>(std::nearbyint(scaled));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13U) & 1U);
  return sign | static_cast<std::uint16_t>((rounded - (112U << 23U)) >> 13U);
}

float bfloat16_to_float(std::uint16_t bits) noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

std::uint16_t float_to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

namespace {

// How the elements of a type lie in memory (`Stored`), and with what they are computed (`Value`).
template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(T v) noexcept { return v; }
  static T store(Value v) noexcept { return v; }
};
struct Half {
  using Stored = std::uint16_t;
  using Value = float;
  static float load(std::uint16_t v) noexcept { return half_to_float(v); }
  static std::uint16_t store(float v) noexcept { return float_to_half(v); }
};
struct Bfloat16 {
  using Stored = std::uint16_t;
  using Value = float;
  static float load(std::uint16_t v) noexcept { return bfloat16_to_float(v); }
  static std::uint16_t store(float v) noexcept { return float_to_bfloat16(v); }
};

template <class F>
void with_type(ElementType type, F&& f) noexcept {
  switch (type) {
    case ElementType::int8: return f(Plain<std::int8_t>{});
    case ElementType::uint8: return f(Plain<std::uint8_t>{});
    case ElementType::int32: return f(Plain<std::int32_t>{});
    case ElementType::uint32: return f(Plain<std::uint32_t>{});
    case ElementType::int64: return f(Plain<std::int64_t>{});
    case ElementType::uint64: return f(Plain<std::uint64_t>{});
    case ElementType::float16: return f(Half{});
    case ElementType::bfloat16: return f(Bfloat16{});
    case ElementType::float32: return f(Plain<float>{});
    case ElementType::float64: return f(Plain<double>{});
  }
}

// Integers wrap around, which signed ones do not in C++.
template <class T, class F>
T wrapping(T a, T b, F f) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return f(a, b);
  }
}

template <class Type, class F>
void each(void* into, const void* from, std::size_t count, F f) noexcept {
  using Stored = typename Type::Stored;
  auto* const to = static_cast<Stored*>(into);
  const auto* const source = static_cast<const Stored*>(from);
  for (std::size_t i = 0; i < count; ++i) to[i] = Type::store(f(Type::load(to[i]), Type::load(source[i])));
}

}  // namespace

void combine(ElementType type, Reduction reduction, void* into, const void* from, std::size_t count) noexcept {
  with_type(type, [&](auto t) {
    using Type = decltype(t);
    using Value = typename Type::Value;
    switch (reduction) {
      case Reduction::sum:
      case Reduction::avg:
        return each<Type>(into, from, count,
                          [](Value a, Value b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
      case Reduction::prod:
        return each<Type>(into, from, count,
                          [](Value a, Value b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); });
      case Reduction::min: return each<Type>(into, from, count, [](Value a, Value b) { return b < a ? b : a; });
      case Reduction::max: return each<Type>(into, from, count, [](Value a, Value b) { return a < b ? b : a; });
    }
  });
}

void divide(ElementType type, void* data, std::size_t count, int divisor) noexcept {
  with_type(type, [&](auto t) {
    using Type = decltype(t);
    using Value = typename Type::Value;
    // 8 bits may not hold the divisor.
    using Wide = std::conditional_t<std::is_floating_point_v<Value>, Value,
                                    std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>>;
    each<Type>(data, data, count,
               [d = static_cast<Wide>(divisor)](Value a, Value) { return static_cast<Value>(static_cast<Wide>(a) / d); });
  });
}

}  // namespace weir::collectives
