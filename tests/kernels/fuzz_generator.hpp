// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace weir::test {

struct FuzzKernel {
  std::string text;
  bool meets;  ///< threads meet in it: for blocks of up to 128 threads in x
  bool rows;   ///< it deals out rows and columns, so that grids and blocks may have two dimensions
};

/// A random kernel `extern "C" __global__ void NAME(unsigned* out, unsigned n, unsigned* x, const unsigned* y, const
/// unsigned* w)`, the same for the same seed. It is correct by construction: every place where threads meet is reached by
/// all that are named there or that have not returned, and no result depends on the order in which threads run. Warps have
/// 32 threads. Of `out`, `x` and `w` a thread uses only what it owns, also if they are one array, or are `fuzz_distance`
/// times the number of threads apart. Nobody writes to `y`, of which all elements are less than 128.
FuzzKernel random_kernel(const std::string& name, std::uint64_t seed, bool meets);

inline constexpr unsigned fuzz_distance = 48;
/// How many elements `out` and what may lie behind it, and each of the others, have.
inline constexpr unsigned fuzz_elements = 1U << 17, fuzz_fewer_elements = 1U << 16;

/// Functions that the kernels call: to stand before them, once in a source.
extern const char* const fuzz_functions;

}  // namespace weir::test
