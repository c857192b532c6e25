// SPDX-License-Identifier: Apache-2.0
#include "weir/weir.hpp"

weir::KernelBundle right_bundle() { return weir_kernels(apply); }
