// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir::hip {

/// Returns the likely reason why a working runtime finds no device. The runtime's own codes do not distinguish between a
/// missing kernel driver and a missing device. `node`: the device file of the kernel driver, /dev/kfd.
std::string why_no_device(const char* node);

}  // namespace weir::hip
