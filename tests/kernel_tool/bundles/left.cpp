// SPDX-License-Identifier: Apache-2.0
#include "weir/weir.hpp"

// A static library with a bundle `apply`. `right` has another bundle of the same name.

weir::KernelBundle left_bundle() { return weir_kernels(apply); }
