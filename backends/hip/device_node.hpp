// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir::hip {

/// The likely reason why a working runtime shows no device. The runtime's error codes do not distinguish a missing kernel
/// driver from a missing device. `node` is the kernel driver's device file, /dev/kfd.
std::string why_no_device(const char* node);

}  // namespace weir::hip
