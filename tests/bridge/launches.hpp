// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge.hpp"

/// Graph launches that are not complete. Like AMD's library, the bridge does not keep their executables and kernels alive.
namespace bridge {

/// The module of a function, or null.
hipModule_t module_of(CUfunction function);
/// Ends the process where a graph with kernels of the module is running: from 6.1 on its launch does not hold their code.
void check_not_launched(const char* function, hipModule_t module);

}  // namespace bridge
