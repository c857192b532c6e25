// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What lanes of a warp do together, implemented with the entries (kernels/device_entries.hpp): the part that warp functions
/// and cooperative groups share. The text is compiled as C++14, 17 or 20. HIPRTC reads it after the program's macros, so all
/// names of variables are reserved.
namespace weir::kernels {

inline constexpr char lane_functions[] = R"weir(
namespace weir_host {
WEIR_ALWAYS_INLINE lane_bits own_bit() { return (lane_bits)1 << __weir_lane(); }

// Returns the value that another lane passes. A value of any type is exchanged word by word.
template <class weir_T>
WEIR_ALWAYS_INLINE weir_T shuffle(lane_bits __mask, weir_T __value, int __lane) {
  static_assert(__is_trivially_copyable(weir_T), "what lanes hand each other is copied as bytes");
  weir_T __result = __value;  // also copies the padding
  constexpr size_t __whole = sizeof(weir_T) / 8 * 8, __rest = sizeof(weir_T) - __whole;
  for (size_t __i = 0; __i < __whole; __i += 8) {
    unsigned long long __word;
    __builtin_memcpy(&__word, (const char*)&__value + __i, 8);
    __word = __weir_shuffle64(__mask, __word, __lane);
    __builtin_memcpy((char*)&__result + __i, &__word, 8);
  }
  for (size_t __i = __whole; __i < sizeof(weir_T); __i += 4) {
    unsigned int __word = 0;
    constexpr size_t __bytes = __rest % 4 == 0 ? 4 : __rest % 4;
    const size_t __count = sizeof(weir_T) - __i < 4 ? __bytes : 4;
    __builtin_memcpy(&__word, (const char*)&__value + __i, __count);
    __word = __weir_shuffle32(__mask, __word, __lane);
    __builtin_memcpy((char*)&__result + __i, &__word, __count);
  }
  return __result;
}
template <class weir_T>
WEIR_ALWAYS_INLINE bool same_bits(const weir_T& __a, const weir_T& __b) {
  bool __same = true;  // no call of memcmp, which HIPRTC does not have
  for (size_t __i = 0; __i < sizeof(weir_T); ++__i)
    __same &= ((const unsigned char*)&__a)[__i] == ((const unsigned char*)&__b)[__i];
  return __same;
}
// Returns the lanes that pass the same value as this one.
template <class weir_T>
WEIR_ALWAYS_INLINE lane_bits match_any(lane_bits __mask, weir_T __value) {
  lane_bits __mine = 0;
  for (lane_bits __left = (lane_bits)__weir_ballot(__mask, 1); __left != 0;) {
    const weir_T __other = shuffle(__mask, __value, __builtin_ctzll(__left));
    const lane_bits __same = (lane_bits)__weir_ballot(__mask, same_bits(__value, __other));
    if ((__same & own_bit()) != 0) __mine = __same;
    __left &= ~__same;
  }
  return __mine;
}
// Returns all calling lanes, or 0 if their values differ.
template <class weir_T>
WEIR_ALWAYS_INLINE lane_bits match_all(lane_bits __mask, weir_T __value) {
  const lane_bits __here = (lane_bits)__weir_ballot(__mask, 1);
  const weir_T __first = shuffle(__mask, __value, __builtin_ctzll(__here));
  return __weir_ballot(__mask, same_bits(__value, __first)) == __here ? __here : 0;
}

// `rank_of`: this lane's rank among the lanes of a mask. `lane_of`: the lane with a rank. If the lanes are adjacent, like
// those of a tile, `lane_of` adds the rank to the first lane.
WEIR_ALWAYS_INLINE unsigned int rank_of(lane_bits __mask) {
  return (unsigned int)__builtin_popcountll(__mask & (own_bit() - 1));
}
WEIR_ALWAYS_INLINE int lane_of(lane_bits __mask, unsigned int __rank) {
  const int __first = __builtin_ctzll(__mask);
  const lane_bits __low = __mask >> __first;
  if ((__low & (lane_bits)(__low + 1)) == 0) return __first + (int)__rank;
  for (; __rank > 0; --__rank) __mask &= __mask - 1;
  return __builtin_ctzll(__mask);
}
// Returns the sum over the lanes up to this one, in their order. Each step doubles the number of summed lanes. `most`: an
// upper limit on the lanes in the mask. It sets the number of steps, so that lanes of different groups take the same number.
template <class weir_T, class weir_Op>
WEIR_ALWAYS_INLINE weir_T scan(lane_bits __mask, unsigned int __most, weir_T __value, weir_Op __op) {
  const lane_bits __here = (lane_bits)__weir_ballot(__mask, 1);
  const unsigned int __rank = rank_of(__here);
  for (unsigned int __step = 1; __step < __most; __step *= 2) {
    const weir_T __other = shuffle(__mask, __value, __rank >= __step ? lane_of(__here, __rank - __step) : __weir_lane());
    if (__rank >= __step) __value = (weir_T)__op(__other, __value);
  }
  return __value;
}
template <class weir_T, class weir_Op>
WEIR_ALWAYS_INLINE weir_T reduce(lane_bits __mask, unsigned int __most, weir_T __value, weir_Op __op) {
  const lane_bits __here = (lane_bits)__weir_ballot(__mask, 1);
  const unsigned int __rank = rank_of(__here), __size = (unsigned int)__builtin_popcountll(__here);
  for (unsigned int __step = 1; __step < __most; __step *= 2) {
    const bool __other_is_here = __rank + __step < __size;
    const weir_T __other = shuffle(__mask, __value, __other_is_here ? lane_of(__here, __rank + __step) : __weir_lane());
    if (__other_is_here && __rank % (2 * __step) == 0) __value = (weir_T)__op(__value, __other);
  }
  return shuffle(__mask, __value, __builtin_ctzll(__here));
}

}  // namespace weir_host
)weir";

}  // namespace weir::kernels
