// SPDX-License-Identifier: Apache-2.0
#include "weir/weir.hpp"

weir::KernelBundle left_bundle() { return weir_kernels(apply); }
