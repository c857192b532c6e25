// SPDX-License-Identifier: Apache-2.0
#include "weir/weir.hpp"

// A static library with a bundle, which the program links.

namespace kernels {
weir::KernelBundle scale() { return weir_kernels(scale_it); }
}  // namespace kernels
