// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The part of `<cub/cub.cuh>` (kernels/cub.hpp) that moves the items of a block's threads: BlockLoad and BlockStore. CUB's
/// algorithms differ only in speed, except the striped one.
namespace weir::kernels {

inline constexpr const char* cub_items_header = R"weir(#ifndef WEIR_CUB_ITEMS
#define WEIR_CUB_ITEMS
#define WEIR_CUB __device__ __forceinline__
namespace cub {
// `weir_striped`: item i of thread t is item i * threads + t of the block; otherwise it is item t * weir_count + i.
template <int weir_x, int weir_y, int weir_z, int weir_count, bool weir_striped>
WEIR_CUB int weir_place(int __i) {
  const int __t = (int)((threadIdx.z * weir_y + threadIdx.y) * weir_x + threadIdx.x);
  return weir_striped ? __t + __i * (weir_x * weir_y * weir_z) : __t * weir_count + __i;
}
#define WEIR_CUB_TRANSFER(name, call, how, transfer)                                                               \
  enum name##Algorithm { how##_DIRECT, how##_STRIPED, how##_VECTORIZE, how##_TRANSPOSE, how##_WARP_TRANSPOSE,      \
                         how##_WARP_TRANSPOSE_TIMESLICED };                                                        \
  template <class weir_T, int weir_x, int weir_count, name##Algorithm weir_how = how##_DIRECT, int weir_y = 1,     \
            int weir_z = 1, int = 0>                                                                               \
  struct name {                                                                                                    \
    struct TempStorage {};                                                                                         \
    WEIR_CUB name() {}                                                                                             \
    WEIR_CUB explicit name(TempStorage&) {}                                                                        \
    template <class weir_I>                                                                                        \
    WEIR_CUB void call(weir_I __memory, weir_T (&__v)[weir_count], int __valid = weir_x * weir_y * weir_z * weir_count) { \
      for (int __i = 0; __i < weir_count; ++__i) {                                                                 \
        const int __at = weir_place<weir_x, weir_y, weir_z, weir_count, weir_how == how##_STRIPED>(__i);           \
        if (__at < __valid) transfer;                                                                              \
      }                                                                                                            \
    }                                                                                                              \
    template <class weir_I, class weir_U>                                                                          \
    WEIR_CUB void call(weir_I __memory, weir_T (&__v)[weir_count], int __valid, weir_U __other) {                  \
      for (weir_T& __item : __v) __item = __other;                                                                 \
      call(__memory, __v, __valid);                                                                                \
    }                                                                                                              \
  };
WEIR_CUB_TRANSFER(BlockLoad, Load, BLOCK_LOAD, __v[__i] = __memory[__at])
WEIR_CUB_TRANSFER(BlockStore, Store, BLOCK_STORE, __memory[__at] = __v[__i])
#undef WEIR_CUB_TRANSFER
}  // namespace cub
#undef WEIR_CUB
#endif
)weir";

}  // namespace weir::kernels
