// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace weir::test {

/// The text of a random kernel `extern "C" __global__ void NAME(unsigned* out, unsigned n)`, the same for the same seed. It
/// is correct by construction: every place where threads meet is reached by all that are named there or that have not
/// returned, and no result depends on the order in which threads run. Each thread writes out[blockIdx.x * blockDim.x +
/// threadIdx.x] before it returns. For blocks of up to 128 threads in x and warps of 32.
std::string random_kernel(const std::string& name, std::uint64_t seed);

/// Functions that the kernels call: to stand before them, once in a source.
extern const char* const fuzz_functions;

}  // namespace weir::test
