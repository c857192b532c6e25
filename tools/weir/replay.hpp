// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir::tool {

/// Runs the operations of a recording on the default backend, and compares what copies to the host bring with what they
/// brought then. Returns 0 if all is the same, 1 if not, 2 if the file cannot be used here, having told why.
int replay_recording(const std::string& file);

}  // namespace weir::tool
