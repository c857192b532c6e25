// SPDX-License-Identifier: Apache-2.0
#include "collectives/host/reduce.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace weir::collectives {

// Both conversions have no branches, so that the compiler vectorizes them.

float half_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t magnitude = (bits & 0x7FFFU) << 13U;
  // The biases of the two exponents differ by 112. The product is exact, even below 2^-14.
  const float value = std::bit_cast<float>(magnitude) * 0x1p112F;
  const std::uint32_t infinite = magnitude >= 0x0F800000U ? 0x7F800000U : 0;  // infinity or NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | infinite | (bits & 0x8000U) << 16U);
}

std::uint16_t float_to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t normal = (magnitude + 0xFFFU + ((magnitude >> 13U) & 1U) - (112U << 23U)) >> 13U;
  // Below 2^-14, a half is a multiple of 2^-24, like a float between 0.5 and 1. So adding 0.5 rounds correctly.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  std::uint32_t half = magnitude < 0x38800000U ? small : normal;
  half = magnitude >= 0x477FF000U ? 0x7C00U : half;  // numbers that round to 65536 or more
  half = magnitude > 0x7F800000U ? 0x7E00U : half;   // NaN
  return static_cast<std::uint16_t>(half | (bits >> 16U & 0x8000U));
}

float bfloat16_to_float(std::uint16_t bits) noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

std::uint16_t float_to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

namespace {

// The type of an element in memory (`Stored`) and in arithmetic (`Value`).
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

// Computes with unsigned numbers, because signed overflow is undefined in C++.
template <class T, class F>
T wrapping(T a, T b, F f) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return f(a, b);
  }
}

// Reduces a block of elements over all sources in the type `Value`, so each result is rounded only once.
template <class Type, class F>
void reduce_by(std::span<void* const> into, std::span<const void* const> sources, std::size_t count, int divisor,
               F f) noexcept {
  using Stored = typename Type::Stored;
  using Value = typename Type::Value;
  // The divisor may not fit 8 bits.
  using Wide = std::conditional_t<std::is_floating_point_v<Value>, Value,
                                  std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>>;
  constexpr std::size_t block = 1024;
  Value values[block];
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t n = std::min(block, count - begin);
    const auto* source = static_cast<const Stored*>(sources[0]) + begin;
    for (std::size_t i = 0; i < n; ++i) values[i] = Type::load(source[i]);
    for (const void* const next : sources.subspan(1)) {
      source = static_cast<const Stored*>(next) + begin;
      for (std::size_t i = 0; i < n; ++i) values[i] = f(values[i], Type::load(source[i]));
    }
    if (divisor != 1) {
      for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<Value>(static_cast<Wide>(values[i]) / static_cast<Wide>(divisor));
    }
    auto* const first = static_cast<Stored*>(into[0]) + begin;
    for (std::size_t i = 0; i < n; ++i) first[i] = Type::store(values[i]);
    for (void* const other : into.subspan(1)) std::memmove(static_cast<Stored*>(other) + begin, first, n * sizeof(Stored));
  }
}

}  // namespace

void reduce(ElementType type, Reduction reduction, std::span<void* const> into, std::span<const void* const> sources,
            std::size_t count) noexcept {
  with_type(type, [&](auto t) {
    using Type = decltype(t);
    using Value = typename Type::Value;
    const int divisor = reduction == Reduction::avg ? static_cast<int>(sources.size()) : 1;
    const auto by = [&](auto f) { reduce_by<Type>(into, sources, count, divisor, f); };
    switch (reduction) {
      case Reduction::sum:
      case Reduction::avg: return by([](Value a, Value b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
      case Reduction::prod: return by([](Value a, Value b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); });
      // If one of the two is a NaN, the result is the other.
      case Reduction::min: return by([](Value a, Value b) { return b < a || a != a ? b : a; });
      case Reduction::max: return by([](Value a, Value b) { return a < b || a != a ? b : a; });
    }
  });
}

void divide(ElementType type, void* data, std::size_t count, int divisor) noexcept {
  with_type(type, [&](auto t) {
    void* const into[] = {data};
    const void* const from[] = {data};
    reduce_by<decltype(t)>(into, from, count, divisor, [](auto a, auto) { return a; });
  });
}

void widen(ElementType type, float* to, const void* from, std::size_t count) noexcept {
  const auto* const bits = static_cast<const std::uint16_t*>(from);
  if (type == ElementType::float16)
    std::transform(bits, bits + count, to, half_to_float);
  else
    std::transform(bits, bits + count, to, bfloat16_to_float);
}

void narrow(ElementType type, void* to, const float* from, std::size_t count, int divisor) noexcept {
  auto* const bits = static_cast<std::uint16_t*>(to);
  const auto by = static_cast<float>(divisor);
  if (type == ElementType::float16)
    std::transform(from, from + count, bits, [by](float value) { return float_to_half(value / by); });
  else
    std::transform(from, from + count, bits, [by](float value) { return float_to_bfloat16(value / by); });
}

}  // namespace weir::collectives
