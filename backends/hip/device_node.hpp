// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir::hip {

/// Why a runtime that works shows no device: its codes do not tell a missing kernel driver from a missing device. `node`: the
/// kernel driver's, /dev/kfd.
std::string why_no_device(const char* node);

}  // namespace weir::hip
